// Who calls, and on whose data.
#ifndef HELX_SERVER_API_CALLER_H_
#define HELX_SERVER_API_CALLER_H_

#include <grpcpp/server_context.h>

#include <string>

#include "core/base/status.h"
#include "server/scheduler/scheduler.h"
#include "server/security/identity.h"

namespace helx::server {

// In place of an instance's name: the caller's own.
inline constexpr char kOwnInstance[] = "-";

// The identity of a call's peer, which the call's admission has checked.
absl::StatusOr<Identity> IdentityOf(const grpc::ServerContextBase& context);

// The caller of a request that names `instance` (empty or "-": the caller's own). Over TLS both
// come from the certificate; in plain text everyone is user "local" of the instance "default". Any
// other instance is PERMISSION_DENIED.
absl::StatusOr<Caller> CallerFor(const grpc::ServerContextBase& context,
                                 const std::string& instance);

// The same for calls that move blobs, which workers make too: a worker's caller is the named
// instance while it holds a lease of one of its actions.
absl::StatusOr<Caller> BlobCallerFor(const grpc::ServerContextBase& context,
                                     const std::string& instance, Scheduler* scheduler);

// Whether a worker makes this call. One on this host's socket says so in its metadata.
bool IsWorkerCall(const grpc::ServerContextBase& context);

// PERMISSION_DENIED unless a message that claims to come from `worker` does.
absl::Status CheckWorker(const grpc::ServerContextBase& context, const std::string& worker);

}  // namespace helx::server

#endif  // HELX_SERVER_API_CALLER_H_
