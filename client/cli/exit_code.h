// The exit codes of helxctl (docs/cli.md).
#ifndef HELX_CLIENT_CLI_EXIT_CODE_H_
#define HELX_CLIENT_CLI_EXIT_CODE_H_

#include <vector>

#include "core/base/status.h"
#include "helx/v1/jobs.pb.h"

namespace helx::cli {

enum ExitCode : int {
  kOk = 0,
  kMismatch = 1,      // a numerical mismatch, or FAILED(USER) after the freeze
  kUsage = 2,         // usage; a document or model refused
  kUnreachable = 3,   // no server
  kTimedOut = 4,      // TIMED_OUT or ABANDONED
  kCancelled = 5,
  kMissingData = 6,   // missing or corrupt data
  kFailed = 7,        // FAILED(INFRA, DEVICE, BUG)
  kInterrupted = 130,
};

// What a waiting verb exits with for this job; kOk while it is not finished.
ExitCode ExitCodeOf(const helx::v1::Job& job);

// The gravest of several: 7, then 6, 4, 5, 2, 1, 0.
ExitCode ExitCodeOf(const std::vector<helx::v1::Job>& jobs);

// What a failed command exits with. REQUIRES: !status.ok().
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_EXIT_CODE_H_
