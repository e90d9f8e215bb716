// Prometheus metrics. Base units; never a job id, a user or a digest as a label.
#ifndef HELX_SERVER_TELEMETRY_METRICS_H_
#define HELX_SERVER_TELEMETRY_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "helx/v1/pool.pb.h"
#include "helx/v1/store.pb.h"
#include "server/scheduler/observer.h"

namespace helx::server {

// What is sampled rather than counted.
struct MetricsSample {
  int live_workers = 0;
  double oldest_queued_seconds = 0;
  bool store_writable = true;
  // By instance: blobs and their bytes.
  std::map<std::string, std::pair<int64_t, int64_t>> stored;
  // Counts since the start.
  int64_t store_reads = 0;
  int64_t store_writes = 0;
  int64_t store_missing = 0;
  int64_t store_mismatches = 0;
  std::map<std::string, double> worker_last_seen_seconds;  // ago, by name
  // By v1::DeviceState and v1::DeviceHealth.
  std::array<std::array<int, v1::DeviceHealth_ARRAYSIZE>, v1::DeviceState_ARRAYSIZE> devices{};
};

// Thread-safe. Without a call of Expose it only counts.
class Metrics : public SchedulerObserver {
 public:
  Metrics(const std::string& version, const std::string& commit);
  ~Metrics() override;

  // Serves /metrics on "host:port"; returns the bound address (port 0 chooses one).
  absl::StatusOr<std::string> Expose(const std::string& listen);
  void Sample(const MetricsSample& sample);

  void PhaseChanged(v1::JobPhase from, v1::JobPhase to, double seconds_in_from) override;
  void JobFinished(const v1::Job& job) override;
  void CacheHit(v1::ActionKind kind) override;
  void Deduplicated(v1::ActionKind kind) override;
  void Retried(v1::Fault fault) override;
  void LeaseExpired() override;
  void LeaseEnded(double seconds) override;
  // An operation on the store ended, well or not.
  void StoreOperationEnded(const v1::StoreOperation& operation, bool ok);
  // How a verification of a stored result ended.
  void Verified(std::string_view result);

  // The series of one RPC method, made at its first call.
  struct Method {
    prometheus::Counter* started;
    prometheus::Counter* received;
    prometheus::Counter* sent;
    prometheus::Histogram* seconds;
    std::array<prometheus::Counter*, 17> handled;  // by status code; made when first needed
    std::map<std::string, std::string> labels;
    std::mutex mutex;
  };
  Method& MethodOf(const std::string& type, const std::string& service, const std::string& method);
  void Handled(Method& method, int code, double seconds);

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  std::array<prometheus::Gauge*, 13> jobs_{};  // by phase; null for terminal ones
  std::array<prometheus::Histogram*, 13> phase_seconds_{};
  prometheus::Histogram* queue_seconds_;
  prometheus::Histogram* lease_seconds_;
  prometheus::Family<prometheus::Counter>* finished_;
  std::array<prometheus::Counter*, 4> cache_hits_{};
  std::array<prometheus::Counter*, 4> dedup_hits_{};
  prometheus::Family<prometheus::Counter>* verified_;
  prometheus::Counter* retries_;
  prometheus::Counter* expired_;
  prometheus::Gauge* workers_;
  std::array<std::array<prometheus::Gauge*, v1::DeviceHealth_ARRAYSIZE>, v1::DeviceState_ARRAYSIZE>
      devices_{};
  prometheus::Gauge* oldest_;
  prometheus::Gauge* writable_;
  prometheus::Family<prometheus::Gauge>* store_blobs_;
  prometheus::Family<prometheus::Gauge>* store_bytes_;
  prometheus::Counter* store_reads_;
  prometheus::Counter* store_writes_;
  prometheus::Counter* store_missing_;
  prometheus::Counter* store_mismatches_;
  prometheus::Counter* collected_blobs_;
  prometheus::Counter* collected_bytes_;
  prometheus::Family<prometheus::Counter>* operations_;
  prometheus::Family<prometheus::Gauge>* operation_end_;
  prometheus::Family<prometheus::Gauge>* operation_problems_;
  prometheus::Family<prometheus::Gauge>* last_seen_;
  prometheus::Family<prometheus::Counter>* rpc_started_;
  prometheus::Family<prometheus::Counter>* rpc_handled_;
  prometheus::Family<prometheus::Counter>* rpc_received_;
  prometheus::Family<prometheus::Counter>* rpc_sent_;
  prometheus::Family<prometheus::Histogram>* rpc_seconds_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Method>> methods_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_TELEMETRY_METRICS_H_
