// The domain of helxd: jobs, the actions that they share, the workers that run them. Knows nothing
// of gRPC.
//
// Life of a job: Submit → (freeze action) → (build action) → (run action) → a terminal phase. Each
// action is one key; jobs that need the same key while it is in flight share it, and a key that was
// run before is answered from the cache. Every transition is one batch of the store; what a caller
// is told, it is told after that batch is on disk.
//
// Example:
//   Scheduler scheduler(options, &store, &blobs, &clock, &observer);
//   CHECK(scheduler.Recover().ok());
//   scheduler.Submit(caller, request, [](absl::StatusOr<v1::Job> job) { ... });
//   every 100 ms: scheduler.Tick();
#ifndef HELX_SERVER_SCHEDULER_SCHEDULER_H_
#define HELX_SERVER_SCHEDULER_SCHEDULER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/status.h"
#include "helx/v1/capabilities.pb.h"
#include "helx/v1/experiments.pb.h"
#include "helx/v1/jobs.pb.h"
#include "helx/v1/pool.pb.h"
#include "helx/v1/worker.pb.h"
#include "server/scheduler/action.h"
#include "server/scheduler/action_queue.h"
#include "server/scheduler/clock.h"
#include "server/scheduler/device_pool.h"
#include "server/scheduler/observer.h"
#include "server/scheduler/records.pb.h"
#include "server/scheduler/references.h"
#include "server/scheduler/result_cache.h"
#include "server/scheduler/usage.h"
#include "server/scheduler/worker_registry.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

struct SchedulerOptions {
  int64_t startup_grace_ms = 10'000;   // before a platform that nobody advertises is refused
  int64_t worker_silence_ms = 60'000;  // then a worker is dead and its leases are lost
  int64_t synchronize_hold_ms = 20'000;
  int64_t queue_limit_ms = 24 * 3600 * 1000;  // default of a job
  int64_t run_limit_ms = 600'000;             // default and most of a job
  int64_t freeze_limit_ms = 120'000;
  int64_t limit_slack_ms = 5'000;    // the worker enforces a limit; the server does when it did not
  // Then a job is CANCELLED whatever its worker does, and the device that did not let go of it is
  // quarantined.
  int64_t cancel_limit_ms = 5'000;
  int64_t retry_backoff_ms = 1'000;  // doubles with each attempt
  int attempts = 3;
  int64_t idempotency_ms = 7ll * 24 * 3600 * 1000;
  int64_t quota_bytes = 0;                      // of an instance's blobs; 0: no limit
  std::map<std::string, int64_t> quotas_bytes;  // by instance, in place of quota_bytes
  int64_t user_jobs = 0;     // unfinished jobs of one user; 0: no limit
  int64_t user_devices = 0;  // devices that run jobs of one user at once; 0: no limit
  int64_t health_check_interval_ms = 24ll * 3600 * 1000;
  int64_t health_check_retry_ms = 60'000;  // after one that said nothing of the device
};

// Who calls. Without TLS everyone is this.
struct Caller {
  std::string instance = "default";
  std::string user = "local";
  bool is_operator = true;  // may act on what other users of the instance own
};

// Blobs that a request names and the store lacks.
class MissingBlobs {
 public:
  // FAILED_PRECONDITION that carries the digests; `Of` reads them back (empty for any other
  // status).
  static absl::Status Error(const std::vector<Digest>& digests);
  static std::vector<Digest> Of(const absl::Status& status);
};

// Thread-safe. Callbacks run on the store's committer thread, or on the calling thread when the
// call is refused.
class Scheduler {
 public:
  using JobDone = std::function<void(absl::StatusOr<v1::Job>)>;
  using StatusDone = std::function<void(absl::Status)>;

  // The pointees outlive the scheduler. REQUIRES: at destruction the store has no callback of this
  // scheduler left (Stop, then a barrier commit).
  Scheduler(const SchedulerOptions& options, Store* store, BlobStore* blobs, const Clock* clock,
            SchedulerObserver* observer);
  ~Scheduler();

  // Takes up the jobs, actions and leases that the store holds. Call once, before anything else.
  absl::Status Recover();
  // Answers whatever is held open with UNAVAILABLE; later calls are refused with it.
  void Stop();
  // Moves time on: limits, leases, back-off, held calls. To be called a few times a second.
  void Tick();

  // Jobs (scheduler_submit.cc, scheduler_jobs.cc).
  void Submit(const Caller& caller, const v1::SubmitJobRequest& request, JobDone done);
  void Cancel(const Caller& caller, const std::string& id, JobDone done);
  // Fills the fields of a QUEUED job that change without an event: queue_reason, queue_position.
  void FillQueueState(v1::Job* job) const;
  // The subject of an earlier job of the instance once more, as the caller's own job.
  void Resubmit(const Caller& caller, const v1::ResubmitJobRequest& request, JobDone done);
  // `wake` is called after each committed change of the job (with `logs` also when it printed
  // something), until Unwatch.
  uint64_t Watch(const Caller& caller, const std::string& id, std::function<void()> wake,
                 bool logs = false);
  // What a running attempt of the job printed, as LogBuffer::Read; empty when it does not run here.
  std::string ReadLiveLog(const Caller& caller, const std::string& id, v1::ActionKind kind,
                          int32_t number, int64_t offset, size_t limit, int64_t* start) const;
  void Unwatch(uint64_t watch);

  // Freezes one document, sharing the action with jobs that need it. The answer holds a refusal or
  // a frozen request.
  std::shared_ptr<FreezeWaiter> Freeze(
      const Caller& caller, const std::string& document,
      std::function<void(absl::StatusOr<v1::FreezeResponse>)> done);
  void AbandonFreeze(const std::shared_ptr<FreezeWaiter>& waiter);

  // Workers (scheduler_workers.cc).
  void Synchronize(const v1::SynchronizeRequest& request, SynchronizeDone done);
  absl::Status Report(const v1::ReportRequest& request);
  void Complete(const v1::CompleteRequest& request, StatusDone done);
  // Whether a worker (empty: any) holds a lease of an action of this instance: only so long does it
  // touch the instance's blobs.
  bool HoldsLease(const std::string& worker, const std::string& instance);

  // The pool (scheduler_pool.cc). Answers come once what was changed is on disk.
  using DeviceDone = std::function<void(absl::StatusOr<v1::Device>)>;
  using LeaseDone = std::function<void(absl::StatusOr<v1::DeviceLease>)>;
  absl::StatusOr<v1::ListDevicesResponse> ListDevices(const Caller& caller,
                                                      const v1::ListDevicesRequest& request);
  void SetHealth(const Caller& caller, const v1::SetHealthRequest& request, DeviceDone done);
  void Drain(const Caller& caller, const v1::DrainRequest& request, DeviceDone done);
  void SetHealthCheck(const Caller& caller, const v1::SetHealthCheckRequest& request,
                      std::function<void(absl::StatusOr<v1::HealthCheck>)> done);
  // How many devices are in each state (v1::DeviceState) and health (v1::DeviceHealth).
  using DeviceCounts = std::array<std::array<int, v1::DeviceHealth_ARRAYSIZE>,
                                  v1::DeviceState_ARRAYSIZE>;
  DeviceCounts CountDevices();
  v1::ListLeasesResponse ListLeases(const Caller& caller);
  void AcquireLease(const Caller& caller, const v1::AcquireLeaseRequest& request, LeaseDone done);
  void ExtendLease(const Caller& caller, const v1::ExtendLeaseRequest& request, LeaseDone done);
  void ReleaseLease(const Caller& caller, const v1::ReleaseLeaseRequest& request, StatusDone done);

  // Bytes that the instance's blobs may take; 0: no limit.
  int64_t QuotaOf(const std::string& instance) const;
  // RESOURCE_EXHAUSTED when so many more bytes, or none at all, fit into the instance's quota.
  // Outputs of actions are let in without this question.
  absl::Status CheckQuota(const std::string& instance, int64_t more_bytes) const;

  // The care of the store (scheduler_store.cc).
  // The blobs that jobs, actions and calls in flight refer to, and health checks.
  ReferencesByInstance LiveReferences() const;
  // Drops those of these cached actions, and rows of bundles, whose output is not stored any more and
  // that are not in flight.
  void ForgetActions(const std::string& instance, const std::vector<std::string>& keys);
  void ForgetBundles(const std::string& instance, const std::vector<Digest>& bundles);

  // Engines, targets, live workers and the catalogue digest.
  void FillCapabilities(v1::ServerCapabilities* out) const;
  bool stopped() const { return stopped_; }
  int live_workers() const;
  // Seconds since each worker that ever spoke to this process was last heard of, by name.
  std::map<std::string, double> WorkersLastSeen() const;
  int64_t live_jobs() const;
  // Seconds since the oldest queued job began to wait; 0 when none waits.
  double OldestQueuedSeconds() const;

 private:
  // One batch, and what is to be said once it is on disk.
  struct Transaction {
    Writes writes;
    std::vector<std::function<void(const absl::Status&)>> effects;
    std::set<std::string> changed;  // InstanceKey(instance, id) of jobs
    // What has ended in this turn; kept until its end, since the functions above still refer to it.
    std::vector<std::unique_ptr<LiveJob>> ended_jobs;
    std::vector<std::unique_ptr<Action>> ended_actions;
  };
  // Holds the mutex for one public call and commits its transaction at the end, so that batches
  // enter the store in the order in which they were decided.
  class Turn;
  friend class Turn;
  struct Watcher {
    std::string job;
    std::function<void()> wake;
    bool logs = false;
  };

  // scheduler.cc: rows and commits.
  void Commit(Transaction transaction);
  void NotifyWatchers(const std::set<std::string>& changed);
  void Transition(LiveJob& job, v1::JobPhase phase, Transaction& t);
  void WriteAction(const Action& action, Transaction& t);
  std::string NewJobId(Transaction& t);
  absl::Status LoadJobs(Transaction& t);
  absl::Status LoadLeases(Transaction& t);
  void ResumeActions(Transaction& t);
  int64_t Now() const { return clock_->SteadyMillis(); }

  // scheduler_submit.cc, scheduler_freeze.cc, scheduler_jobs.cc: the way of a job.
  absl::Status SubmitInTurn(const Caller& caller, const v1::SubmitJobRequest& request,
                            const JobDone& done, Transaction& t);
  absl::StatusOr<bool> AnswerRepeated(const std::string& row, const std::string& body,
                                      const Caller& caller, const JobDone& done, Transaction& t);
  absl::StatusOr<v1::SubmitJobRequest> RequestOf(const Caller& caller,
                                                 const v1::ResubmitJobRequest& request) const;
  absl::Status TakeSubject(const v1::SubmitJobRequest& request, LiveJob& job, Transaction& t);
  absl::Status TakeDocument(const std::string& instance, const std::string& document,
                            v1::Digest* digest, records::Placement* placement, Transaction& t);
  absl::Status TakeBundle(const v1::Digest& bundle, LiveJob& job);
  void Advance(LiveJob& job, Transaction& t);
  bool AdvanceFreeze(LiveJob& job, Transaction& t);
  void AdvanceBundle(LiveJob& job, Transaction& t);
  bool RefuseBundle(LiveJob& job, Transaction& t);
  std::string BundleRunKey(const LiveJob& job, const std::string& build_key,
                           const std::string& run_key) const;
  // Queued without an action until some worker offers what the job needs.
  void AwaitWorker(LiveJob& job, bool any_worker, Transaction& t);
  void AdvanceWaiter(const std::shared_ptr<FreezeWaiter>& waiter, Transaction& t);
  void TakeFrozen(LiveJob& job, const records::ActionRecord& record);
  void Succeed(LiveJob& job, const records::ActionRecord& record, bool cached, Transaction& t);
  void Fail(LiveJob& job, v1::JobPhase phase, const v1::Failure& failure, Transaction& t);
  void Finish(LiveJob& job, v1::JobPhase phase, Transaction& t);
  void CancelInTurn(LiveJob& job, Transaction& t);
  void Requeue(LiveJob& job, const std::string& reason, Transaction& t);
  std::string FreezeKey(const v1::Digest& document) const;
  void AnswerFreeze(FreezeWaiter& waiter, const records::ActionRecord& record, Transaction& t);
  bool InStartup() const { return Now() - started_ms_ < options_.startup_grace_ms; }

  // scheduler_actions.cc, scheduler_attempts.cc: actions, leases, attempts.
  absl::StatusOr<Action*> GetAction(const std::string& instance, const std::string& key,
                                    v1::ActionKind kind);
  void Attach(LiveJob& job, v1::ActionKind kind, const std::string& key, Transaction& t);
  void Detach(LiveJob& job);
  bool IsStoredWhole(const LiveJob& job, const records::ActionRecord& frozen);
  void Unfreeze(LiveJob& job);
  void Enqueue(Action& action, Transaction& t);
  void DropIfUnwanted(Action& action, Transaction& t);
  std::string QueueReason(const Action& action) const;
  // Why the device of that worker, which could run it, does not; empty when it may.
  std::string WhyNot(const Action& action, const WorkerState& worker) const;
  void BeginCancel(Action& action, Transaction& t);
  void Quarantine(Action& action, Transaction& t);
  void PlaceOnDevices(LiveJob& job, Action& action, bool fresh);
  bool MayTake(const Action& action, const WorkerState& worker) const;
  void DispatchAction(Action& action, Transaction& t);
  void DispatchLane(LaneState& lane, Transaction& t);
  void Lease(Action& action, LaneState& lane, Transaction& t);
  void SendExecute(LaneState& lane, bool with_subject, Transaction& t);
  absl::Status ReadSubject(const std::string& instance, const records::ActionRecord& record,
                           v1::ExecuteAction* out) const;
  void FailUnreadable(const std::string& instance, const std::string& key, int32_t attempt,
                      const absl::Status& why);
  void ReleaseLane(Action& action, Transaction& t);
  void EndAttempt(Action& action, const v1::Failure* failure, bool lost);
  void LoseLease(LaneState& lane, const std::string& why, Transaction& t);
  void CompleteWithOutput(Action& action, const v1::ActionOutput& output,
                          const records::Placement& frozen_placement, Transaction& t);
  void CompleteWithFailure(Action& action, v1::Failure failure, bool lost, Transaction& t);
  void CompleteCancelled(Action& action, Transaction& t);
  void CompleteTimedOut(Action& action, v1::Failure failure, Transaction& t);
  void FinishCancelled(Action& action, Transaction& t);
  void WriteOutputRows(Action& action, const v1::ActionOutput* previous, Transaction& t);
  void KeepLog(Action& action, v1::Failure* failure, Transaction& t);
  void Erase(Action& action, Transaction& t);

  // scheduler_pool.cc
  void TickPool(Transaction& t);
  void StartHealthCheck(PoolDevice& device, Transaction& t);
  void HealthCheckEnded(const LiveJob& job, Transaction& t);
  void OfferDevice(const PoolDevice& device, Transaction& t);
  bool IsOnline(const PoolDevice& device) const;
  bool IsReady(const PoolDevice& device) const;
  v1::DeviceLease LeaseFor(const Caller& caller, const PoolDevice& device) const;
  v1::Device DeviceFor(const Caller& caller, const PoolDevice& device) const;
  absl::StatusOr<PoolDevice*> FindDevice(const std::string& name);
  absl::StatusOr<PoolDevice*> FindHeld(const Caller& caller, const std::string& name,
                                       const std::string& id);
  absl::StatusOr<PoolDevice*> ChooseDevice(const Caller& caller,
                                           const v1::AcquireLeaseRequest& request);
  bool RefuseSelector(LiveJob& job, Transaction& t);

  // scheduler_workers.cc
  void SynchronizeInTurn(const v1::SynchronizeRequest& request, LaneState& lane,
                         SynchronizeDone done, Transaction& t);
  void Answer(LaneState& lane, absl::StatusOr<v1::SynchronizeResponse> response, Transaction& t);
  void AnswerParked(LaneState& lane, Transaction& t);
  absl::StatusOr<LaneState*> CheckLease(const std::string& worker, const std::string& session,
                                        const v1::Lease& lease);
  absl::Status ReportInTurn(const v1::ReportRequest& request, Transaction& t,
                            std::vector<std::function<void()>>* wakes);
  absl::Status CompleteInTurn(const v1::CompleteRequest& request, Transaction& t);
  absl::StatusOr<records::Placement> CheckOutput(const Action& action, const WorkerState& worker,
                                                 const v1::ActionOutput& output) const;
  bool WasRecorded(const v1::CompleteRequest& request) const;
  void CatalogueChanged(Transaction& t);

  // scheduler_time.cc
  void TickJobs(int64_t now, Transaction& t);
  void RefuseOutdated(Transaction& t);
  void TickLanes(int64_t now, Transaction& t);
  void TickActions(int64_t now, Transaction& t);
  void ExpireIdempotency();

  const SchedulerOptions options_;
  Store* const store_;
  BlobStore* const blobs_;
  const Clock* const clock_;
  SchedulerObserver* const observer_;
  const int64_t started_ms_;

  mutable std::mutex mutex_;
  std::atomic<bool> stopped_{false};
  int64_t last_id_ = 0;     // ids are microseconds, made unique and ascending
  int64_t id_ceiling_ = 0;  // no id above it has been given out; on disk
  uint64_t arrivals_ = 0;
  ResultCache cache_;
  WorkerRegistry workers_;
  DevicePool pool_;
  Usage usage_;
  std::map<std::string, int64_t> live_of_;     // owner → unfinished jobs
  std::map<std::string, int64_t> running_of_;  // owner → device leases
  ActionQueue queue_;
  std::unordered_map<std::string, std::unique_ptr<LiveJob>> jobs_;  // by InstanceKey(instance, id)
  std::unordered_map<std::string, std::unique_ptr<Action>>
      actions_;  // by InstanceKey(instance, key)
  std::map<std::string, std::pair<std::string, std::string>>
      idempotency_;  // not yet on disk: row → (body, job id)
  std::map<uint64_t, Watcher> watchers_;
  std::multimap<std::string, uint64_t> watchers_of_;  // job → watcher
  uint64_t watches_ = 0;
  std::set<std::shared_ptr<FreezeWaiter>> waiting_;  // for a worker to appear
  std::string catalogue_digest_;  // of the live workers, or of the last that lived; on disk
  int64_t last_sweep_ms_ = 0;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_SCHEDULER_H_
