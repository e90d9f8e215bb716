#include "worker/agent/catalogue.h"

#include "core/base/json.h"
#include "worker/engine/engine.h"
#include "worker/engine/toolchain.h"
#include "worker/target/board.h"
#include "worker/target/qemu.h"

namespace helx::agent {
namespace {

Json ToolToJson(const ToolIdentity& tool) {
  return Json{{"name", tool.name}, {"version", tool.version}, {"detail", tool.detail}};
}

absl::StatusOr<ToolIdentity> ToolFromJson(const Json& object, const char* name) {
  HELX_ASSIGN_OR_RETURN(const Json* value, JsonMember(object, name, "catalogue"));
  ToolIdentity tool;
  HELX_ASSIGN_OR_RETURN(tool.name, JsonString(*value, "name", name));
  HELX_ASSIGN_OR_RETURN(tool.version, JsonString(*value, "version", name));
  HELX_ASSIGN_OR_RETURN(tool.detail, JsonString(*value, "detail", name));
  return tool;
}

}  // namespace

const EngineEntry* Catalogue::FindEngine(std::string_view name) const {
  for (const EngineEntry& engine : engines) {
    if (engine.identity.name == name) return &engine;
  }
  return nullptr;
}

const TargetEntry* Catalogue::FindTarget(std::string_view platform) const {
  for (const TargetEntry& target : targets) {
    if (target.platform == platform) return &target;
  }
  return nullptr;
}

std::string CatalogueToJson(const Catalogue& catalogue) {
  Json engines = Json::array();
  for (const EngineEntry& engine : catalogue.engines) {
    engines.push_back(Json{{"identity", ToolToJson(engine.identity)},
                           {"licence", engine.licence},
                           {"qualification", engine.qualification},
                           {"reason", engine.reason},
                           {"platforms", engine.platforms}});
  }
  Json targets = Json::array();
  for (const TargetEntry& target : catalogue.targets) {
    targets.push_back(Json{{"platform", target.platform},
                           {"core", target.core},
                           {"executor", ToolToJson(target.executor)},
                           {"toolchain", ToolToJson(target.toolchain)},
                           {"basis", target.basis},
                           {"reason", target.reason}});
  }
  return Json{{"worker_version", catalogue.worker_version},
              {"engines", engines},
              {"targets", targets}}
      .dump();
}

absl::StatusOr<Catalogue> CatalogueFromJson(std::string_view text) {
  HELX_ASSIGN_OR_RETURN(const Json root, ParseJson(text));
  Catalogue catalogue;
  HELX_ASSIGN_OR_RETURN(catalogue.worker_version, JsonString(root, "worker_version", "catalogue"));
  HELX_ASSIGN_OR_RETURN(const Json* engines, JsonMember(root, "engines", "catalogue"));
  for (const Json& item : *engines) {
    EngineEntry engine;
    HELX_ASSIGN_OR_RETURN(engine.identity, ToolFromJson(item, "identity"));
    HELX_ASSIGN_OR_RETURN(engine.licence, JsonString(item, "licence", "engine"));
    HELX_ASSIGN_OR_RETURN(engine.qualification, JsonString(item, "qualification", "engine"));
    HELX_ASSIGN_OR_RETURN(engine.reason, JsonString(item, "reason", "engine"));
    HELX_ASSIGN_OR_RETURN(const Json* platforms, JsonMember(item, "platforms", "engine"));
    for (const Json& platform : *platforms) {
      if (!platform.is_string()) return InvalidArgument("engine.platforms holds no names");
      engine.platforms.push_back(platform.get<std::string>());
    }
    catalogue.engines.push_back(std::move(engine));
  }
  HELX_ASSIGN_OR_RETURN(const Json* targets, JsonMember(root, "targets", "catalogue"));
  for (const Json& item : *targets) {
    TargetEntry target;
    HELX_ASSIGN_OR_RETURN(target.platform, JsonString(item, "platform", "target"));
    HELX_ASSIGN_OR_RETURN(target.core, JsonString(item, "core", "target"));
    HELX_ASSIGN_OR_RETURN(target.executor, ToolFromJson(item, "executor"));
    HELX_ASSIGN_OR_RETURN(target.toolchain, ToolFromJson(item, "toolchain"));
    HELX_ASSIGN_OR_RETURN(target.basis, JsonString(item, "basis", "target"));
    HELX_ASSIGN_OR_RETURN(target.reason, JsonString(item, "reason", "target"));
    catalogue.targets.push_back(std::move(target));
  }
  return catalogue;
}

}  // namespace helx::agent
