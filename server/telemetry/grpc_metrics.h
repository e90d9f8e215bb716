// Counts RPCs, for the metrics and for knowing when the daemon is idle; and gives undecodable
// requests their status.
#ifndef HELX_SERVER_TELEMETRY_GRPC_METRICS_H_
#define HELX_SERVER_TELEMETRY_GRPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <cstdint>

#include "server/telemetry/metrics.h"

namespace helx::server {

struct CallActivity {
  std::atomic<int64_t> open{0};  // calls of any service
  // Calls by clients: those of the services of helx.v1 without Worker.
  std::atomic<int64_t> client_open{0};
  std::atomic<int64_t> client_last_ms{0};  // steady; when the last one began or ended
};

// Thread-safe. The pointees outlive the server.
class GrpcMetrics : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  GrpcMetrics(Metrics* metrics, CallActivity* activity) : metrics_(metrics), activity_(activity) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  Metrics* const metrics_;
  CallActivity* const activity_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_TELEMETRY_GRPC_METRICS_H_
