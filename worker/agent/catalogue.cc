#include "worker/agent/catalogue.h"

#include "core/base/json.h"
#include "worker/engine/engine.h"
#include "worker/engine/toolchain.h"
#include "worker/target/board.h"
#include "worker/target/target.h"

namespace helx::agent {
namespace {

std::vector<std::string> BoardNames() {
  std::vector<std::string> names;
  for (const target::Board& board : target::AllBoards()) names.emplace_back(board.platform);
  return names;
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

Catalogue ReadCatalogue() {
  Catalogue catalogue;
  catalogue.worker_version = HELX_VERSION;
  const auto toolchain = engine::Toolchain::Find();
  for (const engine::Engine* engine : engine::AllEngines()) {
    EngineEntry entry;
    entry.identity = ToolIdentity{std::string(engine->name()), engine->version(), ""};
    entry.licence = "Apache-2.0";
    entry.qualification = "qualified";
    entry.platforms = BoardNames();
    catalogue.engines.push_back(std::move(entry));
  }
  for (const target::Board& board : target::AllBoards()) {
    TargetEntry entry;
    entry.platform = std::string(board.platform);
    entry.core = std::string(board.core);
    entry.basis = std::string(FindPlatform(board.platform)->count_basis);
    if (toolchain.ok()) {
      entry.toolchain = toolchain->identity();
    } else {
      entry.reason = MessageOf(toolchain.status());
    }
    const auto executor = target::MakeTarget(board.platform)->Identity();
    if (executor.ok()) {
      entry.executor = *executor;
    } else {
      entry.reason = MessageOf(executor.status());
    }
    catalogue.targets.push_back(std::move(entry));
  }
  return catalogue;
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
  return Json{
      {"worker_version", catalogue.worker_version}, {"engines", engines}, {"targets", targets}}
      .dump();
}

absl::StatusOr<Catalogue> CatalogueFromJson(std::string_view text) {
  HELX_ASSIGN_OR_RETURN(const Json root, ParseJson(text));
  Catalogue catalogue;
  HELX_ASSIGN_OR_RETURN(catalogue.worker_version, JsonString(root, "worker_version", "catalogue"));
  HELX_ASSIGN_OR_RETURN(const Json* engines, JsonMember(root, "engines", "catalogue"));
  for (const Json& item : *engines) {
    EngineEntry engine;
    HELX_ASSIGN_OR_RETURN(engine.identity, ToolFromJson(item, "identity", "engine"));
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
    HELX_ASSIGN_OR_RETURN(target.executor, ToolFromJson(item, "executor", "target"));
    HELX_ASSIGN_OR_RETURN(target.toolchain, ToolFromJson(item, "toolchain", "target"));
    HELX_ASSIGN_OR_RETURN(target.basis, JsonString(item, "basis", "target"));
    HELX_ASSIGN_OR_RETURN(target.reason, JsonString(item, "reason", "target"));
    catalogue.targets.push_back(std::move(target));
  }
  return catalogue;
}

}  // namespace helx::agent
