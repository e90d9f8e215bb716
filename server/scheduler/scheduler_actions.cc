// Actions: joining and leaving them, the queue, leases.
#include <algorithm>
#include <utility>

#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

v1::JobPhase PhaseOf(v1::ActionKind kind) {
  switch (kind) {
    case v1::ACTION_KIND_FREEZE:
      return v1::FREEZING;
    case v1::ACTION_KIND_BUILD:
      return v1::BUILDING;
    default:
      return v1::RUNNING;
  }
}

void SetDuration(int64_t ms, google::protobuf::Duration* out) {
  out->set_seconds(ms / 1000);
  out->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

}  // namespace

// The action in flight, or a new one with what the store knows of its key.
absl::StatusOr<Action*> Scheduler::GetAction(const std::string& instance, const std::string& key,
                                             v1::ActionKind kind) {
  auto& slot = actions_[InstanceKey(instance, key)];
  if (slot != nullptr) return slot.get();
  auto record = cache_.Load(instance, key);
  if (!record.ok()) {
    actions_.erase(InstanceKey(instance, key));
    return record.status();
  }
  slot = std::make_unique<Action>();
  slot->instance = instance;
  slot->record = *std::move(record);
  if (kind != v1::ACTION_KIND_UNSPECIFIED) {
    slot->record.set_kind(kind);
    slot->record.clear_attempts();  // a new execution; last_attempt goes on
  }
  slot->arrival = ++arrivals_;
  return slot.get();
}

void Scheduler::Attach(LiveJob& job, v1::ActionKind kind, const std::string& key, Transaction& t) {
  const bool fresh = !actions_.contains(InstanceKey(job.instance, key));
  auto found = GetAction(job.instance, key, kind);
  if (!found.ok()) {
    return Fail(job, v1::FAILED, MakeFailure(v1::INFRA, "store_damaged", MessageOf(found.status())),
                t);
  }
  Action& action = **found;
  if (fresh) {
    records::ActionRecord& record = action.record;
    action.owner = job.owner();
    *record.mutable_placement() = job.record.placement();
    if (kind == v1::ACTION_KIND_FREEZE) {
      if (job.record.has_document()) {
        *record.mutable_document() = job.record.document();
      } else {
        *record.mutable_build_bundle() = job.record.build_bundle();
      }
    } else {
      *record.mutable_frozen_request() = job.record.job().frozen_request();
    }
    if (kind == v1::ACTION_KIND_RUN) *record.mutable_build_bundle() = job.record.build_bundle();
  } else {
    observer_->Deduplicated(kind);
  }
  if (job.record.priority() > action.priority || action.jobs.empty()) {
    const bool queued = !fresh && action.state == Action::State::kQueued;
    if (queued) queue_.Remove(&action);
    action.priority = action.jobs.empty() ? job.record.priority()
                                          : std::max(action.priority, job.record.priority());
    if (queued) queue_.Push(&action);
  }
  if (kind != v1::ACTION_KIND_FREEZE) PlaceOnDevices(job, action, fresh);
  action.jobs.insert(&job);
  job.action = &action;
  job.record.set_action(key);
  for (const v1::Attempt& attempt : action.record.attempts()) {
    *job.record.mutable_job()->add_attempts() = attempt;
  }
  if (!fresh && action.state == Action::State::kLeased && !action.cancelling) {
    Transition(job, action.phase, t);
  } else {
    Requeue(job, action.state == Action::State::kBackoff ? "retry_backoff" : QueueReason(action),
            t);
  }
  if (fresh) return Enqueue(action, t);
  // More devices may suit it now.
  if (action.state == Action::State::kQueued) DispatchAction(action, t);
}

// Adds the devices that the job wants to those on which the action may run: they are those of any
// of its jobs.
void Scheduler::PlaceOnDevices(LiveJob& job, Action& action, bool fresh) {
  const std::string& selector = job.record.job().selector();
  records::Placement* placement = action.record.mutable_placement();
  if (fresh) {
    if (!selector.empty()) placement->add_selectors(selector);
    return;
  }
  const auto& selectors = placement->selectors();
  if (selectors.empty() ||
      std::find(selectors.begin(), selectors.end(), selector) != selectors.end()) {
    return;
  }
  const bool queued = action.state == Action::State::kQueued;
  if (queued) queue_.Remove(&action);
  if (selector.empty()) {
    placement->clear_selectors();
  } else {
    placement->add_selectors(selector);
  }
  if (queued) queue_.Push(&action);
}

void Scheduler::Detach(LiveJob& job) {
  job.action->jobs.erase(&job);
  job.action = nullptr;
}

void Scheduler::Enqueue(Action& action, Transaction& t) {
  action.state = Action::State::kQueued;
  WriteAction(action, t);
  queue_.Push(&action);
  DispatchAction(action, t);
}

void Scheduler::DropIfUnwanted(Action& action, Transaction& t) {
  if (action.wanted()) return;
  if (action.state == Action::State::kLeased) {
    if (!action.cancelling) BeginCancel(action, t);
  } else if (action.jobs.empty()) {
    if (action.state == Action::State::kQueued) queue_.Remove(&action);
    Erase(action, t);
  }
}

void Scheduler::Erase(Action& action, Transaction& t) {
  for (LiveJob* job : action.jobs) job->action = nullptr;
  action.jobs.clear();
  for (const auto& waiter : action.waiters) waiter->action = nullptr;
  action.waiters.clear();
  const auto found = actions_.find(InstanceKey(action.instance, action.record.key()));
  t.ended_actions.push_back(std::move(found->second));
  actions_.erase(found);
}

void Scheduler::BeginCancel(Action& action, Transaction& t) {
  action.cancelling = true;
  action.kill_deadline_ms = Now() + options_.cancel_limit_ms;
  AnswerParked(*action.lane, t);
}

std::string Scheduler::QueueReason(const Action& action) const {
  // What the closest worker lacks.
  static constexpr const char* kReasons[] = {
      "no_worker",        "platform_unavailable", "no_matching_device", "devices_unhealthy",
      "devices_draining", "devices_reserved",     "user_limit",         "workers_busy"};
  size_t closest = 0;
  workers_.ForEachLive([&](const WorkerState& worker) {
    const records::Placement& placement = action.record.placement();
    std::string reason = "workers_busy";
    if (!OffersTools(placement, worker.catalogue)) {
      reason = "platform_unavailable";
    } else if (!CanPlace(placement, worker.catalogue)) {
      reason = "no_matching_device";
    } else if (const std::string why = WhyNot(action, worker); !why.empty()) {
      reason = why;
    }
    const auto* found = std::find(std::begin(kReasons), std::end(kReasons), reason);
    closest = std::max(closest, static_cast<size_t>(found - std::begin(kReasons)));
  });
  return kReasons[closest];
}

std::string Scheduler::WhyNot(const Action& action, const WorkerState& worker) const {
  if (action.lane_kind() == v1::LANE_FREEZE) return "";
  const PoolDevice* device = pool_.Find(worker.name);
  if (device == nullptr) return "workers_busy";  // its device lane has not spoken yet
  bool checks = false;
  bool checks_this = false;
  std::string why = "devices_unhealthy";
  for (const LiveJob* job : action.jobs) {
    checks = checks || job->is_check();
    checks_this = checks_this || job->record.device() == worker.name;
    if (job->is_check() || why.empty()) continue;
    why = pool_.WhyClosedTo(*device, job->instance, job->record.job().user());
  }
  if (checks_this && pool_.TakesChecks(*device)) return "";
  // The run of a health check is about its device; what leads to it any device may do.
  if (checks && action.record.kind() == v1::ACTION_KIND_RUN) return "devices_unhealthy";
  if (checks && why == "devices_unhealthy") {
    why = pool_.WhyClosedTo(*device, action.instance, "");
  }
  if (!why.empty()) return why;
  const auto running = running_of_.find(action.owner);
  return options_.user_devices > 0 && running != running_of_.end() &&
                 running->second >= options_.user_devices
             ? "user_limit"
             : "";
}

// After a failed attempt another worker is preferred, if there is one.
bool Scheduler::MayTake(const Action& action, const WorkerState& worker) const {
  if (!WhyNot(action, worker).empty()) return false;
  if (action.avoid_worker != worker.name) return true;
  bool other = false;
  workers_.ForEachLive([&](const WorkerState& candidate) {
    other = other ||
            (&candidate != &worker && CanPlace(action.record.placement(), candidate.catalogue) &&
             WhyNot(action, candidate).empty());
  });
  return !other;
}

void Scheduler::DispatchAction(Action& action, Transaction& t) {
  LaneState* chosen = nullptr;
  workers_.ForEachLane([&](LaneState& lane) {
    if (chosen != nullptr || lane.kind != action.lane_kind() || !lane.parked ||
        lane.action != nullptr || lane.park_executing) {
      return;
    }
    if (CanPlace(action.record.placement(), lane.worker->catalogue) &&
        MayTake(action, *lane.worker)) {
      chosen = &lane;
    }
  });
  if (chosen != nullptr) Lease(action, *chosen, t);
}

void Scheduler::DispatchLane(LaneState& lane, Transaction& t) {
  Action* action = queue_.Best(
      lane.kind,
      [&](const records::Placement& placement) {
        return CanPlace(placement, lane.worker->catalogue);
      },
      [&](const Action& candidate) { return MayTake(candidate, *lane.worker); });
  if (action != nullptr) Lease(*action, lane, t);
}

// Gives the action to the idle lane whose call is held open; the worker learns of it once the lease
// is on disk.
void Scheduler::Lease(Action& action, LaneState& lane, Transaction& t) {
  queue_.Remove(&action);
  action.state = Action::State::kLeased;
  action.lane = &lane;
  if (lane.kind == v1::LANE_DEVICE) ++running_of_[action.owner];
  action.started_ms = Now();
  action.cancelling = false;
  action.recovered = false;
  action.log = LogBuffer(kLogLimitBytes);
  action.phase = PhaseOf(action.record.kind());
  action.run_limit_ms = 0;
  for (const LiveJob* job : action.jobs) {
    action.run_limit_ms = std::max(action.run_limit_ms, job->record.run_limit_ms());
  }
  if (action.record.kind() == v1::ACTION_KIND_FREEZE) {
    action.run_limit_ms = options_.freeze_limit_ms;
  }
  const int32_t number = action.record.last_attempt() + 1;
  action.record.set_last_attempt(number);
  v1::Attempt* attempt = action.record.add_attempts();
  attempt->set_kind(action.record.kind());
  attempt->set_number(number);
  attempt->set_worker(lane.worker->name);
  SetTimestamp(clock_->WallMicros(), attempt->mutable_start_time());
  WriteAction(action, t);
  for (LiveJob* job : action.jobs) {
    *job->record.mutable_job()->add_attempts() = *attempt;
    Transition(*job, action.phase, t);
  }

  lane.action = &action;
  lane.attempt = number;
  lane.lease_session = lane.worker->session;
  lane.lease_deadline_ms = Now() + options_.worker_silence_ms;
  records::LeaseRecord lease;
  lease.set_instance(action.instance);
  lease.set_action(action.record.key());
  lease.set_attempt(number);
  lease.set_worker(lane.worker->name);
  lease.set_session(lane.worker->session);
  lease.set_lane(lane.kind);
  lease.set_run_limit_ms(action.run_limit_ms);
  t.writes.push_back({Family::kLeases, lane.Name(), lease.SerializeAsString()});
  FaultPoint("lease.decided");
  SendExecute(lane, true, t);
}

// Answers the held call with the lane's lease: whole, or (for a worker that is at it already)
// without document and request.
void Scheduler::SendExecute(LaneState& lane, bool with_subject, Transaction& t) {
  if (!lane.parked) return;
  const Action& action = *lane.action;
  v1::SynchronizeResponse response;
  v1::ExecuteAction* execute = response.mutable_execute();
  execute->mutable_lease()->set_action(action.record.key());
  execute->mutable_lease()->set_attempt(lane.attempt);
  if (lane.kind == v1::LANE_DEVICE) execute->mutable_lease()->set_device(lane.Name());
  SetDuration(options_.worker_silence_ms, execute->mutable_lease()->mutable_ttl());
  execute->mutable_lease()->set_instance(action.instance);
  execute->set_instance(action.instance);
  execute->set_kind(action.record.kind());
  execute->set_no_cache(std::any_of(action.jobs.begin(), action.jobs.end(),
                                    [](const LiveJob* job) { return job->record.no_cache(); }));
  SetDuration(action.run_limit_ms, execute->mutable_run_limit());
  SetDuration(0, response.mutable_next_synchronization());
  if (!with_subject) return Answer(lane, std::move(response), t);
  t.effects.push_back([this, done = std::exchange(lane.parked, nullptr),
                       response = std::move(response), record = action.record,
                       instance = action.instance,
                       attempt = lane.attempt](const absl::Status& status) mutable {
    if (!status.ok()) return done(status);
    FaultPoint("lease.unsent");
    const absl::Status read = ReadSubject(instance, record, response.mutable_execute());
    if (read.ok()) return done(std::move(response));
    FailUnreadable(instance, record.key(), attempt, read);
    done(absl::UnavailableError("the action cannot be read: " + MessageOf(read)));
  });
}

absl::Status Scheduler::ReadSubject(const std::string& instance,
                                    const records::ActionRecord& record,
                                    v1::ExecuteAction* out) const {
  const bool freezes = record.kind() == v1::ACTION_KIND_FREEZE;
  if (record.has_build_bundle()) *out->mutable_build_bundle() = record.build_bundle();
  if (freezes && !record.has_document()) return absl::OkStatus();
  const Digest digest = FromProto(freezes ? record.document() : record.frozen_request());
  auto content = blobs_->Read(instance, digest);
  if (absl::IsDataLoss(content.status())) blobs_->Discard(instance, digest);
  HELX_RETURN_IF_ERROR(content.status());
  *(freezes ? out->mutable_document() : out->mutable_frozen_request()) = *std::move(content);
  return absl::OkStatus();
}

void Scheduler::ReleaseLane(Action& action, Transaction& t) {
  LaneState& lane = *action.lane;
  const double seconds = static_cast<double>(Now() - action.started_ms) / 1e3;
  observer_->LeaseEnded(seconds);
  if (lane.kind == v1::LANE_DEVICE) {
    if (--running_of_[action.owner] <= 0) running_of_.erase(action.owner);
    usage_.Add(action.owner, seconds, clock_->WallMicros(), t.writes);
  }
  t.writes.push_back({Family::kLeases, lane.Name(), std::nullopt});
  lane.action = nullptr;
  action.lane = nullptr;
  action.cancelling = false;
  AnswerParked(lane, t);
}

}  // namespace helx::server
