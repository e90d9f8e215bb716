#include "server/scheduler/catalogue.h"

#include <map>
#include <set>
#include <tuple>

#include "core/base/json.h"
#include "core/base/sha256.h"
#include "server/scheduler/names.h"
#include "server/scheduler/selector.h"

namespace helx::server {
namespace {

constexpr int kEntriesLimit = 256;
constexpr size_t kTextLimit = 512;

}  // namespace

std::string CatalogueDigest(const std::vector<const v1::WorkerCatalogue*>& catalogues) {
  std::set<std::vector<std::string>> engines;
  std::set<std::vector<std::string>> targets;
  std::set<std::string> workers;
  for (const v1::WorkerCatalogue* catalogue : catalogues) {
    for (const auto& e : catalogue->engines()) {
      if (e.qualification() != "unsupported") engines.insert({e.name(), e.version()});
    }
    for (const auto& t : catalogue->targets()) {
      if (t.reason().empty()) {
        targets.insert({t.platform(), t.executor(), t.version(), t.toolchain()});
      }
    }
    workers.insert(catalogue->worker_version());
  }
  const Json document = {{"engines", engines}, {"targets", targets}, {"workers", workers}};
  // The strings are UTF-8 (CheckCatalogue), so the text always exists.
  return Sha256Hex(std::string_view(CanonicalJson(document).value_or(std::string())));
}

void MergeCatalogues(const std::vector<const v1::WorkerCatalogue*>& catalogues,
                     v1::ServerCapabilities* out) {
  std::map<std::pair<std::string, std::string>, v1::EngineInfo> engines;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, v1::TargetInfo> targets;
  for (const v1::WorkerCatalogue* catalogue : catalogues) {
    for (const auto& engine : catalogue->engines()) {
      auto& merged = engines[{engine.name(), engine.version()}];
      // Somebody who supports it outranks somebody who does not.
      if (merged.name().empty() || merged.qualification() == "unsupported") merged = engine;
    }
    for (const auto& target : catalogue->targets()) {
      auto& merged =
          targets[{target.platform(), target.executor(), target.version(), target.toolchain()}];
      const int live = merged.live_workers() + (target.reason().empty() ? 1 : 0);
      if (merged.platform().empty() || target.reason().empty()) merged = target;
      merged.set_live_workers(live);
    }
  }
  for (auto& [key, engine] : engines) *out->add_engines() = std::move(engine);
  for (auto& [key, target] : targets) *out->add_targets() = std::move(target);
  out->set_live_workers(static_cast<int32_t>(catalogues.size()));
  out->set_catalogue_digest(CatalogueDigest(catalogues));
}

absl::Status CheckCatalogue(const v1::WorkerCatalogue& catalogue) {
  if (catalogue.engines_size() > kEntriesLimit || catalogue.targets_size() > kEntriesLimit) {
    return InvalidArgument("a catalogue has at most 256 engines and 256 targets");
  }
  HELX_RETURN_IF_ERROR(CheckLabels(catalogue.labels()));
  std::vector<const std::string*> texts = {&catalogue.worker_version()};
  for (const auto& e : catalogue.engines()) {
    for (const std::string* s :
         {&e.name(), &e.version(), &e.licence(), &e.qualification(), &e.reason()}) {
      texts.push_back(s);
    }
    for (const std::string& platform : e.platforms()) texts.push_back(&platform);
  }
  for (const auto& t : catalogue.targets()) {
    for (const std::string* s : {&t.platform(), &t.core(), &t.executor(), &t.version(),
                                 &t.toolchain(), &t.basis(), &t.reason()}) {
      texts.push_back(s);
    }
  }
  for (const std::string* text : texts) {
    HELX_RETURN_IF_ERROR(CheckText("catalogue", *text, kTextLimit));
  }
  return absl::OkStatus();
}

}  // namespace helx::server
