#include "server/scheduler/placement.h"

#include <algorithm>
#include <set>

#include "core/base/yaml_scalar.h"
#include "server/scheduler/names.h"
#include "server/scheduler/selector.h"

namespace helx::server {
namespace {

bool Agrees(const std::string& wanted, const std::string& offered) {
  return wanted.empty() || wanted == offered;
}

bool IsAvailable(const v1::EngineInfo& engine) { return engine.qualification() != "unsupported"; }
bool IsAvailable(const v1::TargetInfo& target) { return target.reason().empty(); }

bool Covers(const v1::EngineInfo& engine, const std::string& platform) {
  const auto& platforms = engine.platforms();
  return platforms.empty() ||
         std::find(platforms.begin(), platforms.end(), platform) != platforms.end();
}

bool Matches(const records::Placement& p, const v1::EngineInfo& engine) {
  return IsAvailable(engine) && Agrees(p.engine(), engine.name()) &&
         Agrees(p.engine_version(), engine.version());
}

bool Matches(const records::Placement& p, const v1::TargetInfo& target) {
  return IsAvailable(target) && Agrees(p.platform(), target.platform()) &&
         Agrees(p.executor(), target.executor()) &&
         Agrees(p.executor_version(), target.version()) &&
         Agrees(p.toolchain(), target.toolchain());
}

v1::Violation MakeViolation(const std::string& code, const std::string& subject,
                            const std::string& message) {
  v1::Violation out;
  out.set_code(code);
  out.set_subject(subject);
  out.set_message(message);
  return out;
}

std::string Listing(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

// What the live workers say about one name: absent, unavailable for a reason, or available.
struct Offer {
  std::set<std::string> available;
  bool known = false;
  std::string reason;

  std::vector<v1::Violation> Judge(const std::string& what, const std::string& name) const {
    if (name.empty() || available.contains(name)) return {};
    if (known) {
      return {MakeViolation(what + "_unavailable", name,
                            what + " " + Quoted(name) + " is not available here: " +
                                (reason.empty() ? "unsupported" : reason) +
                                "; available: " + Listing(available))};
    }
    const std::vector<std::string_view> names(available.begin(), available.end());
    const std::string nearest(NearestName(name, names));
    return {MakeViolation("unknown_" + what, name,
                          "no worker offers the " + what + " " + Quoted(name) +
                              (nearest.empty() ? "" : "; did you mean \"" + nearest + "\"?") +
                              "; available: " + Listing(available))};
  }
};

}  // namespace

bool CanPlace(const records::Placement& placement, const v1::WorkerCatalogue& catalogue) {
  const auto& selectors = placement.selectors();
  return (selectors.empty() || std::any_of(selectors.begin(), selectors.end(),
                                           [&](const std::string& selector) {
                                             return SelectorMatches(selector, catalogue.labels());
                                           })) &&
         OffersTools(placement, catalogue);
}

bool OffersTools(const records::Placement& placement, const v1::WorkerCatalogue& catalogue) {
  for (const v1::TargetInfo& target : catalogue.targets()) {
    if (!Matches(placement, target)) continue;
    for (const v1::EngineInfo& engine : catalogue.engines()) {
      if (Matches(placement, engine) && Covers(engine, target.platform())) return true;
    }
  }
  return false;
}

std::optional<records::Placement> ExactPlacement(const v1::WorkerCatalogue& catalogue,
                                                 const std::string& engine,
                                                 const std::string& platform) {
  for (const v1::TargetInfo& target : catalogue.targets()) {
    if (target.platform() != platform || !IsAvailable(target)) continue;
    for (const v1::EngineInfo& offered : catalogue.engines()) {
      if (offered.name() != engine || !IsAvailable(offered)) continue;
      records::Placement out;
      out.set_engine(offered.name());
      out.set_engine_version(offered.version());
      out.set_platform(target.platform());
      out.set_executor(target.executor());
      out.set_executor_version(target.version());
      out.set_toolchain(target.toolchain());
      return out;
    }
  }
  return std::nullopt;
}

std::vector<v1::Violation> Refusal(const records::Placement& placement,
                                   const std::vector<const v1::WorkerCatalogue*>& catalogues) {
  Offer platforms;
  Offer engines;
  for (const v1::WorkerCatalogue* catalogue : catalogues) {
    if (CanPlace(placement, *catalogue)) return {};
    for (const v1::TargetInfo& target : catalogue->targets()) {
      if (IsAvailable(target)) platforms.available.insert(target.platform());
      if (target.platform() == placement.platform()) {
        platforms.known = true;
        if (!IsAvailable(target)) platforms.reason = target.reason();
      }
    }
    for (const v1::EngineInfo& engine : catalogue->engines()) {
      if (IsAvailable(engine)) engines.available.insert(engine.name());
      if (engine.name() == placement.engine()) {
        engines.known = true;
        if (!IsAvailable(engine)) engines.reason = engine.reason();
      }
    }
  }
  std::vector<v1::Violation> out = platforms.Judge("platform", placement.platform());
  for (v1::Violation& v : engines.Judge("engine", placement.engine())) out.push_back(std::move(v));
  if (out.empty()) {
    out.push_back(MakeViolation("engine_without_platform", placement.engine(),
                                "no worker offers the engine " + Quoted(placement.engine()) +
                                    " for the platform " + Quoted(placement.platform())));
  }
  return out;
}

v1::Fault RefusalFault(const v1::Violation& violation) {
  return violation.code().ends_with("_unavailable") ? v1::INFRA : v1::USER;
}

}  // namespace helx::server
