// The way of a job: from one action to the next, its end, who watches it.
#include <utility>

#include "core/base/sha256.h"
#include "helx/v1/results.pb.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/placement.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {

// Takes the job as far as it gets: to the action that it must wait for, or to its end.
void Scheduler::Advance(LiveJob& job, Transaction& t) {
  records::JobRecord& record = job.record;
  if (!record.job().selector().empty() && RefuseSelector(job, t)) return;
  if (!record.job().has_frozen_request() && !AdvanceFreeze(job, t)) return;
  if (RunsBundle(record.job().kind())) return AdvanceBundle(job, t);
  const bool runs = record.job().kind() == v1::JOB_KIND_RUN && !record.run_key().empty();
  // A health check is about the device that runs it, so its run is nobody else's.
  const std::string run_key =
      "run:" + (job.is_check()
                    ? Sha256Hex(std::string_view(record.run_key() + "\n" + record.device()))
                    : record.run_key());
  const std::string build_key = "build:" + record.build_key();
  if (runs && !record.no_cache() && !job.is_check()) {
    if (const auto hit = cache_.Find(job.instance, run_key)) {
      observer_->CacheHit(v1::ACTION_KIND_RUN);
      return Succeed(job, *hit, true, t);
    }
  }
  if (!record.has_build_bundle()) {
    const auto hit = record.no_cache() ? nullptr : cache_.Find(job.instance, build_key);
    if (hit == nullptr) return Attach(job, v1::ACTION_KIND_BUILD, build_key, t);
    observer_->CacheHit(v1::ACTION_KIND_BUILD);
    *record.mutable_build_bundle() = hit->output().bundle();
    if (!runs) return Succeed(job, *hit, true, t);
  }
  Attach(job, v1::ACTION_KIND_RUN, run_key, t);
}

// From a verified bundle to its run.
void Scheduler::AdvanceBundle(LiveJob& job, Transaction& t) {
  const records::JobRecord& record = job.record;
  if (RefuseBundle(job, t)) return;
  const std::string key = BundleRunKey(job, record.build_key(), record.run_key());
  if (record.job().kind() == v1::JOB_KIND_RUN_BUILD && !record.no_cache()) {
    if (const auto hit = cache_.Find(job.instance, key)) {
      observer_->CacheHit(v1::ACTION_KIND_RUN);
      return Succeed(job, *hit, true, t);
    }
  }
  const auto catalogues = workers_.LiveCatalogues();
  if (Refusal(record.placement(), catalogues).empty()) {
    return Attach(job, v1::ACTION_KIND_RUN, key, t);
  }
  if (catalogues.empty() || InStartup()) return AwaitWorker(job, !catalogues.empty(), t);
  Fail(job, v1::FAILED,
       MakeFailure(v1::INFRA, "executor_unavailable",
                   "the image runs on " + record.placement().platform() + " under " +
                       record.placement().executor() + " " + record.placement().executor_version() +
                       ", which no live worker offers; build the experiment anew for the "
                       "executors that 'targets' lists"),
       t);
}

// Whether a verified bundle is not what this kind of job runs; then the job has ended.
bool Scheduler::RefuseBundle(LiveJob& job, Transaction& t) {
  const records::JobRecord& record = job.record;
  std::string code, message;
  if (record.job().kind() == v1::JOB_KIND_RUN_BUILD && record.bundle_executed()) {
    code = "not_a_build";
    message = "the bundle is a result, which has run already; replay it instead";
  } else if (record.job().kind() == v1::JOB_KIND_REPLAY && !record.bundle_executed()) {
    code = "not_a_result";
    message = "the bundle is a build, which has not run yet; run-build it instead";
  } else if (record.run_key().empty()) {
    code = "build_only";
    message =
        "the experiment of this build says fvp.enabled: false, so it never runs; build it "
        "again with fvp.enabled: true";
  } else {
    return false;
  }
  job.record.mutable_job()->clear_frozen_request();  // a refusal, as by freezing
  Fail(job, v1::FAILED, MakeFailure(v1::USER, code, message), t);
  return true;
}

// An image that this server's workers made stands for its request; any other stands only for
// itself, whatever it says.
std::string Scheduler::BundleRunKey(const LiveJob& job, const std::string& build_key,
                                    const std::string& run_key) const {
  const bool replay = job.record.job().kind() == v1::JOB_KIND_REPLAY;
  const v1::Digest& bundle = job.record.build_bundle();
  const auto made = cache_.Load(job.instance, replay ? "run:" + run_key : "build:" + build_key);
  if (made.ok() && made->output().bundle().hash() == bundle.hash()) return "run:" + run_key;
  return "run:" + Sha256Hex(std::string_view(run_key + "\n" + FromProto(bundle).ToString()));
}

void Scheduler::AwaitWorker(LiveJob& job, bool any_worker, Transaction& t) {
  job.record.clear_action();
  const char* reason = any_worker ? "platform_unavailable" : "no_worker";
  const v1::Job& proto = job.record.job();
  if (proto.phase() != v1::QUEUED || proto.queue_reason() != reason) Requeue(job, reason, t);
}

void Scheduler::Succeed(LiveJob& job, const records::ActionRecord& record, bool cached,
                        Transaction& t) {
  const v1::ActionOutput& output = record.output();
  v1::Job* proto = job.record.mutable_job();
  *proto->mutable_bundle() = output.bundle();
  proto->set_content_digest(output.content_digest());
  proto->set_assessment(output.assessment() == v1::ASSESSMENT_UNSPECIFIED ? v1::NOT_COMPARED
                                                                          : output.assessment());
  proto->set_cached(cached);
  *proto->mutable_issues() = record.issues();

  v1::ResultEntry entry;
  entry.set_experiment(proto->experiment());
  entry.set_run(proto->run());
  entry.set_model_stem(proto->model_stem());
  *entry.mutable_bundle() = output.bundle();
  entry.set_content_digest(output.content_digest());
  entry.set_assessment(proto->assessment());
  SetTimestamp(clock_->WallMicros(), entry.mutable_create_time());
  entry.set_job(proto->name());
  *entry.mutable_issues() = record.issues();
  t.writes.push_back(
      {Family::kIndexResults, InstanceKey(job.instance, job.id), entry.SerializeAsString()});
  t.writes.push_back({Family::kIndexLatest, InstanceKey(job.instance, ResultName(*proto), job.id),
                      output.bundle().SerializeAsString()});
  Finish(job, v1::SUCCEEDED, t);
}

void Scheduler::Fail(LiveJob& job, v1::JobPhase phase, const v1::Failure& failure, Transaction& t) {
  *job.record.mutable_job()->mutable_failure() = failure;
  Finish(job, phase, t);
}

// The last transition. The job leaves memory with the end of the turn.
void Scheduler::Finish(LiveJob& job, v1::JobPhase phase, Transaction& t) {
  if (job.action != nullptr) {
    Action& action = *job.action;
    Detach(job);
    DropIfUnwanted(action, t);
  }
  job.record.clear_action();
  Transition(job, phase, t);
  observer_->JobFinished(job.record.job());
  if (--live_of_[job.owner()] <= 0) live_of_.erase(job.owner());
  if (job.is_check()) HealthCheckEnded(job, t);
  const auto found = jobs_.find(InstanceKey(job.instance, job.id));
  t.ended_jobs.push_back(std::move(found->second));
  jobs_.erase(found);
}

void Scheduler::Requeue(LiveJob& job, const std::string& reason, Transaction& t) {
  if (job.phase() != v1::QUEUED || job.record.job().last_event() == 0) {
    job.queued_since_ms = Now();
  }
  job.record.mutable_job()->set_queue_reason(reason);
  Transition(job, v1::QUEUED, t);
}

void Scheduler::Cancel(const Caller& caller, const std::string& id, JobDone done) {
  Turn turn(this);
  const auto found = jobs_.find(InstanceKey(caller.instance, id));
  if (found == jobs_.end()) {
    // Ended already, or never was: as the store has it, after what is on its way there.
    turn.transaction.effects.push_back(
        [this, done = std::move(done), instance = caller.instance, id](const absl::Status& status) {
          if (!status.ok()) return done(status);
          const auto record = LoadJob(*store_, instance, id);
          if (!record.ok()) return done(record.status());
          done(record->job());
        });
    return;
  }
  LiveJob& job = *found->second;
  if (!caller.is_operator && job.record.job().user() != caller.user) {
    const absl::Status refused =
        absl::PermissionDeniedError("jobs/" + id + " belongs to " + job.record.job().user() +
                                    "; only that user and operators cancel it");
    turn.transaction.effects.push_back(
        [done = std::move(done), refused](const absl::Status&) { done(refused); });
    return;
  }
  if (!job.record.job().cancel_requested()) CancelInTurn(job, turn.transaction);
  FaultPoint("cancel.decided");
  turn.transaction.effects.push_back(
      [done = std::move(done), answer = job.record.job()](const absl::Status& status) {
        if (!status.ok()) return done(status);
        done(answer);
      });
}

// A job that shares its action leaves it; the last one takes the action down and ends when its
// worker has let go.
void Scheduler::CancelInTurn(LiveJob& job, Transaction& t) {
  job.record.mutable_job()->set_cancel_requested(true);
  Action* action = job.action;
  if (action == nullptr || action->state != Action::State::kLeased || action->wanted()) {
    return Finish(job, v1::CANCELLED, t);
  }
  job.cancel_deadline_ms = Now() + options_.cancel_limit_ms;
  Transition(job, v1::CANCELLING, t);
  BeginCancel(*action, t);
}

void Scheduler::FillQueueState(v1::Job* job) const {
  if (job->phase() != v1::QUEUED) return;
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(InstanceKey(job->instance(), job->name().substr(5)));
  if (found == jobs_.end() || found->second->phase() != v1::QUEUED) return;
  const LiveJob& live = *found->second;
  const Action* action = live.action;
  if (action == nullptr) {
    job->set_queue_reason(live.record.job().queue_reason());
  } else if (action->state == Action::State::kBackoff) {
    job->set_queue_reason("retry_backoff");
  } else if (action->state == Action::State::kQueued) {
    job->set_queue_reason(QueueReason(*action));
    job->set_queue_position(static_cast<int32_t>(queue_.Position(*action)));
  }
}

std::string Scheduler::ReadLiveLog(const Caller& caller, const std::string& id, v1::ActionKind kind,
                                   int32_t number, int64_t offset, size_t limit,
                                   int64_t* start) const {
  std::lock_guard lock(mutex_);
  const auto found = jobs_.find(InstanceKey(caller.instance, id));
  if (found == jobs_.end() || found->second->action == nullptr) return "";
  const Action& action = *found->second->action;
  if (action.lane == nullptr || action.record.kind() != kind || action.lane->attempt != number) {
    return "";
  }
  return action.log.Read(offset, limit, start);
}

uint64_t Scheduler::Watch(const Caller& caller, const std::string& id, std::function<void()> wake,
                          bool logs) {
  std::lock_guard lock(mutex_);
  const std::string key = InstanceKey(caller.instance, id);
  watchers_[++watches_] = {key, std::move(wake), logs};
  watchers_of_.emplace(key, watches_);
  return watches_;
}

void Scheduler::Unwatch(uint64_t watch) {
  std::lock_guard lock(mutex_);
  const auto found = watchers_.find(watch);
  if (found == watchers_.end()) return;
  const auto [begin, end] = watchers_of_.equal_range(found->second.job);
  for (auto it = begin; it != end; ++it) {
    if (it->second == watch) {
      watchers_of_.erase(it);
      break;
    }
  }
  watchers_.erase(found);
}

}  // namespace helx::server
