// How attempts end: with an output, a failure, a limit, a cancellation, or without a word.
#include <algorithm>
#include <utility>

#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kNondeterministic[] = "nondeterministic_result";
constexpr char kWorkerStopped[] = "worker_stopped";
constexpr char kServerRestarted[] = "server_restarted";
// Including those that do not count.
constexpr int kAttemptsMost = 20;

bool IsOpen(const v1::Attempt& attempt) { return !attempt.has_end_time(); }

// Attempts that count against the cap: an orderly stop of the worker or a restart of this server
// says nothing about the work.
int AttemptsTried(const records::ActionRecord& record) {
  int tried = 0;
  for (const v1::Attempt& attempt : record.attempts()) {
    const std::string& code = attempt.failure().code();
    if (code != kWorkerStopped && code != kServerRestarted) ++tried;
  }
  return tried;
}

void AddIssue(const char* code, google::protobuf::RepeatedPtrField<std::string>* issues) {
  if (std::find(issues->begin(), issues->end(), code) == issues->end()) *issues->Add() = code;
}

}  // namespace

// The work was not let go of in time: whether its process lives on is unknown, so its device takes
// no more, and whoever still wants the action gets it anew elsewhere.
void Scheduler::Quarantine(Action& action, Transaction& t) {
  LaneState& lane = *action.lane;
  PoolDevice* device = lane.kind == v1::LANE_DEVICE ? pool_.Find(lane.worker->name) : nullptr;
  if (device != nullptr && device->health() != v1::HEALTH_RETIRED) {
    pool_.SetHealth(*device, v1::HEALTH_BAD, kKillUnacknowledged,
                    "the end of " + action.record.key() + " was not acknowledged within " +
                        std::to_string(options_.cancel_limit_ms) + " ms",
                    t.writes);
    device->quarantined_session = lane.worker->session;
  }
  const v1::Failure failure =
      MakeFailure(v1::DEVICE, kKillUnacknowledged,
                  "worker " + lane.worker->name + " did not acknowledge the end of this attempt");
  KeepLog(action, nullptr, t);
  EndAttempt(action, &failure, true);
  ReleaseLane(action, t);
  FinishCancelled(action, t);
  WriteAction(action, t);
  if (!action.wanted()) return Erase(action, t);
  action.record.clear_attempts();
  for (LiveJob* job : action.jobs) {
    if (job->phase() != v1::QUEUED) Requeue(*job, "workers_busy", t);
  }
  Enqueue(action, t);
}

// The document or frozen request of a lease is gone or damaged: no other worker would fare better.
void Scheduler::FailUnreadable(const std::string& instance, const std::string& key, int32_t attempt,
                               const absl::Status& why) {
  Turn turn(this);
  const auto found = actions_.find(InstanceKey(instance, key));
  if (found == actions_.end()) return;
  Action& action = *found->second;
  if (action.lane == nullptr || action.lane->attempt != attempt) return;
  v1::Failure failure = MakeFailure(v1::INFRA, "blob_damaged",
                                    "an input of the action cannot be read from the store (" +
                                        MessageOf(why) + "); submit the job again");
  EndAttempt(action, &failure, false);
  ReleaseLane(action, turn.transaction);
  WriteAction(action, turn.transaction);
  const auto jobs = action.jobs;
  for (const auto& waiter : action.waiters) {
    turn.transaction.effects.push_back([waiter, why](const absl::Status&) { waiter->done(why); });
  }
  Erase(action, turn.transaction);
  for (LiveJob* job : jobs) Fail(*job, v1::FAILED, failure, turn.transaction);
}

// Closes the open attempt, in the action and in every job that shares it.
void Scheduler::EndAttempt(Action& action, const v1::Failure* failure, bool lost) {
  if (action.record.attempts().empty()) return;
  v1::Attempt* last = action.record.mutable_attempts(action.record.attempts_size() - 1);
  if (!IsOpen(*last)) return;
  SetTimestamp(clock_->WallMicros(), last->mutable_end_time());
  if (failure != nullptr) *last->mutable_failure() = *failure;
  last->set_lost(lost);
  for (LiveJob* job : action.jobs) {
    for (v1::Attempt& attempt : *job->record.mutable_job()->mutable_attempts()) {
      if (attempt.kind() == last->kind() && attempt.number() == last->number()) attempt = *last;
    }
  }
}

void Scheduler::LoseLease(LaneState& lane, const std::string& why, Transaction& t) {
  observer_->LeaseExpired();
  Action& action = *lane.action;
  if (!action.wanted()) return CompleteCancelled(action, t);
  CompleteWithFailure(action,
                      MakeFailure(v1::INFRA, action.recovered ? kServerRestarted : "worker_lost",
                                  "worker " + lane.worker->name + " was lost: " + why),
                      true, t);
}

// Stores what the open attempt printed; a failure without details of its own refers to it.
void Scheduler::KeepLog(Action& action, v1::Failure* failure, Transaction& t) {
  if (action.log.empty() || action.record.attempts().empty()) return;
  const std::string text = action.log.Text();
  const Digest digest = DigestOf(std::string_view(text));
  blobs_->AppendRows(action.instance, digest, text, t.writes);
  v1::AttemptLog* log =
      action.record.mutable_attempts(action.record.attempts_size() - 1)->mutable_log();
  *log->mutable_text() = ToProto(digest);
  log->set_bytes(action.log.end());
  log->set_dropped(action.log.dropped());
  log->set_dropped_at(action.log.dropped() > 0 ? action.log.dropped_at() : 0);
  if (failure != nullptr && !failure->has_details()) {
    *failure->mutable_details() = ToProto(digest);
  }
}

// Jobs that were cancelled while they shared the action.
void Scheduler::FinishCancelled(Action& action, Transaction& t) {
  const auto jobs = action.jobs;
  for (LiveJob* job : jobs) {
    if (!job->record.job().cancel_requested()) continue;
    Detach(*job);
    Finish(*job, v1::CANCELLED, t);
  }
}

void Scheduler::CompleteWithOutput(Action& action, const v1::ActionOutput& output,
                                   const records::Placement& frozen_placement, Transaction& t) {
  KeepLog(action, nullptr, t);
  EndAttempt(action, nullptr, false);
  ReleaseLane(action, t);
  FinishCancelled(action, t);
  records::ActionRecord& record = action.record;
  const v1::ActionOutput previous = record.output();
  const bool had_output = record.has_output();
  *record.mutable_output() = output;
  *record.mutable_output_placement() = frozen_placement;
  record.clear_issues();
  WriteOutputRows(action, had_output ? &previous : nullptr, t);
  FaultPoint("output.decided");
  WriteAction(action, t);

  const auto jobs = action.jobs;
  for (const auto& waiter : action.waiters) AnswerFreeze(*waiter, record, t);
  Erase(action, t);
  for (LiveJob* job : jobs) {
    job->record.clear_action();
    switch (record.kind()) {
      case v1::ACTION_KIND_FREEZE:
        TakeFrozen(*job, record);
        Advance(*job, t);
        break;
      case v1::ACTION_KIND_BUILD:
        *job->record.mutable_build_bundle() = output.bundle();
        if (job->record.job().kind() == v1::JOB_KIND_BUILD || job->record.run_key().empty()) {
          Succeed(*job, record, false, t);
        } else {
          Advance(*job, t);
        }
        break;
      default:
        Succeed(*job, record, false, t);
    }
  }
}

// What can be found by the digest of an output: the frozen request, or the bundle. A bundle whose
// content differs from what the same key gave before is noted on both.
void Scheduler::WriteOutputRows(Action& action, const v1::ActionOutput* previous, Transaction& t) {
  records::ActionRecord& record = action.record;
  const v1::ActionOutput& output = record.output();
  if (record.kind() == v1::ACTION_KIND_FREEZE) {
    // What a bundle asks of a worker is less than what building its request would.
    if (!record.has_document()) return;
    records::ActionRecord frozen = record;
    frozen.set_key("frozen:" + output.frozen_request().hash());
    Action by_digest;
    by_digest.instance = action.instance;
    by_digest.record = frozen;
    WriteAction(by_digest, t);
    return;
  }
  const auto write_bundle = [&](const v1::ActionOutput& of) {
    records::BundleRecord row;
    *row.mutable_bundle() = of.bundle();
    row.set_content_digest(of.content_digest());
    row.set_assessment(of.assessment());
    row.set_kind(record.kind());
    *row.mutable_issues() = record.issues();
    *row.mutable_blobs() = of.blobs();
    t.writes.push_back({Family::kIndexBundles, InstanceKey(action.instance, of.bundle().hash()),
                        row.SerializeAsString()});
  };
  if (previous != nullptr && previous->content_digest() != output.content_digest()) {
    AddIssue(kNondeterministic, record.mutable_issues());
    write_bundle(*previous);
  }
  write_bundle(output);
}

void Scheduler::CompleteWithFailure(Action& action, v1::Failure failure, bool lost,
                                    Transaction& t) {
  KeepLog(action, &failure, t);
  EndAttempt(action, &failure, lost);
  const std::string worker = action.lane->worker->name;
  ReleaseLane(action, t);
  FinishCancelled(action, t);
  WriteAction(action, t);
  if (!action.wanted()) return Erase(action, t);
  const bool retry = failure.fault() == v1::INFRA || failure.fault() == v1::DEVICE;
  const int tried = AttemptsTried(action.record);
  if (retry && tried < options_.attempts && action.record.attempts_size() < kAttemptsMost) {
    observer_->Retried(failure.fault());
    action.state = Action::State::kBackoff;
    action.not_before_ms = Now() + (options_.retry_backoff_ms << std::max(tried - 1, 0));
    action.avoid_worker = worker;
    for (LiveJob* job : action.jobs) Requeue(*job, "retry_backoff", t);
    return;
  }
  v1::FreezeResponse refusal;
  *refusal.mutable_refusal() = failure;
  for (const auto& waiter : action.waiters) {
    t.effects.push_back([waiter, refusal](const absl::Status&) { waiter->done(refusal); });
  }
  const auto jobs = action.jobs;
  Erase(action, t);
  for (LiveJob* job : jobs) Fail(*job, v1::FAILED, failure, t);
}

void Scheduler::CompleteCancelled(Action& action, Transaction& t) {
  const bool asked = action.cancelling;
  if (!asked) {
    // A worker that stops gives its work back.
    return CompleteWithFailure(
        action, MakeFailure(v1::INFRA, kWorkerStopped, "the worker stopped before the end"), false,
        t);
  }
  KeepLog(action, nullptr, t);
  EndAttempt(action, nullptr, false);
  ReleaseLane(action, t);
  FinishCancelled(action, t);
  if (!action.wanted()) {
    WriteAction(action, t);
    return Erase(action, t);
  }
  // Somebody joined while it was being stopped: it begins anew.
  action.record.clear_attempts();
  for (LiveJob* job : action.jobs) {
    if (job->phase() != v1::QUEUED) Requeue(*job, "workers_busy", t);
  }
  Enqueue(action, t);
}

void Scheduler::CompleteTimedOut(Action& action, v1::Failure failure, Transaction& t) {
  KeepLog(action, &failure, t);
  EndAttempt(action, &failure, false);
  ReleaseLane(action, t);
  FinishCancelled(action, t);
  const auto jobs = action.jobs;
  for (LiveJob* job : jobs) {
    // A job that joined late may be entitled to more time than the lease had.
    if (action.record.kind() != v1::ACTION_KIND_FREEZE &&
        job->record.run_limit_ms() > action.run_limit_ms) {
      Requeue(*job, "workers_busy", t);
      continue;
    }
    Detach(*job);
    Fail(*job, v1::TIMED_OUT, failure, t);
  }
  v1::FreezeResponse refusal;
  *refusal.mutable_refusal() = failure;
  for (const auto& waiter : action.waiters) {
    t.effects.push_back([waiter, refusal](const absl::Status&) { waiter->done(refusal); });
    waiter->action = nullptr;
  }
  action.waiters.clear();
  if (action.jobs.empty()) {
    WriteAction(action, t);
    return Erase(action, t);
  }
  action.record.clear_attempts();
  Enqueue(action, t);
}

}  // namespace helx::server
