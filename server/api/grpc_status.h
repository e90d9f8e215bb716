// The one place where a status of ours becomes one of gRPC's.
#ifndef HELX_SERVER_API_GRPC_STATUS_H_
#define HELX_SERVER_API_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "core/base/status.h"

namespace helx::server {

// Same code. The text is cut to 1 KiB at a character, and made UTF-8: a longer one would cost the
// caller the code itself. Missing blobs become google.rpc.PreconditionFailure violations of type
// MISSING (the first 32).
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace helx::server

#endif  // HELX_SERVER_API_GRPC_STATUS_H_
