// What this worker can do: engines, boards, and the exact tools on this host.
#ifndef HELX_WORKER_AGENT_CATALOGUE_H_
#define HELX_WORKER_AGENT_CATALOGUE_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/experiment/frozen_request.h"

namespace helx::agent {

struct EngineEntry {
  ToolIdentity identity;
  std::string licence;
  std::string qualification;  // qualified | supported | unsupported
  std::string reason;         // why it is unsupported on this host
  std::vector<std::string> platforms;
};

struct TargetEntry {
  std::string platform;
  std::string core;
  ToolIdentity executor;   // empty name: not installed
  ToolIdentity toolchain;  // empty name: not installed
  std::string basis;       // of its instruction counts
  std::string reason;      // why it is unavailable on this host; empty: available
};

struct Catalogue {
  std::string worker_version;
  std::vector<EngineEntry> engines;
  std::vector<TargetEntry> targets;

  const EngineEntry* FindEngine(std::string_view name) const;
  const TargetEntry* FindTarget(std::string_view platform) const;
};

// Asks the tools on this host for their versions. Never fails: what is missing is an entry with a reason.
Catalogue ReadCatalogue();

// As text between the agent and its sandboxed actions.
std::string CatalogueToJson(const Catalogue& catalogue);
absl::StatusOr<Catalogue> CatalogueFromJson(std::string_view text);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_CATALOGUE_H_
