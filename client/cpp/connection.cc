#include "client/cpp/connection.h"

#include "client/cpp/rpc.h"
#include "helx/v1/capabilities.grpc.pb.h"
#include "helx/v1/rpc_status.pb.h"
#include "proto/channel_credentials.h"

namespace helx::client {
namespace {

constexpr int kReceiveBytes = 16 << 20;  // a page of jobs with their histories
constexpr int kSendBytes = 4 << 20;      // documents and 1 MiB pieces of blobs

std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kReceiveBytes);
  arguments.SetMaxSendMessageSize(kSendBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(endpoint.address, rpc::ChannelCredentials(endpoint.tls),
                                   arguments);
}

// Waits until the channel is connected or has failed once.
absl::Status Connect(grpc::Channel& channel, const ConnectionOptions& options,
                     std::stop_token stop) {
  const auto deadline = std::chrono::system_clock::now() + options.connect_limit;
  const std::string who = options.endpoint.address + " (from " + options.endpoint.source + ")";
  for (;;) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      return Unreachable("no server answers at " + who +
                         (options.endpoint.tls.empty()
                              ? "; start one there with helxd --listen, or correct the address"
                              : ", or it does not accept this certificate (or is not named by it "
                                "as the authority in --tls-ca says); its log says which"));
    }
    if (stop.stop_requested()) return Interrupted();
    const auto now = std::chrono::system_clock::now();
    if (now >= deadline) {
      return Unreachable("no connection to " + who + " within " +
                         std::to_string(options.connect_limit.count()) +
                         " ms; check the address and the network");
    }
    channel.WaitForStateChange(state, std::min(deadline, now + std::chrono::milliseconds(100)));
  }
}

}  // namespace

absl::Status CheckMetadata(const std::vector<std::pair<std::string, std::string>>& metadata) {
  for (const auto& [key, value] : metadata) {
    const bool key_ok =
        !key.empty() && key.rfind("grpc-", 0) != 0 &&
        key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-") == std::string::npos &&
        !(key.size() >= 4 && key.compare(key.size() - 4, 4, "-bin") == 0);
    if (!key_ok) {
      return InvalidArgument("metadata key '" + key +
                             "': allowed are a-z, 0-9, '_', '.' and '-', not beginning with "
                             "'grpc-' and not ending in '-bin'");
    }
    for (const unsigned char c : value) {
      if (c < 0x20 || c > 0x7e) {
        char hex[8];
        std::snprintf(hex, sizeof hex, "0x%02x", c);
        return InvalidArgument("metadata '" + key + "' holds the byte " + hex +
                               "; allowed is printable ASCII");
      }
    }
  }
  return absl::OkStatus();
}

namespace {

// The stable code in the status's details, if it has one.
std::string ReasonOf(const grpc::Status& status) {
  helx::v1::RpcStatus details;
  if (!details.ParseFromString(status.error_details())) return "";
  for (const auto& any : details.details()) {
    helx::v1::ErrorInfo info;
    if (any.type_url() == "type.googleapis.com/google.rpc.ErrorInfo" &&
        info.ParseFromString(any.value()) && info.domain() == "helx") {
      return info.reason();
    }
  }
  return "";
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status, const Connection& connection) {
  if (status.ok()) return absl::OkStatus();
  const Endpoint& endpoint = connection.options().endpoint;
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    return Unreachable("the server at " + endpoint.address + " (from " + endpoint.source +
                       ") went away: " + status.error_message() +
                       "; see its log, then run the command again");
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return Unreachable("the server at " + endpoint.address + " (from " + endpoint.source +
                       ") did not answer in time; see its log, then run the command again");
  }
  std::string message = status.error_message();
  if (message.empty()) {
    message = "the server gave no reason (gRPC code " + std::to_string(status.error_code()) +
              "); see its log";
  }
  const absl::Status said = FromServer(static_cast<absl::StatusCode>(status.error_code()), message);
  const std::string reason = ReasonOf(status);
  return reason.empty() ? said : WithErrorCode(said, reason);
}

void Prepare(grpc::ClientContext& context, const Connection& connection,
             std::chrono::milliseconds limit) {
  if (limit.count() > 0) context.set_deadline(std::chrono::system_clock::now() + limit);
  for (const auto& [key, value] : connection.options().metadata) context.AddMetadata(key, value);
}

Connection::Connection(ConnectionOptions options, std::unique_ptr<Transport> transport)
    : options_(std::move(options)), transport_(std::move(transport)) {}

Connection::~Connection() = default;

absl::StatusOr<std::shared_ptr<Connection>> Connection::Open(ConnectionOptions options,
                                                             std::stop_token stop) {
  HELX_RETURN_IF_ERROR(CheckMetadata(options.metadata));
  HELX_RETURN_IF_ERROR(CheckAddress(options.endpoint.address, options.endpoint.source));
  HELX_RETURN_IF_ERROR(CheckTransport(options.endpoint));
  if (options.endpoint.embedded) HELX_RETURN_IF_ERROR(EnsureEmbeddedServer(options.embedded));
  auto transport = std::make_unique<Transport>();
  transport->channel = MakeChannel(options.endpoint);
  HELX_RETURN_IF_ERROR(Connect(*transport->channel, options, stop));
  return std::shared_ptr<Connection>(new Connection(std::move(options), std::move(transport)));
}

absl::StatusOr<std::shared_ptr<Connection>> Connection::Open(std::string_view server_flag,
                                                             const Environment& environment,
                                                             std::stop_token stop,
                                                             const rpc::TlsFiles& tls_flags) {
  ConnectionOptions options;
  HELX_ASSIGN_OR_RETURN(options.endpoint, ResolveEndpoint(server_flag, environment, tls_flags));
  if (options.endpoint.embedded) {
    HELX_ASSIGN_OR_RETURN(
        options.embedded,
        EmbeddedServerOf(environment, options.endpoint.address.substr(sizeof("unix:") - 1)));
  }
  return Open(std::move(options), stop);
}

absl::Status Connection::Revive() const {
  return options_.endpoint.embedded ? EnsureEmbeddedServer(options_.embedded) : absl::OkStatus();
}

absl::StatusOr<helx::v1::ServerCapabilities> Connection::Capabilities(std::stop_token stop) {
  const auto stub = helx::v1::Capabilities::NewStub(transport_->channel);
  helx::v1::ServerCapabilities response;
  HELX_RETURN_IF_ERROR(Call(*this, *stub, &helx::v1::Capabilities::Stub::Get,
                            helx::v1::GetCapabilitiesRequest(), response, stop));
  return response;
}

}  // namespace helx::client
