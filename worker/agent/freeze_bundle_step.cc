#include "core/bundle/reader.h"
#include "worker/agent/action_steps.h"

namespace helx::agent {

absl::StatusOr<Json> FreezeBundleStep(const ActionInput& input, const ActionContext& context) {
  const auto bundle = LoadBundle(input.folder + "/bundle");
  if (!bundle.ok()) {
    return FailureOutcome("USER", ErrorCodeOf(bundle.status()),
                          "the bundle is not what it claims to be: " + MessageOf(bundle.status()));
  }
  if (bundle->manifest.Find("build/model.elf") == nullptr) {
    return FailureOutcome("USER", "image_missing",
                          "the bundle holds no build/model.elf, so there is nothing to run");
  }
  HELX_ASSIGN_OR_RETURN(const std::string canonical, bundle->request.Canonical());
  context.emit(RecordType::kFile, "request.json", canonical);
  return Json{{"ok", true}, {"executed", bundle->result.executed}};
}

}  // namespace helx::agent
