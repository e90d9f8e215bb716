// Moving blobs over helx.v1.Blobs: what the worker and the client both need.
#ifndef HELX_PROTO_BLOB_TRANSFER_H_
#define HELX_PROTO_BLOB_TRANSFER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/status.h"
#include "helx/v1/blobs.grpc.pb.h"

namespace helx::rpc {

// The same code and message as an absl::Status.
absl::Status FromGrpc(const grpc::Status& status);

v1::Digest ToProto(const Digest& digest);
// INVALID_ARGUMENT when the message is not a well-formed digest.
absl::StatusOr<Digest> FromProto(const v1::Digest& digest);

// "{instance}/blobs/{hash}/{size}".
std::string BlobName(std::string_view instance, const Digest& digest);

// Thread-safe. Calls block; each has a deadline that grows with the bytes it moves.
class BlobTransfer {
 public:
  // `of_worker`: what is uploaded is what an action left, which quotas let in.
  BlobTransfer(std::shared_ptr<grpc::Channel> channel, std::string instance,
               bool of_worker = false);

  // Those of `digests` that the server lacks.
  absl::StatusOr<std::vector<Digest>> FindMissing(const std::vector<Digest>& digests);

  // Uploads bytes, resuming after a broken connection (at most three times). The digest is computed
  // by the caller once.
  absl::Status Upload(const Digest& digest, std::string_view bytes);

  // Downloads and checks a blob. DATA_LOSS when its bytes are not what the digest says,
  // RESOURCE_EXHAUSTED above the limit.
  absl::StatusOr<std::string> Download(const Digest& digest, int64_t limit_bytes = INT64_MAX);

  // The same in pieces, as they arrive; a false answer of `sink` stops with CANCELLED. The digest
  // is checked at the end.
  absl::Status DownloadTo(const Digest& digest, const std::function<bool(std::string_view)>& sink);

 private:
  absl::StatusOr<int64_t> UploadFrom(const std::string& name, std::string_view bytes,
                                     int64_t offset);

  std::unique_ptr<v1::Blobs::Stub> stub_;
  std::string instance_;
  bool of_worker_;
};

}  // namespace helx::rpc

#endif  // HELX_PROTO_BLOB_TRANSFER_H_
