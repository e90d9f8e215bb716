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

// The value of `server` in client.yaml; empty when the file does not set it.
absl::StatusOr<std::string> ServerOfConfig(const std::string& text, const std::string& path) {
  const auto document = ParseYaml(text, path);
  if (ErrorCodeOf(document.status()) == "empty_document") return "";
  HELX_RETURN_IF_ERROR(document.status());
  const YamlNode& root = (*document)->root();
  if (root.kind() == YamlNode::Kind::kNull) return "";
  HELX_RETURN_IF_ERROR(root.CheckKeys({"server"}));
  const YamlNode* server = root.Find("server");
  if (server == nullptr) return "";
  return server->Text();
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

absl::StatusOr<Endpoint> ResolveEndpoint(std::string_view flag, const Environment& environment) {
  Endpoint endpoint;
  if (!flag.empty()) {
    endpoint = {std::string(flag), "--server", false};
  } else if (std::string server = environment.Get("HELX_SERVER"); !server.empty()) {
    endpoint = {server, "HELX_SERVER", false};
  } else if (const auto folder = environment.ConfigFolder(); folder.ok()) {
    const std::string path = *folder + "/client.yaml";
    const auto text = ReadFile(path, kConfigBytes);
    if (text.ok()) {
      HELX_ASSIGN_OR_RETURN(endpoint.address, ServerOfConfig(*text, path));
      endpoint.source = path;
    } else if (!absl::IsNotFound(text.status())) {
      return InvalidArgument(MessageOf(text.status()) +
                             "; make it readable, or name a server with --server");
    }
  }
  if (endpoint.address.empty()) {
    endpoint = {"unix:" + environment.RuntimeFolder() + "/helxd.sock", "embedded", true};
  }
  HELX_RETURN_IF_ERROR(CheckAddress(endpoint.address, endpoint.source));
  return endpoint;
}

}  // namespace helx::client
