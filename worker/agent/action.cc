#include "worker/agent/action.h"

#include <map>
#include <span>

#include "core/base/file.h"
#include "worker/agent/action_steps.h"
#include "worker/agent/catalogue.h"

namespace helx::agent {

Json FailureOutcome(std::string_view fault, std::string_view code, std::string_view message) {
  return Json{{"ok", false},
              {"fault", std::string(fault)},
              {"code", std::string(code)},
              {"message", std::string(message)}};
}

absl::StatusOr<std::string> ActionInput::Blob(const Digest& digest) const {
  HELX_ASSIGN_OR_RETURN(std::string bytes, ReadFile(folder + "/blobs/" + digest.hash,
                                                    static_cast<size_t>(digest.size_bytes)));
  if (DigestOf(bytes) != digest) {
    return DataLoss("blob " + digest.ToString() + " was damaged on its way to the action");
  }
  return bytes;
}

absl::StatusOr<std::string> ActionInput::TensorBytes(const BoundTensor& tensor) const {
  if (tensor.digest == ZeroDigest(tensor.digest.size_bytes)) {
    return std::string(static_cast<size_t>(tensor.digest.size_bytes), '\0');
  }
  return Blob(tensor.digest);
}

namespace {

absl::StatusOr<Json> Dispatch(const ActionContext& context) {
  ActionInput input;
  input.folder = context.input_folder;
  HELX_ASSIGN_OR_RETURN(const std::string text, ReadFile(input.folder + "/action.json", 4u << 20));
  HELX_ASSIGN_OR_RETURN(const Json action, ParseJson(text));
  HELX_ASSIGN_OR_RETURN(const std::string kind, JsonString(action, "kind", "action"));
  HELX_ASSIGN_OR_RETURN(const Json* catalogue, JsonMember(action, "catalogue", "action"));
  HELX_ASSIGN_OR_RETURN(input.catalogue, CatalogueFromJson(catalogue->dump()));
  if (kind == "freeze") return FreezeStep(input, context);
  if (kind == "freeze_bundle") return FreezeBundleStep(input, context);
  if (kind == "build") return BuildStep(input, context);
  if (kind == "run") return RunStep(input, context);
  return Internal("unknown kind of action: " + kind);
}

// What a step could not do at all. Steps answer refusals and device failures as outcomes
// themselves.
Json OutcomeOfStatus(const absl::Status& status) {
  const bool host = absl::IsResourceExhausted(status) || absl::IsUnavailable(status) ||
                    absl::IsNotFound(status) || absl::IsDataLoss(status);
  const std::string code = ErrorCodeOf(status);
  return FailureOutcome(host ? "INFRA" : "BUG", code.empty() ? "action_failed" : code,
                        MessageOf(status));
}

}  // namespace

void RunAction(const ActionContext& context) {
  const absl::StatusOr<Json> outcome = Dispatch(context);
  const Json record = outcome.ok() ? *outcome : OutcomeOfStatus(outcome.status());
  context.emit(RecordType::kOutcome, "",
               record.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace helx::agent
