// The verbs that run a bundle's image as it is: run-build and replay.
#include <filesystem>

#include "client/cli/bundle_fetch.h"
#include "client/cli/bundle_locator.h"
#include "client/cli/submission.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/bundle_flow.h"
#include "client/cpp/bundle_folder.h"

namespace helx::cli {
namespace {

namespace fs = std::filesystem;

class RunBundle : public Command {
 public:
  explicit RunBundle(helx::v1::JobKind kind)
      : kind_(kind), output_(IsReplay() ? "replays" : "results") {}

  std::string_view Name() const override { return IsReplay() ? "replay" : "run-build"; }
  std::string_view Summary() const override {
    return IsReplay() ? "Run a result's image once more, with its own inputs; nothing is compiled"
                      : "Run a build's image with its own inputs; nothing is compiled";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Path("-o,--output", output_,
                 IsReplay() ? "The folder that takes the bundle (default: replays)"
                            : "The folder that takes the bundle (default: results)");
    options.Text("--name", name_,
                 "The name of the bundle and of its experiment (default: as the target is called)");
    submission_.Configure(options);
    waiting_.Configure(options);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto options, submission_.ToOptions(kind_));
    HELX_ASSIGN_OR_RETURN(BundlePlace place, LocateBundle(invocation, target_));
    HELX_ASSIGN_OR_RETURN(const client::PreparedBundle bundle, Prepare(invocation, place));
    HELX_RETURN_IF_ERROR(client::CheckBundleKind(bundle.bundle, kind_));
    const std::string name = BundleName(place);
    const std::string folder = (fs::path(output_) / name).string();
    HELX_RETURN_IF_ERROR(client::CheckBundlePlace(folder));
    if (place.connection == nullptr) {
      HELX_ASSIGN_OR_RETURN(place.connection, invocation.Connect());
    }
    const auto progress = [&invocation](int64_t done, int64_t total) {
      invocation.progress.Transfer("uploading", done, total);
    };
    HELX_ASSIGN_OR_RETURN(
        helx::v1::Job job,
        client::SubmitBundle(place.connection, bundle, name, options, progress, invocation.stop));
    HELX_ASSIGN_OR_RETURN(auto jobs,
                          WaitForJobs(invocation, place.connection, {std::move(job)}, waiting_));
    return FetchAndReport(invocation, place.connection, jobs, {folder});
  }

 private:
  bool IsReplay() const { return kind_ == helx::v1::JOB_KIND_REPLAY; }

  // A stored bundle stays where it is; a folder's files go to the server.
  static absl::StatusOr<client::PreparedBundle> Prepare(const Invocation& invocation,
                                                        const BundlePlace& place) {
    if (!place.folder.empty()) return client::PrepareBundle(place.folder);
    if (!place.stored) return NotFound(place.where + " has no bundle; 'status' says why");
    client::PreparedBundle prepared;
    HELX_ASSIGN_OR_RETURN(prepared.bundle, LoadPlace(place, invocation.stop));
    HELX_ASSIGN_OR_RETURN(prepared.manifest, client::FromProto(place.stored->bundle()));
    return prepared;
  }

  std::string BundleName(const BundlePlace& place) const {
    if (!name_.empty()) return name_;
    if (place.job) return place.job->experiment();
    // The last component of a folder, with or without a slash at its end; the whole name of an
    // experiment.
    if (!place.folder.empty()) {
      return fs::absolute(place.folder).lexically_normal().append("x").parent_path().filename();
    }
    return target_.substr(0, target_.find('/'));
  }

  const helx::v1::JobKind kind_;
  std::string target_;
  std::string output_;
  std::string name_;
  SubmissionOptions submission_;
  WaitOptions waiting_;
};

}  // namespace

std::unique_ptr<Command> MakeRunBuild() {
  return std::make_unique<RunBundle>(helx::v1::JOB_KIND_RUN_BUILD);
}
std::unique_ptr<Command> MakeReplay() {
  return std::make_unique<RunBundle>(helx::v1::JOB_KIND_REPLAY);
}

}  // namespace helx::cli
