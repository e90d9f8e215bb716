// The scheduler's view of the work in hand. Internal to server/scheduler; everything here is
// guarded by the scheduler's mutex.
#ifndef HELX_SERVER_SCHEDULER_ACTION_H_
#define HELX_SERVER_SCHEDULER_ACTION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "core/base/status.h"
#include "helx/v1/experiments.pb.h"
#include "server/scheduler/log_buffer.h"
#include "server/scheduler/records.pb.h"
#include "server/store/keys.h"

namespace helx::server {

struct Action;
struct LaneState;

inline constexpr size_t kLogLimitBytes = 4 << 20;

// A job that has not reached a terminal phase.
struct LiveJob {
  std::string id;
  std::string instance;
  records::JobRecord record;
  Action* action = nullptr;
  int64_t queued_since_ms = 0;  // steady; valid in QUEUED
  int64_t cancel_deadline_ms = 0;
  std::string last_event_bytes;  // record.job() as last written

  v1::JobPhase phase() const { return record.job().phase(); }
  std::string owner() const { return InstanceKey(instance, record.job().user()); }
  bool is_check() const { return !record.device().empty(); }
};

// A call of Experiments.Freeze that waits.
struct FreezeWaiter {
  std::string instance;
  v1::Digest document;
  records::Placement placement;
  std::string owner;         // InstanceKey(instance, user)
  Action* action = nullptr;  // null while nobody who could freeze is there
  std::function<void(absl::StatusOr<v1::FreezeResponse>)> done;
};

// One key in flight, shared by the jobs that need it.
struct Action {
  enum class State { kQueued, kBackoff, kLeased };

  std::string instance;
  records::ActionRecord record;
  std::string owner;  // InstanceKey(instance, user): whose device time it takes
  int32_t priority = 0;
  uint64_t arrival = 0;
  State state = State::kQueued;
  std::set<LiveJob*> jobs;
  std::set<std::shared_ptr<FreezeWaiter>> waiters;
  int64_t not_before_ms = 0;  // in kBackoff
  std::string avoid_worker;   // whose attempt failed last

  // In kLeased.
  LaneState* lane = nullptr;
  int64_t started_ms = 0;  // steady
  int64_t run_limit_ms = 0;
  bool cancelling = false;
  int64_t kill_deadline_ms = 0;  // of cancelling: then the device is quarantined
  bool recovered = false;  // the lease is from before this process started
  v1::JobPhase phase = v1::JOB_PHASE_UNSPECIFIED;
  LogBuffer log{kLogLimitBytes};

  v1::Lane lane_kind() const {
    return record.kind() == v1::ACTION_KIND_FREEZE ? v1::LANE_FREEZE : v1::LANE_DEVICE;
  }
  // Whether somebody still wants its outcome.
  bool wanted() const {
    if (!waiters.empty()) return true;
    for (const LiveJob* job : jobs) {
      if (!job->record.job().cancel_requested()) return true;
    }
    return false;
  }
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_ACTION_H_
