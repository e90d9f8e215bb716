#include "server/api/worker_service.h"

#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"

namespace helx::server {
namespace {

class ReportReactor : public grpc::ServerReadReactor<v1::ReportRequest> {
 public:
  ReportReactor(const grpc::ServerContextBase& context, Scheduler* scheduler)
      : context_(context), scheduler_(scheduler) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    absl::Status status = CheckWorker(context_, request_.worker());
    if (status.ok()) status = scheduler_->Report(request_);
    if (!status.ok()) return Finish(ToGrpcStatus(status));
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const grpc::ServerContextBase& context_;  // outlives the call
  Scheduler* const scheduler_;
  v1::ReportRequest request_;
};

}  // namespace

grpc::ServerUnaryReactor* WorkerService::Synchronize(grpc::CallbackServerContext* context,
                                                     const v1::SynchronizeRequest* request,
                                                     v1::SynchronizeResponse* response) {
  auto* reactor = context->DefaultReactor();
  if (const absl::Status refused = CheckWorker(*context, request->worker()); !refused.ok()) {
    reactor->Finish(ToGrpcStatus(refused));
    return reactor;
  }
  scheduler_->Synchronize(*request,
                          [reactor, response](absl::StatusOr<v1::SynchronizeResponse> answer) {
                            if (answer.ok()) *response = *std::move(answer);
                            reactor->Finish(ToGrpcStatus(answer.status()));
                          });
  return reactor;
}

grpc::ServerReadReactor<v1::ReportRequest>* WorkerService::Report(grpc::CallbackServerContext* context,
                                                                  v1::ReportResponse*) {
  return new ReportReactor(*context, scheduler_);
}

grpc::ServerUnaryReactor* WorkerService::Complete(grpc::CallbackServerContext* context,
                                                  const v1::CompleteRequest* request,
                                                  v1::CompleteResponse*) {
  auto* reactor = context->DefaultReactor();
  if (const absl::Status refused = CheckWorker(*context, request->worker()); !refused.ok()) {
    reactor->Finish(ToGrpcStatus(refused));
    return reactor;
  }
  scheduler_->Complete(*request,
                       [reactor](absl::Status status) { reactor->Finish(ToGrpcStatus(status)); });
  return reactor;
}

}  // namespace helx::server
