// Options of the verbs that compare tensors.
#ifndef HELX_CLIENT_CLI_TOLERANCE_OPTIONS_H_
#define HELX_CLIENT_CLI_TOLERANCE_OPTIONS_H_

#include <string>
#include <vector>

#include "client/cli/options.h"
#include "core/base/status.h"
#include "core/experiment/document.h"

namespace helx::cli {

class ToleranceOptions {
 public:
  void Configure(Options& options);
  // INVALID_ARGUMENT for what is not a finite number >= 0, or an output named twice.
  absl::StatusOr<ComparisonEntry> Policy() const;

 private:
  std::string absolute_ = "0";
  std::string relative_ = "0";
  std::vector<std::string> per_tensor_;
  bool nan_match_both_ = false;
};

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_TOLERANCE_OPTIONS_H_
