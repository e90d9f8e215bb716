#include "client/cli/capabilities_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"

namespace helx::cli {
namespace {

class Engines : public Command {
 public:
  std::string_view Name() const override { return "engines"; }
  std::string_view Summary() const override { return "List the engines that the workers offer"; }
  void Configure(Options&) override {}

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto capabilities, GetCapabilities(invocation));
    if (invocation.json) {
      Json list = Json::array();
      for (const auto& engine : capabilities.engines()) {
        Json platforms = Json::array();
        for (const auto& platform : engine.platforms()) platforms.push_back(Utf8(platform));
        list.push_back({{"name", Utf8(engine.name())},
                        {"version", Utf8(engine.version())},
                        {"licence", Utf8(engine.licence())},
                        {"qualification", Utf8(engine.qualification())},
                        {"reason", engine.reason().empty() ? Json() : Json(Utf8(engine.reason()))},
                        {"platforms", std::move(platforms)}});
      }
      invocation.PrintJson(
          {{"engines", std::move(list)}, {"live_workers", capabilities.live_workers()}});
      return kOk;
    }
    Table table({"Engine", "Version", "Qualification", "Platforms", "Licence", "Reason"});
    for (const auto& engine : capabilities.engines()) {
      std::string platforms;
      for (const auto& platform : engine.platforms()) {
        platforms += (platforms.empty() ? "" : ", ") + Printable(platform);
      }
      table.Add({Printable(engine.name()), Printable(engine.version()),
                 Printable(engine.qualification()), platforms, Printable(engine.licence()),
                 Printable(engine.reason())});
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

std::unique_ptr<Command> MakeEngines() { return std::make_unique<Engines>(); }

}  // namespace helx::cli
