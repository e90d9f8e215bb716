#include <filesystem>

#include "client/cli/bundle_fetch.h"
#include "client/cli/submission.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/bundle_flow.h"
#include "client/cpp/bundle_folder.h"

namespace helx::cli {
namespace {

namespace fs = std::filesystem;

class Build : public Command {
 public:
  std::string_view Name() const override { return "build"; }
  std::string_view Summary() const override {
    return "Build the image of an experiment or a frozen request into builds/<name>";
  }

  void Configure(Options& options) override {
    options.Path("-c,--config,file", file_, "The experiment (experiment.yaml)");
    options.Path("--frozen", frozen_,
                 "A request.json that freeze wrote, instead of an experiment; the bundle is named "
                 "after its folder");
    options.Path("-o,--output", output_, "The folder that takes the bundles (default: builds)");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    if (file_.empty() == frozen_.empty()) {
      return InvalidArgument(
          "give an experiment (-c experiment.yaml) or a frozen request "
          "(--frozen frozen/NAME/request.json), one of them");
    }
    return frozen_.empty() ? FromExperiment(invocation) : FromRequest(invocation);
  }

 private:
  absl::StatusOr<ExitCode> FromExperiment(Invocation& invocation) {
    HELX_ASSIGN_OR_RETURN(const auto experiment, client::PrepareExperiment(file_));
    std::vector<std::string> folders;
    for (const auto& job : experiment.jobs) {
      folders.push_back((fs::path(output_) / job.entry.bundle_path).string());
      HELX_RETURN_IF_ERROR(client::CheckBundlePlace(folders.back()));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(auto jobs, submission_.Submit(invocation, connection, experiment,
                                                        helx::v1::JOB_KIND_BUILD));
    HELX_ASSIGN_OR_RETURN(jobs, WaitForJobs(invocation, connection, std::move(jobs), waiting_));
    return FetchAndReport(invocation, connection, jobs, std::move(folders));
  }

  absl::StatusOr<ExitCode> FromRequest(Invocation& invocation) {
    HELX_ASSIGN_OR_RETURN(const auto prepared, client::PrepareRequest(frozen_));
    const std::string name = fs::absolute(frozen_).parent_path().filename().string();
    const std::string folder = (fs::path(output_) / name).string();
    HELX_RETURN_IF_ERROR(client::CheckBundlePlace(folder));
    helx::v1::SubmitJobRequest request;
    HELX_ASSIGN_OR_RETURN(const auto options, submission_.ToOptions(helx::v1::JOB_KIND_BUILD));
    client::ApplyOptions(options, request);
    request.set_name(name);
    *request.mutable_frozen_request() = client::ToProto(prepared.request);
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    HELX_ASSIGN_OR_RETURN(helx::v1::Job job, client::SubmitJob(connection, request, prepared.blobs,
                                                               {}, invocation.stop));
    HELX_ASSIGN_OR_RETURN(auto jobs,
                          WaitForJobs(invocation, connection, {std::move(job)}, waiting_));
    return FetchAndReport(invocation, connection, jobs, {folder});
  }

  std::string file_;
  std::string frozen_;
  std::string output_ = "builds";
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeBuild() { return std::make_unique<Build>(); }

}  // namespace helx::cli
