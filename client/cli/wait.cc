#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Wait : public Command {
 public:
  std::string_view Name() const override { return "wait"; }
  std::string_view Summary() const override { return "Wait until jobs have ended"; }

  void Configure(Options& options) override {
    options.Texts("jobs", names_, "The jobs, as submit and list print them",
                  Options::Need::kRequired);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    for (std::string& name : names_) {
      HELX_ASSIGN_OR_RETURN(name, client::JobName(name));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    client::JobClient client(connection);
    std::vector<helx::v1::Job> jobs;
    for (const std::string& name : names_) {
      auto job = client.Get(name, invocation.stop);
      if (!job.ok()) return client::WithContext(job.status(), name);
      jobs.push_back(*std::move(job));
    }
    HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    return Conclude(invocation, jobs);
  }

 private:
  std::vector<std::string> names_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeWait() { return std::make_unique<Wait>(); }

}  // namespace helx::cli
