#include "client/cli/bundle_locator.h"
#include "client/cli/bundle_view.h"
#include "client/cli/job_view.h"
#include "client/cli/verbs.h"

namespace helx::cli {
namespace {

class Show : public Command {
 public:
  std::string_view Name() const override { return "show"; }
  std::string_view Summary() const override {
    return "Show a result: identities, memory, instructions, tensors, verdicts";
  }

  void Configure(Options& options) override {
    options.Path("target", target_, kBundleHelp, Options::Need::kRequired);
    options.Integer("--top", view_.top, 1, 1'000'000,
                    "Also list the K largest elements of captured outputs");
    options.Integer("--values", view_.values, 0, 1'000'000,
                    "Elements shown of each tensor (default 8)");
    options.Flag("--memory", view_.memory,
                 "Also show where each tensor lies and what each operator has in use");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const BundlePlace place, LocateBundle(invocation, target_));
    if (place.folder.empty() && !place.stored) {  // a job without a result
      if (invocation.json) {
        invocation.PrintJson(JobToJson(*place.job));
      } else {
        PrintJob(*place.job, invocation.out);
      }
      return kOk;
    }
    HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, LoadPlace(place, invocation.stop));
    if (invocation.json) {
      HELX_ASSIGN_OR_RETURN(const Json json, BundleToJson(bundle, place.where, view_));
      invocation.PrintJson(json);
      return kOk;
    }
    HELX_RETURN_IF_ERROR(PrintBundle(bundle, place.where, view_, invocation.out));
    return kOk;
  }

 private:
  std::string target_;
  BundleViewOptions view_;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<Show>(); }

}  // namespace helx::cli
