#include "core/base/file.h"
#include "core/experiment/document.h"
#include "worker/agent/action_steps.h"
#include "worker/engine/engine.h"
#include "worker/target/board.h"
#include "worker/target/linker_script.h"

namespace helx::agent {
namespace {

Json Refusal(const std::vector<engine::Violation>& violations, std::string_view message) {
  Json list = Json::array();
  for (const engine::Violation& violation : violations) {
    list.push_back(Json{
        {"code", violation.code}, {"subject", violation.subject}, {"message", violation.message}});
  }
  Json outcome = FailureOutcome(
      "USER", violations.empty() ? "model_refused" : violations.front().code, message);
  outcome["violations"] = std::move(list);
  return outcome;
}

// The same for one finding of the document or request; its message begins with the key path it is
// about.
Json Refusal(const absl::Status& status, std::string_view default_code) {
  const std::string code = ErrorCodeOf(status), message = MessageOf(status);
  const std::string subject = message.substr(0, std::min(message.find(": "), message.size()));
  return Refusal({{code.empty() ? std::string(default_code) : code, subject, message}}, message);
}

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The tools the document asks for, or a refusal.
struct Tools {
  const EngineEntry* engine = nullptr;
  const TargetEntry* target = nullptr;
  const target::Board* board = nullptr;
  const engine::Engine* implementation = nullptr;
};

absl::Status FindTools(const Catalogue& catalogue, const JobEntry& job, Tools* tools) {
  tools->engine = catalogue.FindEngine(job.engine);
  tools->implementation = engine::FindEngine(job.engine);
  if (tools->engine == nullptr || tools->implementation == nullptr) {
    std::vector<std::string> known;
    for (const EngineEntry& entry : catalogue.engines) known.push_back(entry.identity.name);
    return WithErrorCode(InvalidArgument("defaults.engine is \"" + job.engine +
                                         "\"; this worker has: " + Names(known)),
                         "unknown_engine");
  }
  tools->target = catalogue.FindTarget(job.platform);
  tools->board = target::FindBoard(job.platform);
  if (tools->target == nullptr || tools->board == nullptr) {
    std::vector<std::string> known;
    for (const TargetEntry& entry : catalogue.targets) known.push_back(entry.platform);
    return WithErrorCode(InvalidArgument("defaults.platform is \"" + job.platform +
                                         "\"; this worker has: " + Names(known)),
                         "unknown_platform");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> FreezeStep(const ActionInput& input, const ActionContext& context) {
  HELX_ASSIGN_OR_RETURN(const std::string text,
                        ReadFile(input.folder + "/document.json", 2u << 20));
  const auto document = ParseJobDocument(text);
  if (!document.ok()) return Refusal(document.status(), "malformed_document");
  Tools tools;
  const absl::Status found = FindTools(input.catalogue, document->job, &tools);
  if (!found.ok()) return FailureOutcome("USER", ErrorCodeOf(found), MessageOf(found));
  if (!tools.target->reason.empty()) {
    return FailureOutcome("INFRA", "platform_unavailable",
                          "platform " + tools.target->platform + ": " + tools.target->reason);
  }

  const PlacementEntry& placement = document->job.placement;
  const target::PlacementWish wish{placement.code, placement.weights, placement.arena};
  const absl::Status placed = target::CheckWish(*tools.board, wish);
  if (!placed.ok()) return Refusal(placed, "unknown_region");

  HELX_ASSIGN_OR_RETURN(const std::string model, input.Blob(document->model));
  std::vector<engine::Violation> violations;
  const auto interface =
      tools.implementation->Preflight(AsBytes(model), *tools.board, &violations, wish);
  if (!interface.ok()) return Refusal(violations, MessageOf(interface.status()));

  FreezeFacts facts;
  facts.inputs = interface->inputs;
  facts.outputs = interface->outputs;
  facts.engine = tools.engine->identity;
  facts.toolchain = tools.target->toolchain;
  facts.target = tools.target->executor;
  const auto request =
      Freeze(*document, facts, [&](const Digest& digest) { return input.Blob(digest); });
  if (!request.ok()) {
    if (!absl::IsInvalidArgument(request.status()) && !absl::IsOutOfRange(request.status())) {
      return request.status();
    }
    return Refusal(request.status(), "request_refused");
  }
  HELX_ASSIGN_OR_RETURN(const std::string canonical, request->Canonical());
  context.emit(RecordType::kFile, "request.json", canonical);
  return Json{{"ok", true}};
}

}  // namespace helx::agent
