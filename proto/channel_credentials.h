// How a client or a worker proves to helxd who it is.
#ifndef HELX_PROTO_CHANNEL_CREDENTIALS_H_
#define HELX_PROTO_CHANNEL_CREDENTIALS_H_

#include <memory>

#include <grpcpp/security/credentials.h>

#include "proto/tls_files.h"

namespace helx::rpc {

// Mutual TLS over these files, which are read again when they change: a renewed certificate serves the next connection
// without a restart. Without files: plain text, for UNIX sockets and loopback.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const TlsFiles& files);

}  // namespace helx::rpc

#endif  // HELX_PROTO_CHANNEL_CREDENTIALS_H_
