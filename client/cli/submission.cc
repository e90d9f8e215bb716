#include "client/cli/submission.h"

#include "client/cpp/errors.h"

namespace helx::cli {
namespace {

constexpr int64_t kMostSeconds = 30 * 24 * 3600;
constexpr size_t kRequestIdBytes = 64;

absl::Status CheckRequestId(const std::string& id, size_t jobs) {
  const size_t suffix = jobs > 1 ? 1 + std::to_string(jobs).size() : 0;
  const bool valid = id.size() + suffix <= kRequestIdBytes &&
                     id.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789._-") == std::string::npos;
  if (valid) return absl::OkStatus();
  return InvalidArgument("--request-id '" + id + "': allowed are 1 to " +
                         std::to_string(kRequestIdBytes - suffix) +
                         " characters A-Z, a-z, 0-9, '.', '_' and '-'");
}

}  // namespace

void SubmissionOptions::Configure(Options& options) {
  options.Flag("--no-cache", no_cache_, "Build and run again, and overwrite the stored result");
  options.Integer("--priority", priority_, -1000, 1000, "Higher runs earlier (default 0)");
  options.Integer("--queue-limit-seconds", queue_limit_seconds_, 1, kMostSeconds,
                  "Give up a job that has waited this long (default: the server's)");
  options.Integer("--run-limit-seconds", run_limit_seconds_, 1, kMostSeconds,
                  "End a run that takes longer; waiting does not count (default: the server's)");
  options.Text("--selector", selector_,
               "Only devices whose labels match: KEY=VALUE, KEY!=VALUE, KEY, !KEY, with commas");
  options.Text("--request-id", request_id_,
               "Idempotency key: the same key and experiment name the same jobs for 7 days");
}

absl::StatusOr<client::SubmitOptions> SubmissionOptions::ToOptions(helx::v1::JobKind kind,
                                                                   size_t jobs) const {
  HELX_RETURN_IF_ERROR(CheckRequestId(request_id_, jobs));
  client::SubmitOptions options;
  options.kind = kind;
  options.request_id = request_id_;
  options.selector = selector_;
  options.no_cache = no_cache_;
  options.priority = static_cast<int32_t>(priority_);
  options.queue_limit_ms = queue_limit_seconds_ * 1000;
  options.run_limit_ms = run_limit_seconds_ * 1000;
  return options;
}

absl::StatusOr<std::vector<helx::v1::Job>> SubmissionOptions::Submit(
    Invocation& invocation, const std::shared_ptr<client::Connection>& connection,
    const client::PreparedExperiment& experiment, helx::v1::JobKind kind) const {
  HELX_ASSIGN_OR_RETURN(const client::SubmitOptions options,
                        ToOptions(kind, experiment.jobs.size()));
  const auto progress = [&invocation](int64_t done, int64_t total) {
    invocation.progress.Transfer("uploading", done, total);
  };
  std::vector<helx::v1::Job> accepted;
  auto jobs = client::SubmitExperiment(connection, experiment, options, progress, invocation.stop,
                                       &accepted);
  if (jobs.ok()) return jobs;
  std::string names;
  for (const auto& job : accepted) names += " " + job.name();
  const std::string context =
      names.empty() ? "nothing was submitted" : "after these jobs were submitted:" + names;
  return client::WithContext(jobs.status(), context);
}

}  // namespace helx::cli
