// Which server to talk to: --server > HELX_SERVER > client.yaml > an embedded one.
#ifndef HELX_CLIENT_CPP_ENDPOINT_H_
#define HELX_CLIENT_CPP_ENDPOINT_H_

#include <string>
#include <string_view>

#include "client/cpp/environment.h"
#include "core/base/status.h"

namespace helx::client {

struct Endpoint {
  std::string address;   // "unix:/absolute/path" or "host:port", as gRPC takes it
  std::string source;    // for messages: "--server", "HELX_SERVER", the path of client.yaml, "embedded"
  bool embedded = false;  // libhelx starts the server when none answers
};

// Decides the server. `flag` is the value of --server, or empty. The file named client.yaml holds one mapping with the
// key `server`; a missing file is passed over. INVALID_ARGUMENT for an address that is not "unix:PATH" or "HOST:PORT",
// or for a file that is not such a mapping.
absl::StatusOr<Endpoint> ResolveEndpoint(std::string_view flag, const Environment& environment);

// INVALID_ARGUMENT unless `address` is "unix:/absolute/path" (at most 107 bytes of path) or "host:port" in printable
// ASCII. `source` names where it was written.
absl::Status CheckAddress(std::string_view address, std::string_view source);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_ENDPOINT_H_
