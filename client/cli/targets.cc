#include "client/cli/capabilities_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"

namespace helx::cli {
namespace {

class Targets : public Command {
 public:
  std::string_view Name() const override { return "targets"; }
  std::string_view Summary() const override {
    return "List the platforms, and who executes on them with what";
  }
  void Configure(Options&) override {}

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto capabilities, GetCapabilities(invocation));
    if (invocation.json) {
      Json list = Json::array();
      for (const auto& target : capabilities.targets()) {
        list.push_back({{"platform", Utf8(target.platform())},
                        {"core", Utf8(target.core())},
                        {"executor", Utf8(target.executor())},
                        {"version", Utf8(target.version())},
                        {"toolchain", Utf8(target.toolchain())},
                        {"basis", Utf8(target.basis())},
                        {"live_workers", target.live_workers()},
                        {"reason", target.reason().empty() ? Json() : Json(Utf8(target.reason()))}});
      }
      invocation.PrintJson(
          {{"targets", std::move(list)}, {"live_workers", capabilities.live_workers()}});
      return kOk;
    }
    Table table({"Platform", "Core", "Executor", "Toolchain", "Counts", "Workers", "Reason"},
                {false, false, false, false, false, true});
    for (const auto& target : capabilities.targets()) {
      table.Add({Printable(target.platform()), Printable(target.core()),
                 Printable(target.executor() + " " + target.version()),
                 Printable(target.toolchain()), Printable(target.basis()),
                 std::to_string(target.live_workers()), Printable(target.reason())});
    }
    table.Print(invocation.out);
    if (capabilities.live_workers() == 0) {
      invocation.err << invocation.program << ": no worker is connected to this server, so it can "
                     << "run nothing; start helx-worker, or see 'doctor'" << std::endl;
    }
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeTargets() { return std::make_unique<Targets>(); }

}  // namespace helx::cli
