// Counts RPCs, for the metrics and for knowing when the daemon is idle.
#ifndef HELX_SERVER_TELEMETRY_GRPC_METRICS_H_
#define HELX_SERVER_TELEMETRY_GRPC_METRICS_H_

#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <cstdint>

#include "server/telemetry/metrics.h"

namespace helx::server {

// Calls by clients: those of the services of helx.v1 without Worker.
struct ClientActivity {
  std::atomic<int64_t> open{0};
  std::atomic<int64_t> last_ms{0};  // steady; when the last one began or ended
};

// Thread-safe. The pointees outlive the server.
class GrpcMetrics : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  GrpcMetrics(Metrics* metrics, ClientActivity* activity)
      : metrics_(metrics), activity_(activity) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  Metrics* const metrics_;
  ClientActivity* const activity_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_TELEMETRY_GRPC_METRICS_H_
