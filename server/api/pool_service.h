#ifndef HELX_SERVER_API_POOL_SERVICE_H_
#define HELX_SERVER_API_POOL_SERVICE_H_

#include "helx/v1/pool.grpc.pb.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// helx.v1.Pool.
class PoolService : public v1::Pool::CallbackService {
 public:
  explicit PoolService(Scheduler* scheduler) : scheduler_(scheduler) {}
  grpc::ServerUnaryReactor* ListDevices(grpc::CallbackServerContext* context,
                                        const v1::ListDevicesRequest* request,
                                        v1::ListDevicesResponse* response) override;
  grpc::ServerUnaryReactor* SetHealth(grpc::CallbackServerContext* context,
                                      const v1::SetHealthRequest* request,
                                      v1::Device* response) override;
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context,
                                  const v1::DrainRequest* request, v1::Device* response) override;
  grpc::ServerUnaryReactor* SetHealthCheck(grpc::CallbackServerContext* context,
                                           const v1::SetHealthCheckRequest* request,
                                           v1::HealthCheck* response) override;
  grpc::ServerUnaryReactor* ListLeases(grpc::CallbackServerContext* context,
                                       const v1::ListLeasesRequest* request,
                                       v1::ListLeasesResponse* response) override;
  grpc::ServerUnaryReactor* Acquire(grpc::CallbackServerContext* context,
                                    const v1::AcquireLeaseRequest* request,
                                    v1::DeviceLease* response) override;
  grpc::ServerUnaryReactor* Extend(grpc::CallbackServerContext* context,
                                   const v1::ExtendLeaseRequest* request,
                                   v1::DeviceLease* response) override;
  grpc::ServerUnaryReactor* Release(grpc::CallbackServerContext* context,
                                    const v1::ReleaseLeaseRequest* request,
                                    v1::ReleaseLeaseResponse* response) override;

 private:
  Scheduler* const scheduler_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_POOL_SERVICE_H_
