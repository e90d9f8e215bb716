#include <filesystem>

#include "client/cli/bundle_fetch.h"
#include "client/cli/submission.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/bundle_folder.h"

namespace helx::cli {
namespace {

class RunVerb : public Command {
 public:
  std::string_view Name() const override { return "run"; }
  std::string_view Summary() const override {
    return "Run an experiment and leave its bundles in results/<name>";
  }

  void Configure(Options& options) override {
    options.Path("-c,--config,file", file_, "The experiment (experiment.yaml)",
                 Options::Need::kRequired);
    options.Path("-o,--output", output_, "The folder that takes the bundles (default: results)");
    options.Path("--reference-dir", references_,
                 "Compare with files: DIR/output-<index>.bin, with several samples "
                 "DIR/<sample>/output-<index>.bin, with several jobs below DIR/<run>");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto experiment, client::PrepareExperiment(file_, {}, references_));
    std::vector<std::string> folders;
    for (const auto& job : experiment.jobs) {
      folders.push_back((std::filesystem::path(output_) / job.entry.bundle_path).string());
      HELX_RETURN_IF_ERROR(client::CheckBundlePlace(folders.back()));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(auto jobs, submission_.Submit(invocation, connection, experiment));
    HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    return FetchAndReport(invocation, connection, jobs, std::move(folders));
  }

 private:
  std::string file_;
  std::string output_ = "results";
  std::string references_;
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeRun() { return std::make_unique<RunVerb>(); }

}  // namespace helx::cli
