#include "client/cpp/pool_client.h"

#include "client/cpp/rpc.h"
#include "helx/v1/pool.grpc.pb.h"

namespace helx::client {
namespace {

using helx::v1::Pool;

template <typename Message>
std::vector<Message> VectorOf(const google::protobuf::RepeatedPtrField<Message>& messages) {
  return {messages.begin(), messages.end()};
}

}  // namespace

absl::StatusOr<std::vector<helx::v1::Device>> PoolClient::ListDevices(
    const helx::v1::ListDevicesRequest& request, std::stop_token stop) {
  HELX_ASSIGN_OR_RETURN(const auto response,
                        CallService<Pool>(*connection_, &Pool::Stub::ListDevices, request, stop));
  return VectorOf(response.devices());
}

absl::StatusOr<helx::v1::Device> PoolClient::SetHealth(const helx::v1::SetHealthRequest& request,
                                                       std::stop_token stop) {
  return CallService<Pool>(*connection_, &Pool::Stub::SetHealth, request, stop);
}

absl::StatusOr<helx::v1::Device> PoolClient::Drain(const helx::v1::DrainRequest& request,
                                                   std::stop_token stop) {
  return CallService<Pool>(*connection_, &Pool::Stub::Drain, request, stop);
}

absl::StatusOr<helx::v1::HealthCheck> PoolClient::SetHealthCheck(
    const helx::v1::SetHealthCheckRequest& request, std::stop_token stop) {
  return CallService<Pool>(*connection_, &Pool::Stub::SetHealthCheck, request, stop);
}

absl::StatusOr<std::vector<helx::v1::DeviceLease>> PoolClient::ListLeases(std::stop_token stop) {
  HELX_ASSIGN_OR_RETURN(const auto response,
                        CallService<Pool>(*connection_, &Pool::Stub::ListLeases,
                                          helx::v1::ListLeasesRequest(), stop));
  return VectorOf(response.leases());
}

absl::StatusOr<helx::v1::DeviceLease> PoolClient::Acquire(
    const helx::v1::AcquireLeaseRequest& request, std::stop_token stop) {
  const auto stub = Pool::NewStub(connection_->transport().channel);
  grpc::ClientContext context;
  Prepare(context, *connection_, connection_->options().call_limit);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  helx::v1::DeviceLease lease;
  const grpc::Status status = stub->Acquire(&context, request, &lease);
  if (stop.stop_requested()) return Interrupted();
  HELX_RETURN_IF_ERROR(FromGrpc(status, *connection_));
  return lease;
}

absl::StatusOr<helx::v1::DeviceLease> PoolClient::Extend(
    const helx::v1::ExtendLeaseRequest& request, std::stop_token stop) {
  return CallService<Pool>(*connection_, &Pool::Stub::Extend, request, stop);
}

absl::Status PoolClient::Release(const helx::v1::ReleaseLeaseRequest& request,
                                 std::stop_token stop) {
  return CallService<Pool>(*connection_, &Pool::Stub::Release, request, stop).status();
}

}  // namespace helx::client
