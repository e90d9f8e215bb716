#ifndef HELX_SERVER_API_EXPERIMENTS_SERVICE_H_
#define HELX_SERVER_API_EXPERIMENTS_SERVICE_H_

#include "helx/v1/experiments.grpc.pb.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// helx.v1.Experiments. A caller that goes away leaves the freeze action.
class ExperimentsService : public v1::Experiments::CallbackService {
 public:
  explicit ExperimentsService(Scheduler* scheduler) : scheduler_(scheduler) {}
  grpc::ServerUnaryReactor* Freeze(grpc::CallbackServerContext* context,
                                   const v1::FreezeRequest* request,
                                   v1::FreezeResponse* response) override;

 private:
  Scheduler* const scheduler_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_EXPERIMENTS_SERVICE_H_
