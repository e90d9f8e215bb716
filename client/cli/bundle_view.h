// Result bundles as helxctl prints them: docs/cli.md lists the JSON fields.
#ifndef HELX_CLIENT_CLI_BUNDLE_VIEW_H_
#define HELX_CLIENT_CLI_BUNDLE_VIEW_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/bundle/reader.h"

namespace helx::cli {

struct BundleViewOptions {
  int64_t values = 8;   // elements shown of each tensor
  int64_t top = 0;      // largest elements shown of each captured output
  bool memory = false;  // the memory plan, by tensor and by operator
};

// Identities, figures, samples, tensors, verdicts and issues. `where` names the bundle. Errors: a
// retained tensor that cannot be read.
absl::Status PrintBundle(const LoadedBundle& bundle, const std::string& where,
                         const BundleViewOptions& options, std::ostream& out);

// The same as one JSON object; `top` and `memory_plan` only when asked for.
absl::StatusOr<Json> BundleToJson(const LoadedBundle& bundle, const std::string& where,
                                  const BundleViewOptions& options);

// One line per bundle: instructions of the first sample, memory, verdict.
void PrintSummaries(const std::vector<std::pair<std::string, LoadedBundle>>& bundles,
                    std::ostream& out);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_BUNDLE_VIEW_H_
