// Which server to talk to: --server > HELX_SERVER > client.yaml > an embedded one.
#ifndef HELX_CLIENT_CPP_ENDPOINT_H_
#define HELX_CLIENT_CPP_ENDPOINT_H_

#include <string>
#include <string_view>

#include "client/cpp/environment.h"
#include "core/base/status.h"
#include "proto/tls_files.h"

namespace helx::client {

struct Endpoint {
  std::string address;   // "unix:/absolute/path" or "host:port", as gRPC takes it
  std::string source;    // for messages: "--server", "HELX_SERVER", the path of client.yaml, "embedded"
  bool embedded = false;  // libhelx starts the server when none answers
  rpc::TlsFiles tls;      // empty: plain text, on a UNIX socket or loopback
};

// Decides the server. `flag` is the value of --server, or empty. The file named client.yaml holds one mapping with the
// keys `server`, `tls_ca`, `tls_cert` and `tls_key`; a missing file is passed over. The TLS files of a HOST:PORT are, each,
// `tls_flags` > HELX_TLS_CA, HELX_TLS_CERT, HELX_TLS_KEY > client.yaml. INVALID_ARGUMENT for an address that is not
// "unix:PATH" or "HOST:PORT", or for a file that is not such a mapping.
absl::StatusOr<Endpoint> ResolveEndpoint(std::string_view flag, const Environment& environment,
                                         const rpc::TlsFiles& tls_flags = {});

// INVALID_ARGUMENT unless `address` is "unix:/absolute/path" (at most 107 bytes of path) or "host:port" in printable
// ASCII. `source` names where it was written.
absl::Status CheckAddress(std::string_view address, std::string_view source);

// INVALID_ARGUMENT for another host without TLS files, and for TLS files that cannot serve (expired, not matching, ...).
absl::Status CheckTransport(const Endpoint& endpoint);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_ENDPOINT_H_
