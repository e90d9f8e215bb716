#include "client/cpp/endpoint.h"

#include <sys/un.h>

#include <charconv>

#include "core/base/file.h"
#include "core/base/strict_yaml.h"

namespace helx::client {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kConfigBytes = 64u << 10;

absl::Status BadAddress(std::string_view address, std::string_view source,
                        const std::string& what) {
  return InvalidArgument("server address '" + std::string(address) + "' from " +
                         std::string(source) + ": " + what +
                         "; allowed are unix:/absolute/path and host:port");
}

bool IsPrintableAscii(std::string_view text) {
  for (const unsigned char c : text) {
    if (c <= 0x20 || c > 0x7e) return false;
  }
  return true;
}

struct Config {
  std::string server;
  rpc::TlsFiles tls;
};

// What client.yaml sets; empty texts for the rest.
absl::StatusOr<Config> ParseConfig(const std::string& text, const std::string& path) {
  Config config;
  const auto document = ParseYaml(text, path);
  if (ErrorCodeOf(document.status()) == "empty_document") return config;
  HELX_RETURN_IF_ERROR(document.status());
  const YamlNode& root = (*document)->root();
  if (root.kind() == YamlNode::Kind::kNull) return config;
  HELX_RETURN_IF_ERROR(root.CheckKeys({"server", "tls_ca", "tls_cert", "tls_key"}));
  for (const auto& [key, value] : {std::pair{"server", &config.server},
                                   std::pair{"tls_ca", &config.tls.ca},
                                   std::pair{"tls_cert", &config.tls.certificate},
                                   std::pair{"tls_key", &config.tls.key}}) {
    const YamlNode* node = root.Find(key);
    if (node == nullptr) continue;
    HELX_ASSIGN_OR_RETURN(*value, node->Text());
  }
  return config;
}

absl::StatusOr<Config> ReadConfig(const Environment& environment, std::string& path) {
  const auto folder = environment.ConfigFolder();
  if (!folder.ok()) return Config();
  path = *folder + "/client.yaml";
  const auto text = ReadFile(path, kConfigBytes);
  if (text.ok()) return ParseConfig(*text, path);
  if (absl::IsNotFound(text.status())) return Config();
  return InvalidArgument(MessageOf(text.status()) +
                         "; make it readable, or name a server with --server");
}

std::string FirstSet(const std::string& flag, const std::string& variable,
                     const std::string& config) {
  return !flag.empty() ? flag : !variable.empty() ? variable : config;
}

// TLS is for what is not a UNIX socket.
rpc::TlsFiles ResolveTls(const Environment& environment, const std::string& address,
                         const rpc::TlsFiles& flags, const rpc::TlsFiles& config) {
  if (address.substr(0, kUnix.size()) == kUnix) return {};
  return {FirstSet(flags.ca, environment.Get("HELX_TLS_CA"), config.ca),
                   FirstSet(flags.certificate, environment.Get("HELX_TLS_CERT"), config.certificate),
                   FirstSet(flags.key, environment.Get("HELX_TLS_KEY"), config.key)};
}

}  // namespace

absl::Status CheckAddress(std::string_view address, std::string_view source) {
  if (address.substr(0, kUnix.size()) == kUnix) {
    const std::string_view path = address.substr(kUnix.size());
    if (path.empty() || path[0] != '/') {
      return BadAddress(address, source, "the socket's path must be absolute");
    }
    if (path.find('\0') != std::string_view::npos || path.size() >= sizeof(sockaddr_un::sun_path)) {
      return BadAddress(address, source,
                        "the socket's path has " + std::to_string(path.size()) +
                            " bytes, and the system allows " +
                            std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                            "; use a folder with a shorter name");
    }
    return absl::OkStatus();
  }
  // gRPC makes the address an HTTP/2 header, and bytes outside ASCII there end the process.
  if (!IsPrintableAscii(address)) {
    return BadAddress(address, source, "only printable ASCII without spaces can be a host name");
  }
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    return BadAddress(address, source, "no port is given");
  }
  const std::string_view port = address.substr(colon + 1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (error != std::errc() || end != port.data() + port.size() || value < 1 || value > 65535) {
    return BadAddress(address, source, "the port must be a number from 1 to 65535");
  }
  if (address.find('/') != std::string_view::npos) {
    return BadAddress(address, source, "a host name has no '/'");
  }
  return absl::OkStatus();
}

absl::StatusOr<Endpoint> ResolveEndpoint(std::string_view flag, const Environment& environment,
                                         const rpc::TlsFiles& tls_flags) {
  Endpoint endpoint;
  std::string path;
  // What is said on the command line or in the environment does not depend on the file.
  const auto config = ReadConfig(environment, path);
  const bool needs_config = flag.empty() && environment.Get("HELX_SERVER").empty();
  if (needs_config) HELX_RETURN_IF_ERROR(config.status());
  if (!flag.empty()) {
    endpoint = {std::string(flag), "--server", false, {}};
  } else if (std::string server = environment.Get("HELX_SERVER"); !server.empty()) {
    endpoint = {server, "HELX_SERVER", false, {}};
  } else {
    endpoint = {config->server, path, false, {}};
  }
  if (endpoint.address.empty()) {
    endpoint = {"unix:" + environment.RuntimeFolder() + "/helxd.sock", "embedded", true, {}};
  }
  HELX_RETURN_IF_ERROR(CheckAddress(endpoint.address, endpoint.source));
  endpoint.tls = ResolveTls(environment, endpoint.address, tls_flags,
                            config.ok() ? config->tls : rpc::TlsFiles());
  return endpoint;
}

absl::Status CheckTransport(const Endpoint& endpoint) {
  if (endpoint.address.substr(0, kUnix.size()) == kUnix) return absl::OkStatus();
  if (!endpoint.tls.empty()) {
    return Annotate(rpc::CheckTlsFiles(endpoint.tls), "TLS to " + endpoint.address);
  }
  if (rpc::IsLoopbackAddress(endpoint.address)) return absl::OkStatus();
  return InvalidArgument("the server " + endpoint.address + " (from " + endpoint.source +
                         ") is on another host, where helxd speaks TLS only, and no certificate is "
                         "configured; give --tls-ca, --tls-cert and --tls-key, or set HELX_TLS_CA, "
                         "HELX_TLS_CERT and HELX_TLS_KEY");
}

}  // namespace helx::client
