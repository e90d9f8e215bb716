#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Cancel : public Command {
 public:
  std::string_view Name() const override { return "cancel"; }
  std::string_view Summary() const override {
    return "Ask for the end of jobs; one that has ended stays as it is";
  }

  void Configure(Options& options) override {
    options.Texts("jobs", names_, "The jobs, as submit and list print them",
                  Options::Need::kRequired);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    for (std::string& name : names_) {
      HELX_ASSIGN_OR_RETURN(name, client::JobName(name));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    client::JobClient client(connection);
    std::vector<helx::v1::Job> jobs;
    for (const std::string& name : names_) {
      auto job = client.Cancel(name, invocation.stop);
      if (!job.ok()) return client::WithContext(job.status(), name);
      jobs.push_back(*std::move(job));
    }
    PrintJobs(invocation, jobs);
    return kOk;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Command> MakeCancel() { return std::make_unique<Cancel>(); }

}  // namespace helx::cli
