#include <filesystem>

#include "client/cli/bundle_view.h"
#include "client/cli/job_view.h"
#include "client/cli/submission.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/bundle_folder.h"
#include "client/cpp/errors.h"
#include "client/cpp/result_client.h"

namespace helx::cli {
namespace {

class RunVerb : public Command {
 public:
  std::string_view Name() const override { return "run"; }
  std::string_view Summary() const override {
    return "Run an experiment and leave its bundles in results/<name>";
  }

  void Configure(Options& options) override {
    options.Text("-c,--config,file", file_, "The experiment (experiment.yaml)",
                 Options::Need::kRequired);
    options.Text("-o,--output", output_, "The folder that takes the bundles (default: results)");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto experiment, client::PrepareExperiment(file_));
    std::vector<std::string> folders;
    for (const auto& job : experiment.jobs) {
      folders.push_back((std::filesystem::path(output_) / job.entry.bundle_path).string());
      HELX_RETURN_IF_ERROR(client::CheckBundlePlace(folders.back()));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(auto jobs, submission_.Submit(invocation, connection, experiment));
    HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    HELX_RETURN_IF_ERROR(FetchAll(invocation, connection, jobs, folders));
    ReportEndings(invocation, jobs);
    ReportMismatchFolders(invocation, jobs, folders);
    PrintJobs(invocation, jobs, folders);
    if (!invocation.json) PrintFigures(invocation, folders);
    return ExitCodeOf(jobs);
  }

 private:
  // Fetches the bundle of each job that has one; empties the folder's name of each that has none.
  absl::Status FetchAll(Invocation& invocation,
                        const std::shared_ptr<client::Connection>& connection,
                        const std::vector<helx::v1::Job>& jobs,
                        std::vector<std::string>& folders) const {
    client::ResultClient results(connection);
    const auto progress = [&invocation](int64_t done, int64_t total) {
      invocation.progress.Transfer("fetching", done, total);
    };
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!jobs[i].has_bundle()) {
        folders[i].clear();
        continue;
      }
      HELX_ASSIGN_OR_RETURN(const Digest digest, client::FromProto(jobs[i].bundle()));
      auto result = results.Get(digest, invocation.stop);
      const absl::Status fetched =
          result.ok() ? results.Fetch(*result, folders[i], progress, invocation.stop)
                      : result.status();
      if (!fetched.ok()) {
        return client::WithContext(
            fetched, jobs[i].name() + " has ended, but its bundle could not be put in " +
                         folders[i] + " ('" +
                         invocation.CommandLine("results fetch " + jobs[i].name() + " -o " +
                                                folders[i]) +
                         "' tries again)");
      }
    }
    return absl::OkStatus();
  }

  static void ReportMismatchFolders(Invocation& invocation, const std::vector<helx::v1::Job>& jobs,
                                    const std::vector<std::string>& folders) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].assessment() != helx::v1::MISMATCH) continue;
      invocation.err << invocation.program << ": the mismatching bundle is kept in " << folders[i]
                     << std::endl;
    }
  }

  static void PrintFigures(Invocation& invocation, const std::vector<std::string>& folders) {
    std::vector<std::pair<std::string, LoadedBundle>> bundles;
    for (const std::string& folder : folders) {
      if (folder.empty()) continue;
      auto bundle = LoadBundle(folder);
      if (bundle.ok()) bundles.emplace_back(folder, *std::move(bundle));
    }
    if (bundles.empty()) return;
    invocation.out << '\n';
    PrintSummaries(bundles, invocation.out);
  }

  std::string file_;
  std::string output_ = "results";
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeRun() { return std::make_unique<RunVerb>(); }

}  // namespace helx::cli
