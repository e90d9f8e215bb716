// The workers that have spoken to this server since it started: sessions, catalogues, and the lanes
// through which they work.
#ifndef HELX_SERVER_SCHEDULER_WORKER_REGISTRY_H_
#define HELX_SERVER_SCHEDULER_WORKER_REGISTRY_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "helx/v1/worker.pb.h"

namespace helx::server {

struct Action;
struct WorkerState;

using SynchronizeDone = std::function<void(absl::StatusOr<v1::SynchronizeResponse>)>;

// One stream of work of a worker. A lease belongs to a lane.
struct LaneState {
  WorkerState* worker = nullptr;
  v1::Lane kind = v1::LANE_UNSPECIFIED;
  Action* action = nullptr;       // leased to it
  int32_t attempt = 0;            // of the lease
  std::string lease_session;      // the session that it was given to
  int64_t lease_deadline_ms = 0;  // steady
  SynchronizeDone parked;         // a Synchronize held open; empty when there is none
  int64_t park_deadline_ms = 0;
  bool park_executing = false;  // the call told of work in hand

  // The lease's row: the device's name, or "{worker}/freeze".
  std::string Name() const;
};

struct WorkerState {
  std::string name;
  std::string session;
  std::deque<std::string> retired;  // older sessions, the newest last
  v1::WorkerCatalogue catalogue;
  int64_t last_seen_ms = 0;
  bool live = false;
  std::array<LaneState, 2> lanes;  // freeze, device

  LaneState& lane(v1::Lane kind) { return lanes[kind == v1::LANE_FREEZE ? 0 : 1]; }
};

// Not thread-safe. Pointers stay valid: workers are never removed.
class WorkerRegistry {
 public:
  explicit WorkerRegistry(int64_t silence_limit_ms) : silence_limit_ms_(silence_limit_ms) {}

  // Creates the worker when it is new (not live until it speaks).
  WorkerState& Get(const std::string& name);
  WorkerState* Find(const std::string& name);

  // Notes a message of a session. FAILED_PRECONDITION when a newer session of that worker exists.
  // `*renewed` tells whether the session has just replaced another one (or is the first).
  absl::Status Hear(WorkerState& worker, const std::string& session, int64_t now_ms, bool* renewed);

  // Marks those dead that were silent for too long; whether any was.
  bool Expire(int64_t now_ms);

  std::vector<const v1::WorkerCatalogue*> LiveCatalogues() const;
  int live_count() const;
  void ForEachLane(const std::function<void(LaneState&)>& visit);
  void ForEach(const std::function<void(const WorkerState&)>& visit) const {
    for (const auto& [name, worker] : workers_) visit(*worker);
  }
  void ForEachLive(const std::function<void(const WorkerState&)>& visit) const;

 private:
  const int64_t silence_limit_ms_;
  std::map<std::string, std::unique_ptr<WorkerState>> workers_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_WORKER_REGISTRY_H_
