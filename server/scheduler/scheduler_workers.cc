// The protocol with the workers: desired state, progress, completion.
#include <algorithm>
#include <utility>

#include "server/scheduler/catalogue.h"
#include "server/scheduler/names.h"
#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr size_t kLogPieceBytes = 64 << 10;
constexpr int64_t kLogOffsetMost = int64_t{1} << 50;
constexpr int kViolationsLimit = 64;

v1::SynchronizeResponse Idle() {
  v1::SynchronizeResponse out;
  out.set_idle(true);
  out.mutable_next_synchronization();
  return out;
}

v1::SynchronizeResponse CancelWork() {
  v1::SynchronizeResponse out;
  out.set_cancel(true);
  out.mutable_next_synchronization();
  return out;
}

absl::Status StaleLease(const v1::Lease& lease) {
  return FailedPrecondition("attempt " + std::to_string(lease.attempt()) + " of " +
                            Quoted(lease.action()) +
                            " is not this lane's current lease; nothing was recorded");
}

// A failure as a worker reports it, cut to what the contract allows.
v1::Failure Bounded(v1::Failure failure, v1::Fault otherwise) {
  if (failure.fault() == v1::FAULT_UNSPECIFIED) failure.set_fault(otherwise);
  if (!CheckToken("code", failure.code()).ok()) failure.set_code("unknown");
  if (failure.message().size() > kFailureTextBytes) {
    failure.mutable_message()->resize(kFailureTextBytes);
  }
  if (failure.has_details() && !CheckDigest(FromProto(failure.details())).ok()) {
    failure.clear_details();
  }
  if (failure.violations_size() > kViolationsLimit) {
    failure.mutable_violations()->DeleteSubrange(kViolationsLimit,
                                                 failure.violations_size() - kViolationsLimit);
  }
  for (v1::Violation& violation : *failure.mutable_violations()) {
    if (!CheckToken("code", violation.code()).ok()) violation.set_code("unknown");
    for (std::string* text : {violation.mutable_subject(), violation.mutable_message()}) {
      if (text->size() > kFailureTextBytes) text->resize(kFailureTextBytes);
    }
  }
  return failure;
}

absl::Status CheckSynchronize(const v1::SynchronizeRequest& request) {
  HELX_RETURN_IF_ERROR(CheckToken("worker", request.worker()));
  HELX_RETURN_IF_ERROR(CheckToken("session", request.session()));
  if (request.lane() != v1::LANE_FREEZE && request.lane() != v1::LANE_DEVICE) {
    return InvalidArgument("lane is " + std::to_string(request.lane()) +
                           "; allowed are LANE_FREEZE (1) and LANE_DEVICE (2)");
  }
  return CheckCatalogue(request.catalogue());
}

}  // namespace

void Scheduler::Synchronize(const v1::SynchronizeRequest& request, SynchronizeDone done) {
  absl::Status refused = CheckSynchronize(request);
  if (refused.ok()) {
    Turn turn(this);
    Transaction& t = turn.transaction;
    WorkerState& worker = workers_.Get(request.worker());
    const bool was_live = worker.live;
    bool renewed = false;
    refused = stopped_ ? absl::UnavailableError("the server is shutting down")
                       : workers_.Hear(worker, request.session(), Now(), &renewed);
    if (refused.ok()) {
      if (renewed) {
        // What an older process of this name held is lost; the calls it holds open are answered
        // below or run out.
        for (LaneState& lane : worker.lanes) {
          if (lane.parked) {
            Answer(lane, FailedPrecondition("a newer session of worker " + worker.name + " exists"),
                   t);
          }
          if (lane.action != nullptr && lane.lease_session != worker.session) {
            LoseLease(lane, "its process was replaced", t);
          }
        }
      }
      if (request.lane() == v1::LANE_DEVICE) {
        PoolDevice& device = pool_.Join(worker.name, request.catalogue(), t.writes);
        if (device.quarantined_session == worker.session && !request.has_executing()) {
          // It did let go in the end, so nothing of the old work lives on.
          pool_.SetHealth(device, v1::HEALTH_UNKNOWN, "kill_late",
                          "it acknowledged the end of its work late", t.writes);
        }
      }
      const bool changed = !was_live || worker.catalogue.SerializeAsString() !=
                                            request.catalogue().SerializeAsString();
      if (changed) {
        worker.catalogue = request.catalogue();
        CatalogueChanged(t);
      }
      SynchronizeInTurn(request, worker.lane(request.lane()), std::move(done), t);
    }
  }
  if (!refused.ok()) done(refused);
}

// Compares what the lane does with what it should do. Equal: the call is held; different: it is
// answered at once.
void Scheduler::SynchronizeInTurn(const v1::SynchronizeRequest& request, LaneState& lane,
                                  SynchronizeDone done, Transaction& t) {
  if (lane.parked) Answer(lane, Idle(), t);  // a call that the worker has given up
  lane.parked = std::move(done);
  lane.park_deadline_ms = Now() + options_.synchronize_hold_ms;
  lane.park_executing = request.has_executing();
  if (request.has_executing()) {
    const v1::Lease& held = request.executing();
    const bool current = lane.action != nullptr && lane.attempt == held.attempt() &&
                         lane.action->record.key() == held.action();
    if (!current || lane.action->cancelling) return Answer(lane, CancelWork(), t);
    lane.lease_deadline_ms = Now() + options_.worker_silence_ms;
    return;
  }
  if (lane.action == nullptr) return DispatchLane(lane, t);
  // It never heard of its lease, or forgot it.
  if (lane.action->cancelling) {
    CompleteCancelled(*lane.action, t);
    if (lane.parked && lane.action == nullptr) DispatchLane(lane, t);
    return;
  }
  lane.lease_deadline_ms = Now() + options_.worker_silence_ms;
  SendExecute(lane, true, t);
}

void Scheduler::Answer(LaneState& lane, absl::StatusOr<v1::SynchronizeResponse> response,
                       Transaction& t) {
  if (!lane.parked) return;
  t.effects.push_back([done = std::exchange(lane.parked, nullptr),
                       response = std::move(response)](const absl::Status& status) {
    if (!status.ok()) return done(status);
    done(response);
  });
}

// The desired state changed, or the call was held long enough.
void Scheduler::AnswerParked(LaneState& lane, Transaction& t) {
  if (!lane.parked) return;
  if (lane.action == nullptr) return Answer(lane, Idle(), t);
  if (lane.action->cancelling) return Answer(lane, CancelWork(), t);
  SendExecute(lane, !lane.park_executing, t);
}

absl::StatusOr<LaneState*> Scheduler::CheckLease(const std::string& worker_name,
                                                 const std::string& session,
                                                 const v1::Lease& lease) {
  HELX_RETURN_IF_ERROR(CheckToken("worker", worker_name));
  HELX_RETURN_IF_ERROR(CheckToken("session", session));
  WorkerState* worker = workers_.Find(worker_name);
  if (worker == nullptr || worker->session != session) return StaleLease(lease);
  for (LaneState& lane : worker->lanes) {
    if (lane.action != nullptr && lane.attempt == lease.attempt() &&
        lane.action->record.key() == lease.action()) {
      worker->last_seen_ms = Now();
      lane.lease_deadline_ms = Now() + options_.worker_silence_ms;
      return &lane;
    }
  }
  return StaleLease(lease);
}

absl::Status Scheduler::Report(const v1::ReportRequest& request) {
  absl::Status status;
  std::vector<std::function<void()>> wakes;
  {
    Turn turn(this);
    status = ReportInTurn(request, turn.transaction, &wakes);
  }
  for (const auto& wake : wakes) wake();
  return status;
}

absl::Status Scheduler::ReportInTurn(const v1::ReportRequest& request, Transaction& t,
                                     std::vector<std::function<void()>>* wakes) {
  HELX_ASSIGN_OR_RETURN(LaneState* const lane,
                        CheckLease(request.worker(), request.session(), request.lease()));
  Action& action = *lane->action;
  if (request.item_case() == v1::ReportRequest::kLog) {
    if (request.log().size() > kLogPieceBytes) {
      return InvalidArgument("log has " + std::to_string(request.log().size()) +
                             " bytes; at most 65536 are allowed in one message");
    }
    if (request.log_offset() < 0 || request.log_offset() > kLogOffsetMost) {
      return InvalidArgument("log_offset is " + std::to_string(request.log_offset()) +
                             "; allowed are 0 to 2^50");
    }
    action.log.AppendAt(request.log_offset(), request.log());
    for (const LiveJob* job : action.jobs) {
      const auto [begin, end] = watchers_of_.equal_range(InstanceKey(job->instance, job->id));
      for (auto it = begin; it != end; ++it) {
        const Watcher& watcher = watchers_.at(it->second);
        if (watcher.logs) wakes->push_back(watcher.wake);
      }
    }
    return absl::OkStatus();
  }
  if (request.item_case() != v1::ReportRequest::kPhase) {
    return InvalidArgument("a report needs a phase or log bytes");
  }
  const v1::JobPhase phase = request.phase();
  if (phase < v1::FREEZING || phase > v1::VERIFYING) {
    return InvalidArgument(
        "phase is " + std::to_string(phase) +
        "; a worker reports FREEZING, BUILDING, RUNNING, COLLECTING or VERIFYING");
  }
  if (action.cancelling || phase == action.phase) return absl::OkStatus();
  FaultPoint("phase.reported");
  action.phase = phase;
  for (LiveJob* job : action.jobs) Transition(*job, phase, t);
  return absl::OkStatus();
}

bool Scheduler::HoldsLease(const std::string& worker, const std::string& instance) {
  std::lock_guard lock(mutex_);
  bool holds = false;
  workers_.ForEachLane([&](LaneState& lane) {
    holds = holds || (lane.action != nullptr && lane.action->instance == instance &&
                      (worker.empty() || lane.worker->name == worker));
  });
  return holds;
}

void Scheduler::Complete(const v1::CompleteRequest& request, StatusDone done) {
  absl::Status refused;
  {
    Turn turn(this);
    refused = stopped_ ? absl::UnavailableError("the server is shutting down")
                       : CompleteInTurn(request, turn.transaction);
    if (refused.ok()) {
      turn.transaction.effects.push_back([done](const absl::Status& status) {
        FaultPoint("completion.unacknowledged");
        done(status);
      });
      FaultPoint("completion.decided");
    }
  }
  if (!refused.ok()) done(refused);
}

absl::Status Scheduler::CompleteInTurn(const v1::CompleteRequest& request, Transaction& t) {
  const auto lane = CheckLease(request.worker(), request.session(), request.lease());
  if (!lane.ok()) {
    // The answer to an earlier call may have been lost: what was recorded is confirmed again.
    if (absl::IsFailedPrecondition(lane.status()) && WasRecorded(request)) return absl::OkStatus();
    return lane.status();
  }
  Action& action = *(*lane)->action;
  switch (request.outcome_case()) {
    case v1::CompleteRequest::kOutput: {
      HELX_ASSIGN_OR_RETURN(const records::Placement placement,
                            CheckOutput(action, *(*lane)->worker, request.output()));
      CompleteWithOutput(action, request.output(), placement, t);
      break;
    }
    case v1::CompleteRequest::kFailure:
      CompleteWithFailure(action, Bounded(request.failure(), v1::BUG), false, t);
      break;
    case v1::CompleteRequest::kTimedOut:
      CompleteTimedOut(action, Bounded(request.timed_out(), v1::FAULT_UNSPECIFIED), t);
      break;
    case v1::CompleteRequest::kCancelled:
      CompleteCancelled(action, t);
      break;
    default:
      return InvalidArgument("a completion needs an output, a failure, timed_out or cancelled");
  }
  return absl::OkStatus();
}

// Refuses an output that is malformed or names blobs that were not uploaded; the lease goes on. For
// FREEZE the answer is the exact placement of what was frozen.
absl::StatusOr<records::Placement> Scheduler::CheckOutput(const Action& action,
                                                          const WorkerState& worker,
                                                          const v1::ActionOutput& output) const {
  std::vector<Digest> needed;
  records::Placement placement;
  if (action.record.kind() == v1::ACTION_KIND_FREEZE) {
    if (!IsSha256Hex(output.build_key()) ||
        !(output.run_key().empty() || IsSha256Hex(output.run_key()))) {
      return InvalidArgument("build_key and run_key are 64 lower-case hexadecimal characters");
    }
    needed.push_back(FromProto(output.frozen_request()));
    if (!action.record.has_document()) {
      // Only its executor matters to an image that exists.
      HELX_RETURN_IF_ERROR(CheckText("platform", output.platform(), 64));
      HELX_RETURN_IF_ERROR(CheckText("executor", output.executor(), 128));
      HELX_RETURN_IF_ERROR(CheckText("executor_version", output.executor_version(), 1024));
      placement.set_platform(output.platform());
      placement.set_executor(output.executor());
      placement.set_executor_version(output.executor_version());
    } else {
      auto exact = ExactPlacement(worker.catalogue, output.engine(), output.platform());
      if (!exact.has_value()) {
        return InvalidArgument("the frozen request names engine " + Quoted(output.engine()) +
                               " and platform " + Quoted(output.platform()) +
                               ", which this worker does not advertise as available");
      }
      placement = *std::move(exact);
    }
  } else {
    if (!IsSha256Hex(output.content_digest())) {
      return InvalidArgument("content_digest is 64 lower-case hexadecimal characters");
    }
    needed.push_back(FromProto(output.bundle()));
  }
  for (const v1::Digest& blob : output.blobs()) needed.push_back(FromProto(blob));
  std::vector<Digest> missing;
  for (const Digest& digest : needed) {
    HELX_RETURN_IF_ERROR(CheckDigest(digest));
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(action.instance, digest));
    if (!stored) missing.push_back(digest);
  }
  if (!missing.empty()) return MissingBlobs::Error(missing);
  return placement;
}

bool Scheduler::WasRecorded(const v1::CompleteRequest& request) const {
  const std::string& instance = request.lease().instance();
  const auto record =
      cache_.Load(instance.empty() ? "default" : instance, request.lease().action());
  if (!record.ok()) return false;
  for (const v1::Attempt& attempt : record->attempts()) {
    if (attempt.number() == request.lease().attempt() && attempt.worker() == request.worker()) {
      return attempt.has_end_time() && !attempt.lost();
    }
  }
  return false;
}

// Some worker appeared, went or changed: freeze keys depend on the catalogue, and jobs may wait for
// what is offered now.
void Scheduler::CatalogueChanged(Transaction& t) {
  const auto catalogues = workers_.LiveCatalogues();
  if (!catalogues.empty()) {
    std::string digest = CatalogueDigest(catalogues);
    if (digest != catalogue_digest_) {
      catalogue_digest_ = std::move(digest);
      t.writes.push_back({Family::kDefault, kCatalogueKey, catalogue_digest_});
    }
  }
  std::vector<LiveJob*> jobs;
  std::vector<std::shared_ptr<FreezeWaiter>> waiters(waiting_.begin(), waiting_.end());
  for (auto& [key, job] : jobs_) {
    if (job->action == nullptr) jobs.push_back(job.get());
  }
  std::vector<Action*> queued;
  std::vector<Action*> outdated;
  queue_.ForEach([&](Action* action) {
    if (action->record.kind() == v1::ACTION_KIND_FREEZE) {
      queued.push_back(action);
    } else if (!catalogues.empty() && !Refusal(action->record.placement(), catalogues).empty()) {
      outdated.push_back(action);
    }
  });
  // Frozen for tools that went away, as after an upgrade: whoever came with a document is frozen
  // again.
  for (Action* action : outdated) {
    const auto attached = action->jobs;
    for (LiveJob* job : attached) {
      if (!job->record.has_document()) continue;
      Detach(*job);
      job->record.clear_action();
      Unfreeze(*job);
      jobs.push_back(job);
    }
    DropIfUnwanted(*action, t);
  }
  for (Action* action : queued) {
    const records::ActionRecord& record = action->record;
    const bool current = record.key() == FreezeKey(record.has_document() ? record.document()
                                                                         : record.build_bundle());
    if (current && Refusal(record.placement(), catalogues).empty()) continue;
    if (catalogues.empty()) continue;  // the last worker went: they wait for the next
    jobs.insert(jobs.end(), action->jobs.begin(), action->jobs.end());
    waiters.insert(waiters.end(), action->waiters.begin(), action->waiters.end());
    queue_.Remove(action);
    Erase(*action, t);
  }
  // Oldest first, so that arrival keeps its order.
  std::sort(jobs.begin(), jobs.end(),
            [](const LiveJob* a, const LiveJob* b) { return a->id < b->id; });
  for (LiveJob* job : jobs) Advance(*job, t);
  for (const auto& waiter : waiters) AdvanceWaiter(waiter, t);
}

}  // namespace helx::server
