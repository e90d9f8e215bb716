#include "client/cpp/store_client.h"

#include "client/cpp/rpc.h"
#include "helx/v1/store.grpc.pb.h"

namespace helx::client {
namespace {

using helx::v1::Store;
using helx::v1::StoreOperation;

template <typename Request>
absl::StatusOr<StoreOperation> Follow(
    Connection& connection,
    std::unique_ptr<grpc::ClientReader<StoreOperation>> (Store::Stub::*method)(grpc::ClientContext*,
                                                                               const Request&),
    const Request& request, const StoreClient::OnProgress& on_progress, std::stop_token stop) {
  const auto stub = Store::NewStub(connection.transport().channel);
  grpc::ClientContext context;
  Prepare(context, connection, std::chrono::milliseconds(0));
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const auto reader = (stub.get()->*method)(&context, request);
  StoreOperation operation;
  while (reader->Read(&operation)) {
    if (on_progress) on_progress(operation);
  }
  const grpc::Status status = reader->Finish();
  if (stop.stop_requested()) return Interrupted();
  HELX_RETURN_IF_ERROR(FromGrpc(status, connection));
  return operation;
}

}  // namespace

absl::StatusOr<helx::v1::StoreStatus> StoreClient::GetStatus(std::stop_token stop) {
  return CallService<Store>(*connection_, &Store::Stub::GetStatus,
                            helx::v1::GetStoreStatusRequest(), stop);
}

absl::StatusOr<StoreOperation> StoreClient::Check(const OnProgress& on_progress,
                                                  std::stop_token stop) {
  return Follow(*connection_, &Store::Stub::Check, helx::v1::CheckStoreRequest(), on_progress,
                stop);
}

absl::StatusOr<StoreOperation> StoreClient::Scrub(const helx::v1::ScrubStoreRequest& request,
                                                  const OnProgress& on_progress,
                                                  std::stop_token stop) {
  return Follow(*connection_, &Store::Stub::Scrub, request, on_progress, stop);
}

absl::StatusOr<StoreOperation> StoreClient::CollectGarbage(
    const helx::v1::CollectGarbageRequest& request, const OnProgress& on_progress,
    std::stop_token stop) {
  return Follow(*connection_, &Store::Stub::CollectGarbage, request, on_progress, stop);
}

absl::StatusOr<StoreOperation> StoreClient::Backup(const OnProgress& on_progress,
                                                   std::stop_token stop) {
  return Follow(*connection_, &Store::Stub::Backup, helx::v1::BackupStoreRequest(), on_progress,
                stop);
}

absl::StatusOr<StoreOperation> StoreClient::CancelOperation(std::stop_token stop) {
  return CallService<Store>(*connection_, &Store::Stub::CancelOperation,
                            helx::v1::CancelStoreOperationRequest(), stop);
}

absl::StatusOr<helx::v1::PinnedResult> StoreClient::Pin(const helx::v1::PinRequest& request,
                                                        std::stop_token stop) {
  return CallService<Store>(*connection_, &Store::Stub::Pin, request, stop);
}

absl::Status StoreClient::Unpin(const helx::v1::UnpinRequest& request, std::stop_token stop) {
  return CallService<Store>(*connection_, &Store::Stub::Unpin, request, stop).status();
}

absl::StatusOr<std::vector<helx::v1::PinnedResult>> StoreClient::ListPins(std::stop_token stop) {
  HELX_ASSIGN_OR_RETURN(
      const auto response,
      CallService<Store>(*connection_, &Store::Stub::ListPins, helx::v1::ListPinsRequest(), stop));
  return std::vector<helx::v1::PinnedResult>{response.pins().begin(), response.pins().end()};
}

}  // namespace helx::client
