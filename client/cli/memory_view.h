// The memory plan of a bundle as helxctl prints it: docs/formats.md has its members.
#ifndef HELX_CLIENT_CLI_MEMORY_VIEW_H_
#define HELX_CLIENT_CLI_MEMORY_VIEW_H_

#include <ostream>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/bundle/reader.h"

namespace helx::cli {

// build/memory.json; loading the bundle has held it against the image.
absl::StatusOr<Json> MemoryPlanOf(const LoadedBundle& bundle);

// Each tensor's place and lifetime, then the bytes in use while each operator runs, the peak
// marked.
absl::Status PrintMemoryPlan(const LoadedBundle& bundle, std::ostream& out);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_MEMORY_VIEW_H_
