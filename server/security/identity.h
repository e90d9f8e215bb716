// Who a certificate says its holder is.
//
// The identity is the certificate's one URI SAN, a SPIFFE ID:
//
//   spiffe://helx/{instance}/{role}/{name}
//
// instance: whose blobs, names, jobs and results the holder works on ([A-Za-z0-9][A-Za-z0-9._-]{0,63}); "any" for a worker,
// which serves every instance. role: viewer, submitter, operator or worker. name: the user's or the worker's.
#ifndef HELX_SERVER_SECURITY_IDENTITY_H_
#define HELX_SERVER_SECURITY_IDENTITY_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx::server {

enum class Role {
  kViewer,     // reads
  kSubmitter,  // reads, uploads, submits; cancels its own jobs
  kOperator,   // the same for every job of its instance; runs the pool and the store
  kWorker,     // leases actions and writes their results
  kLocal,      // whoever reaches the server without TLS: the user that owns it, so everything
};

struct Identity {
  std::string instance = "default";
  Role role = Role::kLocal;
  std::string name = "local";
};

// "viewer", ...
std::string_view RoleName(Role role);

// UNAUTHENTICATED with the form expected when `spiffe_id` is anything else.
absl::StatusOr<Identity> ParseIdentity(std::string_view spiffe_id);

}  // namespace helx::server

#endif  // HELX_SERVER_SECURITY_IDENTITY_H_
