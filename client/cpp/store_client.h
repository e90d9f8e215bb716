// The care of the store: status, operations, pins.
#ifndef HELX_CLIENT_CPP_STORE_CLIENT_H_
#define HELX_CLIENT_CPP_STORE_CLIENT_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "client/cpp/connection.h"
#include "core/base/status.h"
#include "helx/v1/store.pb.h"

namespace helx::client {

// Errors as store.proto says.
class StoreClient {
 public:
  explicit StoreClient(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  absl::StatusOr<helx::v1::StoreStatus> GetStatus(std::stop_token stop = {});

  // Each starts an operation and follows it to its end, calling `on_progress` (may be empty) with
  // how far it is; the operation as it ended. Not repeated when the connection breaks: it goes on
  // at the server, and the status shows it.
  using OnProgress = std::function<void(const helx::v1::StoreOperation&)>;
  absl::StatusOr<helx::v1::StoreOperation> Check(const OnProgress& on_progress,
                                                 std::stop_token stop = {});
  absl::StatusOr<helx::v1::StoreOperation> Scrub(const helx::v1::ScrubStoreRequest& request,
                                                 const OnProgress& on_progress,
                                                 std::stop_token stop = {});
  absl::StatusOr<helx::v1::StoreOperation> CollectGarbage(
      const helx::v1::CollectGarbageRequest& request, const OnProgress& on_progress,
      std::stop_token stop = {});
  absl::StatusOr<helx::v1::StoreOperation> Backup(const OnProgress& on_progress,
                                                  std::stop_token stop = {});

  // Ends the operation under way; how far it was.
  absl::StatusOr<helx::v1::StoreOperation> CancelOperation(std::stop_token stop = {});

  absl::StatusOr<helx::v1::PinnedResult> Pin(const helx::v1::PinRequest& request,
                                             std::stop_token stop = {});
  absl::Status Unpin(const helx::v1::UnpinRequest& request, std::stop_token stop = {});
  absl::StatusOr<std::vector<helx::v1::PinnedResult>> ListPins(std::stop_token stop = {});

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_STORE_CLIENT_H_
