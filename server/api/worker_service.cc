#include "server/api/worker_service.h"

#include <utility>

#include "server/api/grpc_status.h"

namespace helx::server {
namespace {

class ReportReactor : public grpc::ServerReadReactor<v1::ReportRequest> {
 public:
  explicit ReportReactor(Scheduler* scheduler) : scheduler_(scheduler) { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const absl::Status status = scheduler_->Report(request_);
    if (!status.ok()) return Finish(ToGrpcStatus(status));
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  Scheduler* const scheduler_;
  v1::ReportRequest request_;
};

}  // namespace

grpc::ServerUnaryReactor* WorkerService::Synchronize(grpc::CallbackServerContext* context,
                                                     const v1::SynchronizeRequest* request,
                                                     v1::SynchronizeResponse* response) {
  auto* reactor = context->DefaultReactor();
  scheduler_->Synchronize(*request,
                          [reactor, response](absl::StatusOr<v1::SynchronizeResponse> answer) {
                            if (answer.ok()) *response = *std::move(answer);
                            reactor->Finish(ToGrpcStatus(answer.status()));
                          });
  return reactor;
}

grpc::ServerReadReactor<v1::ReportRequest>* WorkerService::Report(grpc::CallbackServerContext*,
                                                                  v1::ReportResponse*) {
  return new ReportReactor(scheduler_);
}

grpc::ServerUnaryReactor* WorkerService::Complete(grpc::CallbackServerContext* context,
                                                  const v1::CompleteRequest* request,
                                                  v1::CompleteResponse*) {
  auto* reactor = context->DefaultReactor();
  scheduler_->Complete(*request,
                       [reactor](absl::Status status) { reactor->Finish(ToGrpcStatus(status)); });
  return reactor;
}

}  // namespace helx::server
