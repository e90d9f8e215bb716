// The pool: what operators and people do with devices, and the health checks.
#include <algorithm>
#include <utility>

#include "server/scheduler/job_document.h"
#include "server/scheduler/names.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/selector.h"
#include "server/scheduler/timestamps.h"
#include "server/scheduler/turn.h"
#include "server/store/keys.h"

namespace helx::server {
namespace {

constexpr char kCheckUser[] = "health-check";
constexpr char kCheckExperiment[] = "health-check";
constexpr int32_t kCheckPriority = 1'000'000;  // above what anybody may ask for
constexpr int64_t kCheckQueueLimitMs = 600'000;
constexpr int64_t kLeaseDefaultMs = 3600 * 1000;
constexpr int64_t kLeaseMostMs = int64_t{24} * 3600 * 1000;
constexpr size_t kTextBytes = 256;

absl::StatusOr<int64_t> LeaseMillis(bool given, const google::protobuf::Duration& ttl) {
  if (!given) return kLeaseDefaultMs;
  // Before the multiplication, which a stranger's number could overflow.
  if (ttl.seconds() < 1 || ttl.seconds() > kLeaseMostMs / 1000) {
    return InvalidArgument("ttl is " + std::to_string(ttl.seconds()) +
                           " s; allowed are 1 to 86400 s");
  }
  return ttl.seconds() * 1000;
}

}  // namespace

absl::StatusOr<PoolDevice*> Scheduler::FindDevice(const std::string& name) {
  HELX_RETURN_IF_ERROR(CheckToken("device", name));
  if (PoolDevice* device = pool_.Find(name); device != nullptr) return device;
  return NotFound("there is no device " + Quoted(name) + "; 'helxctl devices' lists them");
}

bool Scheduler::IsOnline(const PoolDevice& device) const {
  bool online = false;
  workers_.ForEachLive(
      [&](const WorkerState& worker) { online = online || worker.name == device.name(); });
  return online;
}

// Whether nothing of anybody but the lease's holder runs on the device.
bool Scheduler::IsReady(const PoolDevice& device) const {
  if (!device.lease.has_value()) return false;
  const v1::DeviceLease& lease = device.lease->lease();
  for (const auto& [key, action] : actions_) {
    if (action->lane == nullptr || action->lane->kind != v1::LANE_DEVICE ||
        action->lane->worker->name != device.name()) {
      continue;
    }
    return std::any_of(action->jobs.begin(), action->jobs.end(), [&](const LiveJob* job) {
      return job->instance == lease.instance() && job->record.job().user() == lease.user();
    });
  }
  return true;
}

v1::DeviceLease Scheduler::LeaseFor(const Caller& caller, const PoolDevice& device) const {
  v1::DeviceLease lease = device.lease->lease();
  lease.set_ready(IsReady(device));
  if (lease.instance() != caller.instance) {
    for (std::string* hidden : {lease.mutable_id(), lease.mutable_instance(),
                                lease.mutable_user(), lease.mutable_purpose()}) {
      hidden->clear();
    }
  }
  return lease;
}

v1::Device Scheduler::DeviceFor(const Caller& caller, const PoolDevice& device) const {
  const records::DeviceRecord& record = device.record;
  v1::Device out;
  out.set_name(record.name());
  out.set_health(record.health());
  out.set_health_code(record.health_code());
  out.set_health_reason(record.health_reason());
  SetTimestamp(record.health_us(), out.mutable_health_time());
  if (record.check_us() > 0) SetTimestamp(record.check_us(), out.mutable_check_time());
  out.set_online(IsOnline(device));
  out.set_draining(record.draining());
  *out.mutable_labels() = record.labels();
  *out.mutable_platforms() = record.platforms();
  const bool running = std::any_of(actions_.begin(), actions_.end(), [&](const auto& entry) {
    const LaneState* lane = entry.second->lane;
    return lane != nullptr && lane->kind == v1::LANE_DEVICE && lane->worker->name == record.name();
  });
  out.set_state(running                    ? v1::STATE_RUNNING
                : device.lease.has_value() ? v1::STATE_RESERVED
                                           : v1::STATE_IDLE);
  if (device.lease.has_value()) *out.mutable_lease() = LeaseFor(caller, device);
  return out;
}

absl::StatusOr<v1::ListDevicesResponse> Scheduler::ListDevices(
    const Caller& caller, const v1::ListDevicesRequest& request) {
  HELX_ASSIGN_OR_RETURN(const Selector selector, Selector::Parse(request.selector()));
  std::lock_guard lock(mutex_);
  v1::ListDevicesResponse response;
  pool_.ForEach([&](PoolDevice& device) {
    if (device.health() == v1::HEALTH_RETIRED && !request.with_retired()) return;
    if (!selector.Matches(device.record.labels())) return;
    *response.add_devices() = DeviceFor(caller, device);
  });
  return response;
}

void Scheduler::SetHealth(const Caller& caller, const v1::SetHealthRequest& request,
                          DeviceDone done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto decide = [&]() -> absl::StatusOr<v1::Device> {
    HELX_ASSIGN_OR_RETURN(PoolDevice* const device, FindDevice(request.device()));
    HELX_RETURN_IF_ERROR(CheckText("reason", request.reason(), kTextBytes));
    if (request.health() < v1::HEALTH_GOOD || request.health() > v1::HEALTH_RETIRED) {
      return InvalidArgument("health is " + std::to_string(request.health()) +
                             "; allowed are HEALTH_GOOD (1) to HEALTH_RETIRED (6)");
    }
    pool_.SetHealth(*device, request.health(), "operator",
                    request.reason().empty() ? "set by " + caller.user
                                             : caller.user + ": " + request.reason(),
                    t.writes);
    OfferDevice(*device, t);
    return DeviceFor(caller, *device);
  };
  t.effects.push_back([done = std::move(done), answer = decide()](const absl::Status& status) {
    status.ok() ? done(answer) : done(status);
  });
}

void Scheduler::Drain(const Caller& caller, const v1::DrainRequest& request, DeviceDone done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto decide = [&]() -> absl::StatusOr<v1::Device> {
    HELX_ASSIGN_OR_RETURN(PoolDevice* const device, FindDevice(request.device()));
    pool_.SetDraining(*device, !request.undo(), t.writes);
    OfferDevice(*device, t);
    return DeviceFor(caller, *device);
  };
  t.effects.push_back([done = std::move(done), answer = decide()](const absl::Status& status) {
    status.ok() ? done(answer) : done(status);
  });
}

void Scheduler::SetHealthCheck(const Caller& caller, const v1::SetHealthCheckRequest& request,
                               std::function<void(absl::StatusOr<v1::HealthCheck>)> done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto decide = [&]() -> absl::StatusOr<v1::HealthCheck> {
    records::HealthCheckRecord record;
    v1::HealthCheck* check = record.mutable_check();
    check->set_instance(caller.instance);
    if (request.document().empty()) {
      HELX_RETURN_IF_ERROR(CheckName("platform", request.platform()));
      check->set_platform(request.platform());
      pool_.ClearCheck(request.platform(), t.writes);
    } else {
      HELX_ASSIGN_OR_RETURN(const JobDocumentView view, ReadJobDocument(request.document()));
      if (!view.has_references) {
        return InvalidArgument(
            "the document names no references, so a run of it would prove nothing; add "
            "tensor_io.references with the outputs that a good device gives");
      }
      records::Placement placement;
      HELX_RETURN_IF_ERROR(TakeDocument(caller.instance, request.document(),
                                        check->mutable_document(), &placement, t));
      check->set_platform(view.platform);
      record.set_engine(view.engine);
      pool_.SetCheck(record, t.writes);
    }
    pool_.ForEach([&](PoolDevice& device) { OfferDevice(device, t); });
    return *check;
  };
  t.effects.push_back([done = std::move(done), answer = decide()](const absl::Status& status) {
    status.ok() ? done(answer) : done(status);
  });
}

Scheduler::DeviceCounts Scheduler::CountDevices() {
  std::lock_guard lock(mutex_);
  DeviceCounts counts{};
  pool_.ForEach([&](PoolDevice& device) {
    ++counts[DeviceFor(Caller(), device).state()][device.health()];
  });
  return counts;
}

v1::ListLeasesResponse Scheduler::ListLeases(const Caller& caller) {
  std::lock_guard lock(mutex_);
  v1::ListLeasesResponse response;
  pool_.ForEach([&](PoolDevice& device) {
    if (!device.lease.has_value() || device.lease->lease().instance() != caller.instance) return;
    *response.add_leases() = LeaseFor(caller, device);
  });
  return response;
}

// The named device, or the idlest that matches the selector.
absl::StatusOr<PoolDevice*> Scheduler::ChooseDevice(const Caller& caller,
                                                    const v1::AcquireLeaseRequest& request) {
  HELX_ASSIGN_OR_RETURN(const Selector selector, Selector::Parse(request.selector()));
  const auto is_open = [&](const PoolDevice& device) {
    return device.health() == v1::HEALTH_GOOD || device.health() == v1::HEALTH_UNKNOWN ||
           (device.health() == v1::HEALTH_MAINTENANCE && caller.is_operator);
  };
  if (!request.device().empty()) {
    HELX_ASSIGN_OR_RETURN(PoolDevice* const device, FindDevice(request.device()));
    if (is_open(*device)) return device;
    return FailedPrecondition("device " + device->name() + " cannot be leased: its health is " +
                              v1::DeviceHealth_Name(device->health()).substr(7) + " (" +
                              std::string(device->record.health_reason()) + ")");
  }
  PoolDevice* best = nullptr;
  bool best_idle = false;
  bool matches = false;
  pool_.ForEach([&](PoolDevice& device) {
    if (!selector.Matches(device.record.labels()) || device.health() == v1::HEALTH_RETIRED) return;
    matches = true;
    if (!is_open(device) || device.lease.has_value() || !IsOnline(device)) return;
    const bool idle = DeviceFor(caller, device).state() == v1::STATE_IDLE;
    if (best == nullptr || (idle && !best_idle)) {
      best = &device;
      best_idle = idle;
    }
  });
  if (best != nullptr) return best;
  if (matches) {
    return FailedPrecondition("every device that matches " + Quoted(request.selector()) +
                              " is reserved, unhealthy or offline; 'helxctl devices' says which");
  }
  return NotFound("no device matches " + Quoted(request.selector()) +
                  "; 'helxctl devices' lists labels");
}

void Scheduler::AcquireLease(const Caller& caller, const v1::AcquireLeaseRequest& request,
                             LeaseDone done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto decide = [&]() -> absl::StatusOr<v1::DeviceLease> {
    if (stopped_) return absl::UnavailableError("the server is shutting down");
    HELX_RETURN_IF_ERROR(CheckText("purpose", request.purpose(), kTextBytes));
    HELX_ASSIGN_OR_RETURN(const int64_t ttl_ms, LeaseMillis(request.has_ttl(), request.ttl()));
    HELX_ASSIGN_OR_RETURN(PoolDevice* const device, ChooseDevice(caller, request));
    v1::DeviceLease wanted;
    wanted.set_id(NewJobId(t));
    wanted.set_instance(caller.instance);
    wanted.set_user(caller.user);
    wanted.set_purpose(request.purpose());
    HELX_RETURN_IF_ERROR(pool_.Acquire(*device, std::move(wanted), ttl_ms, t.writes).status());
    return LeaseFor(caller, *device);
  };
  t.effects.push_back([done = std::move(done), answer = decide()](const absl::Status& status) {
    status.ok() ? done(answer) : done(status);
  });
}

absl::StatusOr<PoolDevice*> Scheduler::FindHeld(const Caller& caller, const std::string& name,
                                                const std::string& id) {
  HELX_ASSIGN_OR_RETURN(PoolDevice* const device, FindDevice(name));
  HELX_RETURN_IF_ERROR(pool_.CheckHolder(*device, id));
  const v1::DeviceLease& lease = device->lease->lease();
  if (lease.instance() != caller.instance ||
      (lease.user() != caller.user && !caller.is_operator)) {
    return absl::PermissionDeniedError("the lease of device " + device->name() +
                                       " is another user's");
  }
  return device;
}

void Scheduler::ExtendLease(const Caller& caller, const v1::ExtendLeaseRequest& request,
                            LeaseDone done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto decide = [&]() -> absl::StatusOr<v1::DeviceLease> {
    HELX_ASSIGN_OR_RETURN(const int64_t ttl_ms, LeaseMillis(request.has_ttl(), request.ttl()));
    HELX_ASSIGN_OR_RETURN(PoolDevice* const device,
                          FindHeld(caller, request.device(), request.id()));
    HELX_RETURN_IF_ERROR(pool_.Extend(*device, request.id(), ttl_ms, t.writes).status());
    return LeaseFor(caller, *device);
  };
  t.effects.push_back([done = std::move(done), answer = decide()](const absl::Status& status) {
    status.ok() ? done(answer) : done(status);
  });
}

void Scheduler::ReleaseLease(const Caller& caller, const v1::ReleaseLeaseRequest& request,
                             StatusDone done) {
  Turn turn(this);
  Transaction& t = turn.transaction;
  const auto device = FindHeld(caller, request.device(), request.id());
  if (device.ok()) {
    pool_.Release(**device, t.writes);
    OfferDevice(**device, t);
  }
  t.effects.push_back(
      [done = std::move(done), answer = device.status()](const absl::Status& status) {
        done(status.ok() ? answer : status);
      });
}

// Something about the device changed: its idle lane takes what it may now.
void Scheduler::OfferDevice(const PoolDevice& device, Transaction& t) {
  WorkerState* worker = workers_.Find(device.name());
  if (worker == nullptr || !worker->live) return;
  LaneState& lane = worker->lane(v1::LANE_DEVICE);
  if (lane.action == nullptr && lane.parked && !lane.park_executing) DispatchLane(lane, t);
}

void Scheduler::TickPool(Transaction& t) {
  for (const PoolDevice* device : pool_.ExpireLeases(t.writes)) OfferDevice(*device, t);
  std::vector<PoolDevice*> due;
  pool_.ForEach([&](PoolDevice& device) {
    if (pool_.IsCheckDue(device, options_.health_check_interval_ms) && IsOnline(device)) {
      due.push_back(&device);
    }
  });
  for (PoolDevice* device : due) StartHealthCheck(*device, t);
}

void Scheduler::StartHealthCheck(PoolDevice& device, Transaction& t) {
  const records::HealthCheckRecord& check = *pool_.CheckFor(device);
  auto owned = std::make_unique<LiveJob>();
  LiveJob& job = *owned;
  job.id = NewJobId(t);
  job.instance = check.check().instance();
  records::JobRecord& record = job.record;
  *record.mutable_document() = check.check().document();
  record.mutable_placement()->set_engine(check.engine());
  record.mutable_placement()->set_platform(check.check().platform());
  record.set_device(device.name());
  record.set_priority(kCheckPriority);
  record.set_queue_limit_ms(kCheckQueueLimitMs);
  record.set_run_limit_ms(options_.run_limit_ms);
  v1::Job* proto = record.mutable_job();
  proto->set_name("jobs/" + job.id);
  proto->set_instance(job.instance);
  proto->set_user(kCheckUser);
  proto->set_experiment(kCheckExperiment);
  if (CheckName("run", device.name()).ok()) proto->set_run(device.name());
  proto->set_kind(v1::JOB_KIND_RUN);
  SetTimestamp(clock_->WallMicros(), proto->mutable_create_time());
  device.check_job = job.id;
  ++live_of_[job.owner()];
  jobs_[InstanceKey(job.instance, job.id)] = std::move(owned);
  Advance(job, t);
}

// Judges the device by its check. What says nothing of the device (a lost worker, a full store, a
// cancelled or abandoned job) is tried again.
void Scheduler::HealthCheckEnded(const LiveJob& job, Transaction& t) {
  PoolDevice* device = pool_.Find(job.record.device());
  if (device == nullptr || device->check_job != job.id) return;
  device->check_job.clear();
  const v1::Job& proto = job.record.job();
  const v1::DeviceHealth health = device->health();
  const bool judged = health == v1::HEALTH_GOOD || health == v1::HEALTH_UNKNOWN ||
                      health == v1::HEALTH_LOOPING;
  if (!judged) return;  // an operator decided meanwhile
  if (proto.phase() == v1::SUCCEEDED && proto.assessment() == v1::MATCH) {
    pool_.CheckPassed(*device, t.writes);
    return OfferDevice(*device, t);
  }
  const bool again = proto.phase() == v1::CANCELLED || proto.phase() == v1::ABANDONED ||
                     (proto.phase() == v1::FAILED && proto.failure().fault() == v1::INFRA);
  if (again) {
    device->check_not_before_ms = Now() + options_.health_check_retry_ms;
    return;
  }
  const std::string what = proto.phase() == v1::SUCCEEDED
                               ? "its outputs differ from the references"
                               : proto.failure().code() + ": " + proto.failure().message();
  pool_.SetHealth(*device, v1::HEALTH_BAD, "health_check_failed", proto.name() + ": " + what,
                  t.writes);
}

// Whether no device can ever match the job's selector; then it has ended (or waits, while devices may
// still join).
bool Scheduler::RefuseSelector(LiveJob& job, Transaction& t) {
  const auto violations =
      pool_.Refusal(job.record.job().selector(), job.record.placement().platform());
  if (violations.empty()) return false;
  if (InStartup() || pool_.empty()) {
    AwaitWorker(job, !pool_.empty(), t);
    return true;
  }
  v1::Failure refusal =
      MakeFailure(v1::USER, violations[0].code(), violations[0].message());
  *refusal.add_violations() = violations[0];
  job.record.mutable_job()->clear_frozen_request();  // a refusal, as by freezing
  Fail(job, v1::FAILED, refusal, t);
  return true;
}

}  // namespace helx::server
