// What libhelx reads from the process environment, as a value, so that tests can set it.
#ifndef HELX_CLIENT_CPP_ENVIRONMENT_H_
#define HELX_CLIENT_CPP_ENVIRONMENT_H_

#include <map>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx::client {

class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> values)
      : values_(std::move(values)) {}

  // HELX_SERVER, HELX_TLS_*, HOME, PATH, TMPDIR and the XDG_* variables of this process.
  static Environment OfProcess();

  // The value of a variable, or empty when it is unset.
  std::string Get(std::string_view name) const;

  // Folders of the XDG Base Directory Specification. A relative value of an XDG_* variable is ignored, as the
  // specification asks. FAILED_PRECONDITION when HOME is needed and unset.
  absl::StatusOr<std::string> ConfigFolder() const;  // $XDG_CONFIG_HOME/helx, else ~/.config/helx
  absl::StatusOr<std::string> DataFolder() const;    // $XDG_DATA_HOME/helx, else ~/.local/share/helx
  // $XDG_RUNTIME_DIR/helx, else helx-<uid> in the system's temporary folder.
  std::string RuntimeFolder() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_ENVIRONMENT_H_
