// Options shared by the verbs that submit an experiment.
#ifndef HELX_CLIENT_CLI_SUBMISSION_H_
#define HELX_CLIENT_CLI_SUBMISSION_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/cpp/experiment_flow.h"

namespace helx::cli {

class SubmissionOptions {
 public:
  void Configure(Options& options);

  // Uploads and submits. When interrupted between two jobs, the message names those already
  // accepted.
  absl::StatusOr<std::vector<helx::v1::Job>> Submit(
      Invocation& invocation, const std::shared_ptr<client::Connection>& connection,
      const client::PreparedExperiment& experiment,
      helx::v1::JobKind kind = helx::v1::JOB_KIND_RUN) const;

  // The options given, for `jobs` jobs of a kind. INVALID_ARGUMENT when the request id cannot be
  // one.
  absl::StatusOr<client::SubmitOptions> ToOptions(helx::v1::JobKind kind, size_t jobs = 1) const;

 private:
  bool no_cache_ = false;
  int64_t priority_ = 0;
  int64_t queue_limit_seconds_ = 0;
  int64_t run_limit_seconds_ = 0;
  std::string request_id_;
  std::string selector_;
};

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_SUBMISSION_H_
