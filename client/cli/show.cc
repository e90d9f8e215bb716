#include <CLI/CLI.hpp>

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

  void Configure(CLI::App& app) override {
    app.add_option("target", target_, kBundleHelp)->required();
    app.add_option("--top", options_.top, "Also list the K largest elements of captured outputs")
        ->check(CLI::Range(1, 1'000'000));
    app.add_option("--values", options_.values, "Elements shown of each tensor (default 8)")
        ->check(CLI::Range(0, 1'000'000));
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
      HELX_ASSIGN_OR_RETURN(const Json json, BundleToJson(bundle, place.where, options_));
      invocation.PrintJson(json);
      return kOk;
    }
    HELX_RETURN_IF_ERROR(PrintBundle(bundle, place.where, options_, invocation.out));
    return kOk;
  }

 private:
  std::string target_;
  BundleViewOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeShow() { return std::make_unique<Show>(); }

}  // namespace helx::cli
