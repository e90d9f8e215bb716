#ifndef HELX_SERVER_API_BLOBS_SERVICE_H_
#define HELX_SERVER_API_BLOBS_SERVICE_H_

#include "helx/v1/blobs.grpc.pb.h"
#include "server/scheduler/scheduler.h"
#include "server/store/blob_store.h"
#include "server/store/executor.h"
#include "server/store/uploads.h"

namespace helx::server {

// helx.v1.Blobs. Each stream holds at most one chunk of 1 MiB in memory; nothing here waits for the
// disk to sync.
class BlobsService : public v1::Blobs::CallbackService {
 public:
  // `scheduler` says whose blobs a worker may touch.
  BlobsService(Scheduler* scheduler, Store* store, BlobStore* blobs, Uploads* uploads,
               Executor* executor)
      : scheduler_(scheduler),
        store_(store),
        blobs_(blobs),
        uploads_(uploads),
        executor_(executor) {}
  grpc::ServerWriteReactor<v1::ReadResponse>* Read(grpc::CallbackServerContext* context,
                                                   const v1::ReadRequest* request) override;
  grpc::ServerReadReactor<v1::WriteRequest>* Write(grpc::CallbackServerContext* context,
                                                   v1::WriteResponse* response) override;
  grpc::ServerUnaryReactor* QueryWriteStatus(grpc::CallbackServerContext* context,
                                             const v1::QueryWriteStatusRequest* request,
                                             v1::QueryWriteStatusResponse* response) override;
  grpc::ServerUnaryReactor* FindMissing(grpc::CallbackServerContext* context,
                                        const v1::FindMissingRequest* request,
                                        v1::FindMissingResponse* response) override;

 private:
  Scheduler* const scheduler_;
  Store* const store_;
  BlobStore* const blobs_;
  Uploads* const uploads_;
  Executor* const executor_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_BLOBS_SERVICE_H_
