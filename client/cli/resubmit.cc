#include "client/cli/submission.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Resubmit : public Command {
 public:
  std::string_view Name() const override { return "resubmit"; }
  std::string_view Summary() const override {
    return "Submit a job's subject once more, without uploading anything";
  }

  void Configure(Options& options) override {
    options.Text("job", job_, "The earlier job, as submit and list print it",
                 Options::Need::kRequired);
    options.Flag("--wait", wait_, "Wait until the new job has ended");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const std::string name, client::JobName(job_));
    HELX_ASSIGN_OR_RETURN(const client::SubmitOptions given,
                          submission_.ToOptions(helx::v1::JOB_KIND_UNSPECIFIED));
    helx::v1::ResubmitJobRequest request;
    request.set_name(name);
    request.set_request_id(given.request_id);
    request.set_no_cache(given.no_cache);
    request.set_priority(given.priority);
    request.set_selector(given.selector);
    request.set_queue_limit_ms(given.queue_limit_ms);
    request.set_run_limit_ms(given.run_limit_ms);
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    auto job = client::JobClient(connection).Resubmit(request, invocation.stop);
    if (!job.ok()) return client::WithContext(job.status(), name);
    std::vector<helx::v1::Job> jobs = {*std::move(job)};
    if (wait_) {
      HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    }
    return Conclude(invocation, jobs);
  }

 private:
  std::string job_;
  bool wait_ = false;
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeResubmit() { return std::make_unique<Resubmit>(); }

}  // namespace helx::cli
