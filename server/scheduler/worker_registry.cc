#include "server/scheduler/worker_registry.h"

#include <algorithm>

namespace helx::server {
namespace {

constexpr size_t kRetiredSessions = 16;

}  // namespace

std::string LaneState::Name() const {
  return kind == v1::LANE_FREEZE ? worker->name + "/freeze" : worker->name;
}

WorkerState& WorkerRegistry::Get(const std::string& name) {
  auto& slot = workers_[name];
  if (slot == nullptr) {
    slot = std::make_unique<WorkerState>();
    slot->name = name;
    slot->lanes[0].kind = v1::LANE_FREEZE;
    slot->lanes[1].kind = v1::LANE_DEVICE;
    for (LaneState& lane : slot->lanes) lane.worker = slot.get();
  }
  return *slot;
}

WorkerState* WorkerRegistry::Find(const std::string& name) {
  const auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : found->second.get();
}

absl::Status WorkerRegistry::Hear(WorkerState& worker, const std::string& session, int64_t now_ms,
                                  bool* renewed) {
  *renewed = false;
  if (session != worker.session) {
    if (std::find(worker.retired.begin(), worker.retired.end(), session) != worker.retired.end()) {
      return FailedPrecondition("a newer session of worker " + worker.name +
                                " exists; this process must stop");
    }
    if (!worker.session.empty()) worker.retired.push_back(worker.session);
    if (worker.retired.size() > kRetiredSessions) worker.retired.pop_front();
    worker.session = session;
    *renewed = true;
  }
  worker.last_seen_ms = now_ms;
  worker.live = true;
  return absl::OkStatus();
}

bool WorkerRegistry::Expire(int64_t now_ms) {
  bool any = false;
  for (auto& [name, worker] : workers_) {
    if (worker->live && now_ms - worker->last_seen_ms > silence_limit_ms_) {
      worker->live = false;
      any = true;
    }
  }
  return any;
}

std::vector<const v1::WorkerCatalogue*> WorkerRegistry::LiveCatalogues() const {
  std::vector<const v1::WorkerCatalogue*> out;
  for (const auto& [name, worker] : workers_) {
    if (worker->live) out.push_back(&worker->catalogue);
  }
  return out;
}

int WorkerRegistry::live_count() const { return static_cast<int>(LiveCatalogues().size()); }

void WorkerRegistry::ForEachLane(const std::function<void(LaneState&)>& visit) {
  for (auto& [name, worker] : workers_) {
    for (LaneState& lane : worker->lanes) visit(lane);
  }
}

void WorkerRegistry::ForEachLive(const std::function<void(const WorkerState&)>& visit) const {
  for (const auto& [name, worker] : workers_) {
    if (worker->live) visit(*worker);
  }
}

}  // namespace helx::server
