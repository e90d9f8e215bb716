#include "client/cpp/experiment_client.h"

#include "client/cpp/rpc.h"
#include "helx/v1/experiments.grpc.pb.h"

namespace helx::client {

using helx::v1::Experiments;

absl::StatusOr<helx::v1::FreezeResponse> ExperimentClient::Freeze(
    const std::string& document, const std::vector<BlobContent>& blobs,
    const ByteProgress& progress, std::stop_token stop) {
  const auto stub = Experiments::NewStub(connection_->transport().channel);
  helx::v1::FreezeRequest request;
  request.set_document(document);
  helx::v1::FreezeResponse response;
  BlobClient blob_client(connection_);
  for (int attempt = 0;; ++attempt) {
    HELX_RETURN_IF_ERROR(blob_client.UploadMissing(blobs, progress, stop));
    // No deadline: the answer waits for a worker, as a job would.
    const absl::Status status = Call(*connection_, *stub, &Experiments::Stub::Freeze, request,
                                     response, stop, std::chrono::milliseconds(0));
    if (status.ok()) return response;
    // Blobs that vanished between the two calls are uploaded once more.
    if (status.code() != absl::StatusCode::kFailedPrecondition || attempt > 0) return status;
  }
}

}  // namespace helx::client
