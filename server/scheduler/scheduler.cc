#include "server/scheduler/scheduler.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "server/scheduler/catalogue.h"
#include "server/scheduler/job_rows.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/fault_point.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kMissingType[] = "helx.dev/missing-blobs";
constexpr int64_t kIdReserveMicros = int64_t{3600} * 1'000'000;

int64_t ParseInt(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void SetDerived(v1::Job* job) {
  const v1::JobPhase phase = job->phase();
  job->set_pending(phase == v1::QUEUED);
  job->set_finished(IsTerminal(phase));
  job->set_running(!job->pending() && !job->finished());
  job->set_success(phase == v1::SUCCEEDED);
}

}  // namespace

bool IsTerminal(v1::JobPhase phase) { return phase >= v1::SUCCEEDED; }

v1::Failure MakeFailure(v1::Fault fault, const std::string& code, const std::string& message) {
  v1::Failure out;
  out.set_fault(fault);
  out.set_code(code);
  out.set_message(message.substr(0, kFailureTextBytes));
  return out;
}

absl::Status MissingBlobs::Error(const std::vector<Digest>& digests) {
  absl::Status status =
      FailedPrecondition(std::to_string(digests.size()) + " blobs are missing, the first is " +
                         digests[0].ToString() + "; upload them and ask again");
  std::string payload;
  for (const Digest& digest : digests) payload += digest.ToString() + "\n";
  status.SetPayload(kMissingType, absl::Cord(payload));
  return status;
}

std::vector<Digest> MissingBlobs::Of(const absl::Status& status) {
  std::vector<Digest> out;
  const auto payload = status.GetPayload(kMissingType);
  if (!payload.has_value()) return out;
  const std::string text(*payload);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    auto digest = ParseDigest(std::string_view(text).substr(at, end - at));
    if (digest.ok()) out.push_back(*std::move(digest));
    at = end + 1;
  }
  return out;
}

Scheduler::Scheduler(const SchedulerOptions& options, Store* store, BlobStore* blobs,
                     const Clock* clock, SchedulerObserver* observer)
    : options_(options),
      store_(store),
      blobs_(blobs),
      clock_(clock),
      observer_(observer),
      started_ms_(clock->SteadyMillis()),
      cache_(store, blobs),
      workers_(options.worker_silence_ms),
      pool_(clock),
      queue_([this](const std::string& owner) { return usage_.ScoreOf(owner); }),
      last_sweep_ms_(started_ms_) {}

Scheduler::~Scheduler() = default;

void Scheduler::Commit(Transaction t) {
  if (t.writes.empty() && t.effects.empty() && t.changed.empty()) return;
  store_->Commit(std::move(t.writes), [this, effects = std::move(t.effects),
                                       changed = std::move(t.changed)](const absl::Status& status) {
    for (const auto& effect : effects) effect(status);
    NotifyWatchers(changed);
  });
}

void Scheduler::NotifyWatchers(const std::set<std::string>& changed) {
  std::vector<std::function<void()>> wakes;
  {
    std::lock_guard lock(mutex_);
    for (const std::string& job : changed) {
      const auto [begin, end] = watchers_of_.equal_range(job);
      for (auto it = begin; it != end; ++it) wakes.push_back(watchers_.at(it->second).wake);
    }
  }
  for (const auto& wake : wakes) wake();
}

// Records a change of a job as its next event: the job as it was becomes an event row, the job as
// it is the job row.
void Scheduler::Transition(LiveJob& live, v1::JobPhase phase, Transaction& t) {
  v1::Job* job = live.record.mutable_job();
  const v1::JobPhase from = job->phase();
  const int64_t now = clock_->WallMicros();
  const bool is_new = job->last_event() == 0;
  // QUEUED is entered by Requeue, which sets what belongs to it; everything else is not waiting.
  if (phase != v1::QUEUED) {
    if (from == v1::QUEUED && !is_new) {
      live.record.set_queued_ms(live.record.queued_ms() + Now() - live.queued_since_ms);
    }
    job->clear_queue_reason();
  }
  const double seconds_in_from =
      is_new ? 0 : static_cast<double>(now - MicrosOf(job->update_time())) / 1e6;
  job->set_phase(phase);
  job->set_last_event(job->last_event() + 1);
  SetTimestamp(now, job->mutable_update_time());
  if (IsTerminal(phase)) SetTimestamp(now, job->mutable_end_time());
  SetDerived(job);
  observer_->PhaseChanged(is_new ? v1::JOB_PHASE_UNSPECIFIED : from, phase, seconds_in_from);

  const std::string live_key = InstanceKey(live.instance, live.id);
  if (is_new) {
    t.writes.push_back(
        {Family::kIndexNames, InstanceKey(live.instance, job->experiment(), live.id), ""});
    if (!IsTerminal(phase)) t.writes.push_back({Family::kIndexLive, live_key, ""});
  } else {
    if (IsTerminal(phase)) t.writes.push_back({Family::kIndexLive, live_key, std::nullopt});
    t.writes.push_back(
        {Family::kJobs,
         JobEventKey(live.instance, live.id, static_cast<uint64_t>(job->last_event() - 1)),
         live.last_event_bytes});
  }
  live.last_event_bytes = job->SerializeAsString();
  t.writes.push_back(
      {Family::kJobs, JobKey(live.instance, live.id), live.record.SerializeAsString()});
  t.changed.insert(live_key);
}

void Scheduler::WriteAction(const Action& action, Transaction& t) {
  const std::string key = action.record.key();
  t.writes.push_back(
      {Family::kActions, InstanceKey(action.instance, key), action.record.SerializeAsString()});
  const uint64_t ticket = cache_.Wrote(action.instance, action.record);
  t.effects.push_back([this, instance = action.instance, key, ticket](const absl::Status& status) {
    if (!status.ok()) return;  // the store still tries; until then the record answers from memory
    std::lock_guard lock(mutex_);
    cache_.Settle(instance, key, ticket);
  });
}

std::string Scheduler::NewJobId(Transaction& t) {
  last_id_ = std::max(clock_->WallMicros(), last_id_ + 1);
  if (last_id_ > id_ceiling_) {
    // Persisted ahead, so that ids ascend over restarts whatever the wall clock does.
    id_ceiling_ = last_id_ + kIdReserveMicros;
    t.writes.push_back({Family::kDefault, kIdCeilingKey, std::to_string(id_ceiling_)});
  }
  char id[32];
  std::snprintf(id, sizeof(id), "%014llx", static_cast<unsigned long long>(last_id_));
  return id;
}

absl::Status Scheduler::Recover() {
  Turn turn(this);
  const auto ceiling = store_->Get(Family::kDefault, kIdCeilingKey);
  if (ceiling.ok()) last_id_ = id_ceiling_ = ParseInt(*ceiling);
  const auto catalogue = store_->Get(Family::kDefault, kCatalogueKey);
  catalogue_digest_ = catalogue.ok() ? *catalogue : CatalogueDigest({});
  HELX_RETURN_IF_ERROR(pool_.Load(*store_));
  HELX_RETURN_IF_ERROR(usage_.Load(*store_));
  HELX_RETURN_IF_ERROR(LoadJobs(turn.transaction));
  HELX_RETURN_IF_ERROR(LoadLeases(turn.transaction));
  ResumeActions(turn.transaction);
  FaultPoint("start.recovered");
  return absl::OkStatus();
}

absl::Status Scheduler::LoadJobs(Transaction& t) {
  std::vector<std::pair<std::string, std::string>> live;
  HELX_RETURN_IF_ERROR(
      store_->Scan(Family::kIndexLive, {}, [&](std::string_view key, std::string_view) {
        live.emplace_back(FirstPart(key), LastPart(key));
        return true;
      }));
  for (const auto& [instance, id] : live) {
    HELX_ASSIGN_OR_RETURN(records::JobRecord record, LoadJob(*store_, instance, id));
    auto job = std::make_unique<LiveJob>();
    job->id = id;
    job->instance = instance;
    job->record = std::move(record);
    job->last_event_bytes = job->record.job().SerializeAsString();
    job->queued_since_ms = Now();
    job->cancel_deadline_ms = Now() + options_.cancel_limit_ms;
    LiveJob& held = *job;
    ++live_of_[held.owner()];
    if (PoolDevice* device = held.is_check() ? pool_.Find(held.record.device()) : nullptr) {
      device->check_job = id;
    }
    observer_->PhaseChanged(v1::JOB_PHASE_UNSPECIFIED, held.phase(), 0);
    jobs_[InstanceKey(instance, id)] = std::move(job);
    if (held.record.action().empty()) continue;
    auto action = GetAction(instance, held.record.action(), v1::ACTION_KIND_UNSPECIFIED);
    if (!action.ok()) {
      Fail(held, v1::FAILED, MakeFailure(v1::INFRA, "store_damaged", MessageOf(action.status())),
           t);
      continue;
    }
    held.action = *action;
    if ((*action)->owner.empty()) (*action)->owner = held.owner();
    (*action)->jobs.insert(&held);
    (*action)->priority = std::max((*action)->priority, held.record.priority());
  }
  return absl::OkStatus();
}

absl::Status Scheduler::LoadLeases(Transaction& t) {
  return store_->Scan(Family::kLeases, {}, [&](std::string_view key, std::string_view value) {
    if (key.rfind("lease:", 0) == 0) return true;  // a person's
    records::LeaseRecord lease;
    const bool parsed = lease.ParseFromString(std::string(value));
    const auto found = actions_.find(InstanceKey(lease.instance(), lease.action()));
    if (!parsed || found == actions_.end() ||
        found->second->record.last_attempt() != lease.attempt()) {
      // Nobody waits for it any more; a worker that still runs it will be told to stop.
      t.writes.push_back({Family::kLeases, std::string(key), std::nullopt});
      return true;
    }
    Action& action = *found->second;
    WorkerState& worker = workers_.Get(lease.worker());
    worker.session = lease.session();
    LaneState& lane = worker.lane(lease.lane());
    lane.action = &action;
    lane.attempt = lease.attempt();
    lane.lease_session = lease.session();
    lane.lease_deadline_ms = Now() + options_.worker_silence_ms;
    action.lane = &lane;
    action.state = Action::State::kLeased;
    action.started_ms = Now();
    action.run_limit_ms = lease.run_limit_ms();
    action.cancelling = !action.wanted();
    // Its worker may take a while to find this server again.
    action.kill_deadline_ms = Now() + options_.startup_grace_ms + options_.cancel_limit_ms;
    if (lane.kind == v1::LANE_DEVICE) ++running_of_[action.owner];
    action.recovered = true;
    action.phase = (*action.jobs.begin())->phase();
    return true;
  });
}

// After a restart: whatever no lease holds waits again; jobs without an action look for one.
void Scheduler::ResumeActions(Transaction& t) {
  std::vector<Action*> idle;
  for (auto& [key, action] : actions_) {
    if (action->state != Action::State::kLeased) idle.push_back(action.get());
  }
  for (Action* action : idle) {
    // A lease that ended without a word left its attempt open.
    EndAttempt(*action, nullptr, true);
    FinishCancelled(*action, t);
    if (!action->wanted()) {
      Erase(*action, t);
      continue;
    }
    for (LiveJob* job : action->jobs) {
      if (job->phase() != v1::QUEUED) Requeue(*job, "no_worker", t);
    }
    queue_.Push(action);
  }
  std::vector<LiveJob*> waiting;
  for (auto& [key, job] : jobs_) {
    if (job->action == nullptr) waiting.push_back(job.get());
  }
  for (LiveJob* job : waiting) Advance(*job, t);
}

void Scheduler::Stop() {
  Turn turn(this);
  stopped_ = true;
  const absl::Status why = absl::UnavailableError("the server is shutting down");
  workers_.ForEachLane([&](LaneState& lane) { Answer(lane, why, turn.transaction); });
  std::vector<std::shared_ptr<FreezeWaiter>> waiters(waiting_.begin(), waiting_.end());
  waiting_.clear();
  for (auto& [key, action] : actions_) {
    waiters.insert(waiters.end(), action->waiters.begin(), action->waiters.end());
    action->waiters.clear();
  }
  for (const auto& waiter : waiters) {
    turn.transaction.effects.push_back([waiter, why](const absl::Status&) { waiter->done(why); });
  }
  for (const auto& [id, watcher] : watchers_) {
    turn.transaction.effects.push_back([wake = watcher.wake](const absl::Status&) { wake(); });
  }
}

void Scheduler::FillCapabilities(v1::ServerCapabilities* out) const {
  std::lock_guard lock(mutex_);
  MergeCatalogues(workers_.LiveCatalogues(), out);
}

int Scheduler::live_workers() const {
  std::lock_guard lock(mutex_);
  return workers_.live_count();
}

std::map<std::string, double> Scheduler::WorkersLastSeen() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, double> out;
  workers_.ForEach([&](const WorkerState& worker) {
    out[worker.name] = static_cast<double>(Now() - worker.last_seen_ms) / 1e3;
  });
  return out;
}

int64_t Scheduler::live_jobs() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(jobs_.size());
}

double Scheduler::OldestQueuedSeconds() const {
  std::lock_guard lock(mutex_);
  int64_t oldest = 0;
  for (const auto& [key, job] : jobs_) {
    if (job->phase() == v1::QUEUED) oldest = std::max(oldest, Now() - job->queued_since_ms);
  }
  return static_cast<double>(oldest) / 1e3;
}

}  // namespace helx::server
