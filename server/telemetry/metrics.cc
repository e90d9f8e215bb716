#include "server/telemetry/metrics.h"

#include <exception>
#include <iterator>

namespace helx::server {
namespace {

using Labels = std::map<std::string, std::string>;

// 1 ms to about half an hour, by factors of about 3.
const prometheus::Histogram::BucketBoundaries kJobBuckets = {
    0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 2000};
// 0.1 ms to 30 s.
const prometheus::Histogram::BucketBoundaries kRpcBuckets = {
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};

// The names of go-grpc-middleware: status codes in CamelCase.
constexpr const char* kCodes[] = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

// By v1::StoreOperationKind, from 1.
constexpr const char* kOperations[] = {"check", "scrub", "collect", "backup"};

constexpr const char* kKinds[] = {"unspecified", "freeze", "build", "run"};

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Labels FinishedLabels(v1::JobKind kind, v1::JobPhase outcome, v1::Fault fault) {
  return {{"kind", Lower(v1::JobKind_Name(kind).substr(sizeof("JOB_KIND_") - 1))},
          {"outcome", Lower(v1::JobPhase_Name(outcome))},
          {"fault", fault == v1::FAULT_UNSPECIFIED ? "none" : Lower(v1::Fault_Name(fault))}};
}

prometheus::Family<prometheus::Counter>& Counters(prometheus::Registry& registry,
                                                  const std::string& name,
                                                  const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
prometheus::Family<prometheus::Gauge>& Gauges(prometheus::Registry& registry,
                                              const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
prometheus::Family<prometheus::Histogram>& Histograms(prometheus::Registry& registry,
                                                      const std::string& name,
                                                      const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

Metrics::Metrics(const std::string& version, const std::string& commit)
    : registry_(std::make_shared<prometheus::Registry>()) {
  prometheus::Registry& r = *registry_;
  Gauges(r, "helx_build_info", "The running build; always 1.")
      .Add({{"version", version}, {"commit", commit}})
      .Set(1);
  auto& jobs = Gauges(r, "helx_jobs", "Jobs by phase, terminal phases left out.");
  auto& phases = Histograms(r, "helx_job_phase_seconds", "Time that jobs spent in a phase.");
  for (int phase = v1::QUEUED; phase < v1::SUCCEEDED; ++phase) {
    const Labels labels = {{"phase", Lower(v1::JobPhase_Name(phase))}};
    jobs_[phase] = &jobs.Add(labels);
    phase_seconds_[phase] = &phases.Add(labels, kJobBuckets);
  }
  queue_seconds_ = &Histograms(r, "helx_job_queue_seconds", "Time of one spell in the queue.")
                        .Add({}, kJobBuckets);
  lease_seconds_ =
      &Histograms(r, "helx_lease_seconds", "How long leases were held.").Add({}, kJobBuckets);
  finished_ = &Counters(r, "helx_jobs_finished_total", "Jobs that reached a terminal phase.");
  // All there can be from the start: a rate of failures needs the series before the first failure.
  for (int kind = v1::JOB_KIND_RUN; kind < v1::JobKind_ARRAYSIZE; ++kind) {
    for (int phase = v1::SUCCEEDED; phase < v1::JobPhase_ARRAYSIZE; ++phase) {
      if (phase != v1::FAILED) {
        finished_->Add(FinishedLabels(static_cast<v1::JobKind>(kind),
                                      static_cast<v1::JobPhase>(phase), v1::FAULT_UNSPECIFIED));
        continue;
      }
      for (int fault = v1::FAULT_UNSPECIFIED + 1; fault < v1::Fault_ARRAYSIZE; ++fault) {
        finished_->Add(FinishedLabels(static_cast<v1::JobKind>(kind), v1::FAILED,
                                      static_cast<v1::Fault>(fault)));
      }
    }
  }
  auto& cache = Counters(r, "helx_cache_hits_total", "Actions answered from the cache.");
  auto& dedup = Counters(r, "helx_dedup_hits_total", "Jobs that joined an action in flight.");
  for (int kind = v1::ACTION_KIND_FREEZE; kind <= v1::ACTION_KIND_RUN; ++kind) {
    cache_hits_[kind] = &cache.Add({{"kind", kKinds[kind]}});
    dedup_hits_[kind] = &dedup.Add({{"kind", kKinds[kind]}});
  }
  verified_ =
      &Counters(r, "helx_verify_total", "Verifications of stored results, by what they found.");
  for (const char* result : {"match", "mismatch", "not_compared", "refused"})
    verified_->Add({{"result", result}});
  retries_ = &Counters(r, "helx_job_retries_total", "Attempts of actions after the first.").Add({});
  expired_ = &Counters(r, "helx_leases_expired_total", "Leases whose worker was lost.").Add({});
  workers_ = &Gauges(r, "helx_workers", "Workers heard of within a minute.").Add({});
  auto& devices = Gauges(r, "helx_devices", "Devices of the pool by state and health.");
  for (int state = v1::STATE_IDLE; state < v1::DeviceState_ARRAYSIZE; ++state) {
    for (int health = v1::HEALTH_GOOD; health < v1::DeviceHealth_ARRAYSIZE; ++health) {
      devices_[state][health] = &devices.Add(
          {{"pool", "default"},
           {"state", Lower(v1::DeviceState_Name(state).substr(sizeof("STATE_") - 1))},
           {"health", Lower(v1::DeviceHealth_Name(health).substr(sizeof("HEALTH_") - 1))}});
    }
  }
  oldest_ =
      &Gauges(r, "helx_queue_oldest_seconds", "How long the oldest queued job has waited.").Add({});
  writable_ = &Gauges(r, "helx_store_writable", "1 while the store accepts new work.").Add({});
  store_blobs_ = &Gauges(r, "helx_store_blobs", "Blobs stored, by instance.");
  store_bytes_ = &Gauges(r, "helx_store_bytes", "Bytes of these blobs.");
  store_reads_ = &Counters(r, "helx_store_reads_total", "Chunks of blobs read.").Add({});
  store_writes_ = &Counters(r, "helx_store_writes_total", "Blobs written.").Add({});
  store_missing_ =
      &Counters(r, "helx_store_missing_total", "Blobs asked for that are not stored.").Add({});
  store_mismatches_ =
      &Counters(r, "helx_store_digest_mismatch_total", "Damaged blobs found.").Add({});
  collected_blobs_ =
      &Counters(r, "helx_store_collected_blobs_total", "Blobs that garbage collection removed.")
           .Add({});
  collected_bytes_ =
      &Counters(r, "helx_store_collected_bytes_total", "Bytes of these blobs.").Add({});
  operations_ = &Counters(r, "helx_store_operations_total", "Operations on the store that ended.");
  operation_end_ = &Gauges(r, "helx_store_operation_end_timestamp_seconds",
                           "When an operation on the store last ended well.");
  operation_problems_ = &Gauges(r, "helx_store_operation_problems",
                                "Problems that the last operation of a kind found.");
  for (const char* kind : kOperations) {
    for (const char* result : {"ok", "error"}) {
      operations_->Add({{"operation", kind}, {"result", result}});
    }
    operation_problems_->Add({{"operation", kind}});
  }
  last_seen_ = &Gauges(r, "helx_worker_last_seen_seconds", "Since a worker was last heard of.");
  rpc_started_ = &Counters(r, "grpc_server_started_total", "RPCs started.");
  rpc_handled_ = &Counters(r, "grpc_server_handled_total", "RPCs ended, by status code.");
  rpc_received_ = &Counters(r, "grpc_server_msg_received_total", "Messages received.");
  rpc_sent_ = &Counters(r, "grpc_server_msg_sent_total", "Messages sent.");
  rpc_seconds_ = &Histograms(r, "grpc_server_handling_seconds", "Time from start to end of RPCs.");
}

Metrics::~Metrics() = default;

absl::StatusOr<std::string> Metrics::Expose(const std::string& listen) {
  // civetweb reports a bad or busy address by an exception, which stops here.
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(listen, 1);
    exposer_->RegisterCollectable(registry_);
    const auto ports = exposer_->GetListeningPorts();
    const size_t colon = listen.rfind(':');
    const std::string host = colon == std::string::npos ? "" : listen.substr(0, colon + 1);
    return host + std::to_string(ports.empty() ? 0 : ports[0]);
  } catch (const std::exception& e) {
    return FailedPrecondition("cannot serve metrics on " + listen + ": " + e.what());
  }
}

void Metrics::Sample(const MetricsSample& sample) {
  workers_->Set(sample.live_workers);
  oldest_->Set(sample.oldest_queued_seconds);
  writable_->Set(sample.store_writable ? 1 : 0);
  for (const auto& [instance, usage] : sample.stored) {
    store_blobs_->Add({{"instance", instance}}).Set(static_cast<double>(usage.first));
    store_bytes_->Add({{"instance", instance}}).Set(static_cast<double>(usage.second));
  }
  const auto raise = [](prometheus::Counter* counter, int64_t to) {
    counter->Increment(static_cast<double>(to) - counter->Value());
  };
  raise(store_reads_, sample.store_reads);
  raise(store_writes_, sample.store_writes);
  raise(store_missing_, sample.store_missing);
  raise(store_mismatches_, sample.store_mismatches);
  for (const auto& [worker, seconds] : sample.worker_last_seen_seconds) {
    last_seen_->Add({{"worker", worker}}).Set(seconds);
  }
  for (size_t state = v1::STATE_IDLE; state < devices_.size(); ++state) {
    for (size_t health = v1::HEALTH_GOOD; health < devices_[state].size(); ++health) {
      devices_[state][health]->Set(sample.devices[state][health]);
    }
  }
}

void Metrics::PhaseChanged(v1::JobPhase from, v1::JobPhase to, double seconds_in_from) {
  if (from != v1::JOB_PHASE_UNSPECIFIED && jobs_[from] != nullptr) {
    jobs_[from]->Decrement();
    if (from != to) phase_seconds_[from]->Observe(seconds_in_from);
    if (from == v1::QUEUED && to != v1::QUEUED) queue_seconds_->Observe(seconds_in_from);
  }
  if (jobs_[to] != nullptr) jobs_[to]->Increment();
}

void Metrics::JobFinished(const v1::Job& job) {
  finished_->Add(FinishedLabels(job.kind(), job.phase(), job.failure().fault())).Increment();
}

void Metrics::StoreOperationEnded(const v1::StoreOperation& operation, bool ok) {
  const int kind = operation.kind() - 1;
  if (kind < 0 || kind >= static_cast<int>(std::size(kOperations))) return;
  const Labels labels = {{"operation", kOperations[kind]}};
  Labels with_result = labels;
  with_result["result"] = ok ? "ok" : "error";
  operations_->Add(with_result).Increment();
  operation_problems_->Add(labels).Set(static_cast<double>(operation.problem_count()));
  if (ok) operation_end_->Add(labels).SetToCurrentTime();
  if (operation.kind() != v1::STORE_COLLECT || operation.dry_run()) return;
  collected_blobs_->Increment(static_cast<double>(operation.removed_blobs()));
  collected_bytes_->Increment(static_cast<double>(operation.removed_bytes()));
}

void Metrics::CacheHit(v1::ActionKind kind) { cache_hits_[kind]->Increment(); }
void Metrics::Deduplicated(v1::ActionKind kind) { dedup_hits_[kind]->Increment(); }
void Metrics::Verified(std::string_view result) {
  verified_->Add({{"result", std::string(result)}}).Increment();
}
void Metrics::Retried(v1::Fault) { retries_->Increment(); }
void Metrics::LeaseExpired() { expired_->Increment(); }
void Metrics::LeaseEnded(double seconds) { lease_seconds_->Observe(seconds); }

Metrics::Method& Metrics::MethodOf(const std::string& type, const std::string& service,
                                   const std::string& method) {
  std::lock_guard lock(mutex_);
  auto& slot = methods_[service + "/" + method];
  if (slot == nullptr) {
    slot = std::make_unique<Method>();
    slot->labels = {{"grpc_type", type}, {"grpc_service", service}, {"grpc_method", method}};
    slot->started = &rpc_started_->Add(slot->labels);
    slot->received = &rpc_received_->Add(slot->labels);
    slot->sent = &rpc_sent_->Add(slot->labels);
    slot->seconds = &rpc_seconds_->Add(slot->labels, kRpcBuckets);
    slot->handled.fill(nullptr);
  }
  return *slot;
}

void Metrics::Handled(Method& method, int code, double seconds) {
  if (code < 0 || code > 16) code = 2;
  prometheus::Counter* counter;
  {
    std::lock_guard lock(method.mutex);
    if (method.handled[code] == nullptr) {
      Labels labels = method.labels;
      labels["grpc_code"] = kCodes[code];
      method.handled[code] = &rpc_handled_->Add(labels);
    }
    counter = method.handled[code];
  }
  counter->Increment();
  method.seconds->Observe(seconds);
}

}  // namespace helx::server
