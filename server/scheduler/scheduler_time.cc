// What happens because time passes.
#include <algorithm>
#include <utility>

#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr int64_t kSweepIntervalMs = 3600 * 1000;

std::string Seconds(int64_t ms) {
  return std::to_string(ms / 1000) + (ms % 1000 ? "." + std::to_string(ms % 1000 / 100) : "") +
         " s";
}

}  // namespace

void Scheduler::Tick() {
  bool sweep = false;
  {
    Turn turn(this);
    if (stopped_) return;
    const int64_t now = Now();
    TickLanes(now, turn.transaction);
    TickActions(now, turn.transaction);
    TickJobs(now, turn.transaction);
    TickPool(turn.transaction);
    sweep = now - last_sweep_ms_ >= kSweepIntervalMs;
    if (sweep) last_sweep_ms_ = now;
  }
  if (sweep) ExpireIdempotency();
}

void Scheduler::TickLanes(int64_t now, Transaction& t) {
  std::vector<LaneState*> lost;
  workers_.ForEachLane([&](LaneState& lane) {
    if (lane.action != nullptr && now >= lane.lease_deadline_ms) lost.push_back(&lane);
    if (lane.parked && now >= lane.park_deadline_ms) AnswerParked(lane, t);
  });
  for (LaneState* lane : lost) {
    if (lane->action != nullptr) {
      LoseLease(*lane, "silent for " + Seconds(options_.worker_silence_ms), t);
    }
  }
  if (workers_.Expire(now)) CatalogueChanged(t);
}

void Scheduler::TickActions(int64_t now, Transaction& t) {
  std::vector<Action*> due;
  std::vector<Action*> overdue;
  std::vector<Action*> unkilled;
  for (auto& [key, action] : actions_) {
    if (action->state == Action::State::kBackoff && now >= action->not_before_ms) {
      due.push_back(action.get());
    }
    if (action->state == Action::State::kLeased && action->cancelling &&
        now >= action->kill_deadline_ms) {
      unkilled.push_back(action.get());
    }
    if (action->state == Action::State::kLeased &&
        action->record.kind() == v1::ACTION_KIND_FREEZE && !action->cancelling &&
        now >= action->started_ms + action->run_limit_ms + options_.limit_slack_ms) {
      overdue.push_back(action.get());
    }
  }
  for (Action* action : unkilled) Quarantine(*action, t);
  for (Action* action : due) Enqueue(*action, t);
  for (Action* action : overdue) {
    // The worker did not keep the limit: its jobs end, and it is told to stop.
    const auto jobs = action->jobs;
    const v1::Failure failure =
        MakeFailure(v1::FAULT_UNSPECIFIED, "freeze_limit",
                    "freezing took longer than " + Seconds(action->run_limit_ms));
    v1::FreezeResponse refusal;
    *refusal.mutable_refusal() = failure;
    for (const auto& waiter : action->waiters) {
      t.effects.push_back([waiter, refusal](const absl::Status&) { waiter->done(refusal); });
      waiter->action = nullptr;
    }
    action->waiters.clear();
    for (LiveJob* job : jobs) Fail(*job, v1::TIMED_OUT, failure, t);
    DropIfUnwanted(*action, t);
  }
}

void Scheduler::TickJobs(int64_t now, Transaction& t) {
  std::vector<LiveJob*> abandoned;
  std::vector<LiveJob*> timed_out;
  std::vector<LiveJob*> cancelled;
  std::vector<LiveJob*> waiting;
  for (auto& [key, job] : jobs_) {
    const records::JobRecord& record = job->record;
    if (job->phase() == v1::QUEUED) {
      const int64_t queued = record.queued_ms() + now - job->queued_since_ms;
      if (queued >= record.queue_limit_ms()) {
        abandoned.push_back(job.get());
      } else if (job->action == nullptr) {
        waiting.push_back(job.get());
      }
    } else if (job->phase() == v1::CANCELLING) {
      if (now >= job->cancel_deadline_ms) cancelled.push_back(job.get());
    } else if (job->action != nullptr && job->action->state == Action::State::kLeased &&
               job->action->record.kind() != v1::ACTION_KIND_FREEZE &&
               now >= job->action->started_ms + record.run_limit_ms() + options_.limit_slack_ms) {
      timed_out.push_back(job.get());
    }
  }
  for (LiveJob* job : abandoned) {
    Fail(*job, v1::ABANDONED,
         MakeFailure(v1::FAULT_UNSPECIFIED, "queue_limit",
                     "the job waited longer than its queue limit of " +
                         Seconds(job->record.queue_limit_ms()) + " (" +
                         job->record.job().queue_reason() + ")"),
         t);
  }
  for (LiveJob* job : timed_out) {
    Fail(*job, v1::TIMED_OUT,
         MakeFailure(
             v1::FAULT_UNSPECIFIED, "run_limit",
             "the job ran longer than its run limit of " + Seconds(job->record.run_limit_ms())),
         t);
  }
  for (LiveJob* job : cancelled) Finish(*job, v1::CANCELLED, t);
  // Jobs that wait for a worker to offer their platform: once the start-up grace is over, they are
  // refused.
  if (!InStartup() && workers_.live_count() > 0) {
    RefuseOutdated(t);
    for (LiveJob* job : waiting) Advance(*job, t);
    const auto waiters = waiting_;
    for (const auto& waiter : waiters) AdvanceWaiter(waiter, t);
  }
}

// Jobs submitted by the digest of a frozen request whose tools no live worker offers: without their document they cannot
// be frozen anew, and waiting for an older tool to come back has no end.
void Scheduler::RefuseOutdated(Transaction& t) {
  const auto catalogues = workers_.LiveCatalogues();
  std::vector<LiveJob*> refused;
  queue_.ForEach([&](Action* action) {
    if (action->record.kind() == v1::ACTION_KIND_FREEZE ||
        Refusal(action->record.placement(), catalogues).empty()) {
      return;
    }
    for (LiveJob* job : action->jobs) {
      if (!job->record.has_document()) refused.push_back(job);
    }
  });
  for (LiveJob* job : refused) {
    const records::Placement& asked = job->record.placement();
    const auto violations = Refusal(asked, catalogues);
    v1::Failure failure = MakeFailure(
        v1::INFRA, "frozen_tools_unavailable",
        "no worker offers the tools this request was frozen for: " + asked.engine() + " " +
            asked.engine_version() + " for " + asked.platform() + ", " + asked.toolchain() + ", " +
            asked.executor() + " " + asked.executor_version() + "; freeze the experiment again");
    for (const v1::Violation& violation : violations) *failure.add_violations() = violation;
    Fail(*job, v1::FAILED, failure, t);
  }
}

void Scheduler::ExpireIdempotency() {
  Writes expired;
  const int64_t now = clock_->WallMicros();
  const absl::Status status =
      store_->Scan(Family::kIdempotency, {}, [&](std::string_view key, std::string_view value) {
        records::IdempotencyRecord record;
        if (!record.ParseFromString(std::string(value)) || record.expire_us() < now) {
          expired.push_back({Family::kIdempotency, std::string(key), std::nullopt});
        }
        return expired.size() < 100'000;
      });
  if (status.ok() && !expired.empty()) store_->Commit(std::move(expired), nullptr);
}

}  // namespace helx::server
