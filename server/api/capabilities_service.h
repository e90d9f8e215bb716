#ifndef HELX_SERVER_API_CAPABILITIES_SERVICE_H_
#define HELX_SERVER_API_CAPABILITIES_SERVICE_H_

#include <string>

#include "helx/v1/capabilities.grpc.pb.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// helx.v1.Capabilities.
class CapabilitiesService : public v1::Capabilities::CallbackService {
 public:
  CapabilitiesService(const Scheduler* scheduler, int64_t run_wall_ms)
      : scheduler_(scheduler), run_wall_ms_(run_wall_ms) {}
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetCapabilitiesRequest* request,
                                v1::ServerCapabilities* response) override;

 private:
  const Scheduler* const scheduler_;
  const int64_t run_wall_ms_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_CAPABILITIES_SERVICE_H_
