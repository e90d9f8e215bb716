#include "server/api/pool_service.h"

#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"

namespace helx::server {
namespace {

// Finds the caller, then lets `work` take over the call with what to do with its answer.
template <typename Response, typename Work>
grpc::ServerUnaryReactor* Answered(grpc::CallbackServerContext* context, Response* response,
                                   Work work) {
  auto* reactor = context->DefaultReactor();
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) {
    reactor->Finish(ToGrpcStatus(caller.status()));
    return reactor;
  }
  work(*caller, [reactor, response](absl::StatusOr<Response> answer) {
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpcStatus(answer.status()));
  });
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* PoolService::ListDevices(grpc::CallbackServerContext* context,
                                                   const v1::ListDevicesRequest* request,
                                                   v1::ListDevicesResponse* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    done(scheduler_->ListDevices(caller, *request));
  });
}

grpc::ServerUnaryReactor* PoolService::SetHealth(grpc::CallbackServerContext* context,
                                                 const v1::SetHealthRequest* request,
                                                 v1::Device* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    scheduler_->SetHealth(caller, *request, std::move(done));
  });
}

grpc::ServerUnaryReactor* PoolService::Drain(grpc::CallbackServerContext* context,
                                             const v1::DrainRequest* request,
                                             v1::Device* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    scheduler_->Drain(caller, *request, std::move(done));
  });
}

grpc::ServerUnaryReactor* PoolService::SetHealthCheck(grpc::CallbackServerContext* context,
                                                      const v1::SetHealthCheckRequest* request,
                                                      v1::HealthCheck* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    scheduler_->SetHealthCheck(caller, *request, std::move(done));
  });
}

grpc::ServerUnaryReactor* PoolService::ListLeases(grpc::CallbackServerContext* context,
                                                  const v1::ListLeasesRequest*,
                                                  v1::ListLeasesResponse* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    done(scheduler_->ListLeases(caller));
  });
}

grpc::ServerUnaryReactor* PoolService::Acquire(grpc::CallbackServerContext* context,
                                               const v1::AcquireLeaseRequest* request,
                                               v1::DeviceLease* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    scheduler_->AcquireLease(caller, *request, std::move(done));
  });
}

grpc::ServerUnaryReactor* PoolService::Extend(grpc::CallbackServerContext* context,
                                              const v1::ExtendLeaseRequest* request,
                                              v1::DeviceLease* response) {
  return Answered(context, response, [&](const Caller& caller, auto done) {
    scheduler_->ExtendLease(caller, *request, std::move(done));
  });
}

grpc::ServerUnaryReactor* PoolService::Release(grpc::CallbackServerContext* context,
                                               const v1::ReleaseLeaseRequest* request,
                                               v1::ReleaseLeaseResponse*) {
  auto* reactor = context->DefaultReactor();
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) {
    reactor->Finish(ToGrpcStatus(caller.status()));
    return reactor;
  }
  scheduler_->ReleaseLease(*caller, *request, [reactor](const absl::Status& status) {
    reactor->Finish(ToGrpcStatus(status));
  });
  return reactor;
}

}  // namespace helx::server
