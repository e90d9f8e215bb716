// Authentication and authorisation of every call, before any service sees it.
#ifndef HELX_SERVER_API_AUTHENTICATOR_H_
#define HELX_SERVER_API_AUTHENTICATOR_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "core/base/status.h"
#include "proto/tls_files.h"
#include "server/security/identity.h"

namespace helx::server {

// Who is at the other end of a connection: the certificate's identity over TLS, the local user over a UNIX socket or loopback
// in plain text. UNAUTHENTICATED for anything else.
absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context);

// Mutual TLS: a client must present a certificate of `files.ca`, and every call passes the table of security/authorization.h.
// The files are looked at every `refresh_seconds` and serve new connections as they are then.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const rpc::TlsFiles& files,
                                                        unsigned refresh_seconds);

}  // namespace helx::server

#endif  // HELX_SERVER_API_AUTHENTICATOR_H_
