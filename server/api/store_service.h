#ifndef HELX_SERVER_API_STORE_SERVICE_H_
#define HELX_SERVER_API_STORE_SERVICE_H_

#include "helx/v1/store.grpc.pb.h"
#include "server/maintenance/maintenance.h"
#include "server/store/executor.h"

namespace helx::server {

// helx.v1.Store. What waits on the disk runs on `executor`, never in a reactor.
class StoreService : public v1::Store::CallbackService {
 public:
  StoreService(Maintenance* maintenance, Scheduler* scheduler, Store* store, Executor* executor)
      : maintenance_(maintenance), scheduler_(scheduler), store_(store), executor_(executor) {}
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStoreStatusRequest* request,
                                      v1::StoreStatus* response) override;
  grpc::ServerWriteReactor<v1::StoreOperation>* Check(
      grpc::CallbackServerContext* context, const v1::CheckStoreRequest* request) override;
  grpc::ServerWriteReactor<v1::StoreOperation>* Scrub(
      grpc::CallbackServerContext* context, const v1::ScrubStoreRequest* request) override;
  grpc::ServerWriteReactor<v1::StoreOperation>* CollectGarbage(
      grpc::CallbackServerContext* context, const v1::CollectGarbageRequest* request) override;
  grpc::ServerWriteReactor<v1::StoreOperation>* Backup(
      grpc::CallbackServerContext* context, const v1::BackupStoreRequest* request) override;
  grpc::ServerUnaryReactor* CancelOperation(grpc::CallbackServerContext* context,
                                            const v1::CancelStoreOperationRequest* request,
                                            v1::StoreOperation* response) override;
  grpc::ServerUnaryReactor* Pin(grpc::CallbackServerContext* context, const v1::PinRequest* request,
                                v1::PinnedResult* response) override;
  grpc::ServerUnaryReactor* Unpin(grpc::CallbackServerContext* context,
                                  const v1::UnpinRequest* request,
                                  v1::UnpinResponse* response) override;
  grpc::ServerUnaryReactor* ListPins(grpc::CallbackServerContext* context,
                                     const v1::ListPinsRequest* request,
                                     v1::ListPinsResponse* response) override;

 private:
  Maintenance* const maintenance_;
  Scheduler* const scheduler_;
  Store* const store_;
  Executor* const executor_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_STORE_SERVICE_H_
