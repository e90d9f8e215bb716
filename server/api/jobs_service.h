#ifndef HELX_SERVER_API_JOBS_SERVICE_H_
#define HELX_SERVER_API_JOBS_SERVICE_H_

#include "helx/v1/jobs.grpc.pb.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {

// helx.v1.Jobs. A watcher reads events from the store at its own pace, one message ahead at most: a
// slow one costs neither memory nor anyone else's time, and misses nothing.
class JobsService : public v1::Jobs::CallbackService {
 public:
  JobsService(Scheduler* scheduler, const JobReader* reader, BlobStore* blobs)
      : scheduler_(scheduler), reader_(reader), blobs_(blobs) {}
  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context,
                                   const v1::SubmitJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListJobsRequest* request,
                                 v1::ListJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::JobEvent>* Watch(grpc::CallbackServerContext* context,
                                                const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const v1::CancelJobRequest* request, v1::Job* response) override;
  grpc::ServerUnaryReactor* Resubmit(grpc::CallbackServerContext* context,
                                     const v1::ResubmitJobRequest* request,
                                     v1::Job* response) override;
  grpc::ServerWriteReactor<v1::LogPiece>* ReadLog(grpc::CallbackServerContext* context,
                                                  const v1::ReadLogRequest* request) override;

 private:
  Scheduler* const scheduler_;
  const JobReader* const reader_;
  BlobStore* const blobs_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_JOBS_SERVICE_H_
