#include "client/cli/job_view.h"
#include "client/cli/verbs.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Status : public Command {
 public:
  std::string_view Name() const override { return "status"; }
  std::string_view Summary() const override { return "Show where a job is, with its attempts"; }

  void Configure(Options& options) override {
    options.Text("job", job_, "The job, as submit and list print it", Options::Need::kRequired);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const std::string name, client::JobName(job_));
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    const auto job = client::JobClient(connection).Get(name, invocation.stop);
    if (!job.ok()) return client::WithContext(job.status(), name);
    if (invocation.json) {
      invocation.PrintJson(JobToJson(*job));
    } else {
      PrintJob(*job, invocation.out);
    }
    return kOk;
  }

 private:
  std::string job_;
};

}  // namespace

std::unique_ptr<Command> MakeStatus() { return std::make_unique<Status>(); }

}  // namespace helx::cli
