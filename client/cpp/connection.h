// A connection to one helxd, shared by the clients of this folder. Thread-safe.
#ifndef HELX_CLIENT_CPP_CONNECTION_H_
#define HELX_CLIENT_CPP_CONNECTION_H_

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client/cpp/embedded_server.h"
#include "client/cpp/endpoint.h"
#include "core/base/status.h"
#include "helx/v1/capabilities.pb.h"

namespace helx::client {

// The most entries of a list that a server answers at once.
inline constexpr int64_t kLargestPage = 1000;

struct ConnectionOptions {
  Endpoint endpoint;
  EmbeddedServerOptions embedded;  // used when endpoint.embedded
  // Sent with every call. Keys [a-z0-9_.-]+ not beginning with "grpc-", values printable ASCII.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::chrono::milliseconds connect_limit{20'000};
  std::chrono::milliseconds call_limit{30'000};   // of one unary call
  std::chrono::milliseconds retry_window{15'000};  // how long a server may be away in the middle of work
};

// INVALID_ARGUMENT naming the entry that gRPC cannot carry (bytes outside printable ASCII would end the process).
absl::Status CheckMetadata(const std::vector<std::pair<std::string, std::string>>& metadata);

class Connection {
 public:
  // Starts the embedded server when that is the endpoint and none answers. UNREACHABLE when no connection comes about
  // within the limit.
  static absl::StatusOr<std::shared_ptr<Connection>> Open(ConnectionOptions options,
                                                          std::stop_token stop = {});
  // Resolves the endpoint (flag > HELX_SERVER > client.yaml > embedded), then opens it.
  static absl::StatusOr<std::shared_ptr<Connection>> Open(std::string_view server_flag,
                                                          const Environment& environment,
                                                          std::stop_token stop = {},
                                                          const rpc::TlsFiles& tls_flags = {});
  ~Connection();

  const ConnectionOptions& options() const { return options_; }

  // Brings an embedded server back when it has ended; nothing for others.
  absl::Status Revive() const;

  // Capabilities.Get.
  absl::StatusOr<helx::v1::ServerCapabilities> Capabilities(std::stop_token stop = {});

  // The gRPC side, for the clients of this folder (rpc.h).
  struct Transport;
  Transport& transport() { return *transport_; }

 private:
  Connection(ConnectionOptions options, std::unique_ptr<Transport> transport);

  ConnectionOptions options_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_CONNECTION_H_
