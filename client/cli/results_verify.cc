#include "client/cli/bundle_locator.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"

namespace helx::cli {
namespace {

class ResultsVerify : public Command {
 public:
  std::string_view Name() const override { return "results verify"; }
  std::string_view Summary() const override {
    return "Check every digest and verdict of a bundle again; a folder needs no server";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateBundle(invocation, target_));
    if (place.folder.empty() && !place.stored) {
      return NotFound(place.where + " has no bundle; 'status' says why");
    }
    HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, LoadPlace(place, invocation.stop));
    const std::string assessment = bundle.result.Assessment();
    if (invocation.json) {
      invocation.PrintJson({{"where", Utf8(place.where)},
                            {"verified", true},
                            {"assessment", assessment},
                            {"content_digest", bundle.content_digest},
                            {"artifacts", bundle.manifest.artifacts.size()}});
    } else {
      invocation.out << Printable(place.where) << ": verified, "
                     << Counted(static_cast<int64_t>(bundle.manifest.artifacts.size()), "artifact")
                     << ", " << assessment << ", content sha256:" << bundle.content_digest << '\n';
    }
    if (assessment != "mismatch") return kOk;
    invocation.err << invocation.program << ": the bundle is intact, and its outputs differ from "
                   << "their reference; look with '"
                   << invocation.CommandLine("show " + Printable(target_)) << "'" << std::endl;
    return kMismatch;
  }

 private:
  std::string target_;
};

}  // namespace

std::unique_ptr<Command> MakeResultsVerify() { return std::make_unique<ResultsVerify>(); }

}  // namespace helx::cli
