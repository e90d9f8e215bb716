#ifndef HELX_SERVER_API_WORKER_SERVICE_H_
#define HELX_SERVER_API_WORKER_SERVICE_H_

#include "helx/v1/worker.grpc.pb.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// helx.v1.Worker.
class WorkerService : public v1::Worker::CallbackService {
 public:
  explicit WorkerService(Scheduler* scheduler) : scheduler_(scheduler) {}
  grpc::ServerUnaryReactor* Synchronize(grpc::CallbackServerContext* context,
                                        const v1::SynchronizeRequest* request,
                                        v1::SynchronizeResponse* response) override;
  grpc::ServerReadReactor<v1::ReportRequest>* Report(grpc::CallbackServerContext* context,
                                                     v1::ReportResponse* response) override;
  grpc::ServerUnaryReactor* Complete(grpc::CallbackServerContext* context,
                                     const v1::CompleteRequest* request,
                                     v1::CompleteResponse* response) override;

 private:
  Scheduler* const scheduler_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_WORKER_SERVICE_H_
