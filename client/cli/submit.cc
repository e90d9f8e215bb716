#include "client/cli/job_view.h"
#include "client/cli/submission.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"

namespace helx::cli {
namespace {

class Submit : public Command {
 public:
  std::string_view Name() const override { return "submit"; }
  std::string_view Summary() const override {
    return "Submit an experiment and print its jobs; --wait waits for them";
  }

  void Configure(Options& options) override {
    options.Path("file,-c,--config", file_,
                 "The experiment (experiment.yaml): the first argument, or after -c",
                 Options::Need::kRequired);
    options.Flag("--wait", wait_, "Wait until the jobs have ended");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto experiment, client::PrepareExperiment(file_));
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(auto jobs, submission_.Submit(invocation, connection, experiment));
    if (wait_) {
      HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    }
    // Without --wait too, a job may have ended before the server answered: refused, or answered
    // from the store.
    return Conclude(invocation, jobs);
  }

 private:
  std::string file_;
  bool wait_ = false;
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeSubmit() { return std::make_unique<Submit>(); }

}  // namespace helx::cli
