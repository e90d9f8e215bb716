#include "client/cpp/environment.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace helx::client {
namespace {

bool IsAbsolute(const std::string& path) { return !path.empty() && path[0] == '/'; }

}  // namespace

Environment Environment::OfProcess() {
  std::map<std::string, std::string, std::less<>> values;
  for (const char* name : {"HELX_SERVER", "HELX_TLS_CA", "HELX_TLS_CERT", "HELX_TLS_KEY", "HOME", "PATH", "TMPDIR", "XDG_CONFIG_HOME",
                           "XDG_DATA_HOME", "XDG_RUNTIME_DIR"}) {
    if (const char* value = std::getenv(name)) values[name] = value;
  }
  return Environment(std::move(values));
}

std::string Environment::Get(std::string_view name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? "" : it->second;
}

absl::StatusOr<std::string> Environment::ConfigFolder() const {
  const std::string base = Get("XDG_CONFIG_HOME");
  if (IsAbsolute(base)) return base + "/helx";
  const std::string home = Get("HOME");
  if (!IsAbsolute(home)) {
    return FailedPrecondition(
        "neither XDG_CONFIG_HOME nor HOME names an absolute folder; set one of them");
  }
  return home + "/.config/helx";
}

absl::StatusOr<std::string> Environment::DataFolder() const {
  const std::string base = Get("XDG_DATA_HOME");
  if (IsAbsolute(base)) return base + "/helx";
  const std::string home = Get("HOME");
  if (!IsAbsolute(home)) {
    return FailedPrecondition(
        "neither XDG_DATA_HOME nor HOME names an absolute folder, so there is no place for the "
        "store; set one of them, or name a server with --server");
  }
  return home + "/.local/share/helx";
}

std::string Environment::RuntimeFolder() const {
  const std::string base = Get("XDG_RUNTIME_DIR");
  if (IsAbsolute(base)) return base + "/helx";
  std::string temporary = Get("TMPDIR");
  if (!IsAbsolute(temporary)) temporary = "/tmp";
  return temporary + "/helx-" + std::to_string(geteuid());
}

}  // namespace helx::client
