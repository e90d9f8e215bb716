#include "server/api/caller.h"

#include "proto/worker_metadata.h"
#include "server/api/authenticator.h"
#include "server/scheduler/names.h"

namespace helx::server {
namespace {

absl::Status NotOpen(const std::string& instance, const Identity& identity) {
  return absl::PermissionDeniedError(
      "instance " + Quoted(instance) + " is not open to this caller; " +
      (identity.role == Role::kLocal
           ? "without TLS there is only \"" + identity.instance + "\""
           : "the certificate of " + identity.name + " is for \"" + identity.instance + "\""));
}

bool IsOwn(const std::string& instance, const Identity& identity) {
  return instance.empty() || instance == kOwnInstance || instance == identity.instance;
}

}  // namespace

absl::StatusOr<Identity> IdentityOf(const grpc::ServerContextBase& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr) return absl::UnauthenticatedError("the connection has no identity");
  return IdentityOf(*auth);
}

absl::StatusOr<Caller> CallerFor(const grpc::ServerContextBase& context,
                                 const std::string& instance) {
  HELX_ASSIGN_OR_RETURN(const Identity identity, IdentityOf(context));
  if (!IsOwn(instance, identity)) {
    HELX_RETURN_IF_ERROR(CheckName("instance", instance));
    return NotOpen(instance, identity);
  }
  return Caller{identity.instance, identity.name,
                identity.role == Role::kOperator || identity.role == Role::kLocal};
}

absl::StatusOr<Caller> BlobCallerFor(const grpc::ServerContextBase& context,
                                     const std::string& instance, Scheduler* scheduler) {
  HELX_ASSIGN_OR_RETURN(const Identity identity, IdentityOf(context));
  const bool worker = identity.role == Role::kWorker;
  if (!worker && (identity.role != Role::kLocal || IsOwn(instance, identity))) {
    return CallerFor(context, instance);
  }
  HELX_RETURN_IF_ERROR(CheckName("instance", instance));
  // Local workers share the socket of their host's user.
  if (scheduler->HoldsLease(worker ? identity.name : "", instance)) {
    return Caller{instance, identity.name, false};
  }
  if (!worker) return NotOpen(instance, identity);
  return absl::PermissionDeniedError("worker " + identity.name + " holds no lease of instance " +
                                     Quoted(instance) + ", so its blobs are closed to it");
}

bool IsWorkerCall(const grpc::ServerContextBase& context) {
  const auto identity = IdentityOf(context);
  if (!identity.ok()) return false;
  if (identity->role == Role::kWorker) return true;
  return identity->role == Role::kLocal && context.client_metadata().contains(rpc::kWorkerMetadata);
}

absl::Status CheckWorker(const grpc::ServerContextBase& context, const std::string& worker) {
  HELX_ASSIGN_OR_RETURN(const Identity identity, IdentityOf(context));
  if (identity.role == Role::kLocal || identity.name == worker) return absl::OkStatus();
  return absl::PermissionDeniedError("the certificate of worker " + identity.name +
                                     " cannot speak for worker " + Quoted(worker));
}

}  // namespace helx::server
