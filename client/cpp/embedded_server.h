// Starts helxd on a UNIX socket of the user's when none answers there.
#ifndef HELX_CLIENT_CPP_EMBEDDED_SERVER_H_
#define HELX_CLIENT_CPP_EMBEDDED_SERVER_H_

#include <chrono>
#include <string>
#include <vector>

#include "client/cpp/environment.h"
#include "core/base/status.h"

namespace helx::client {

struct EmbeddedServerOptions {
  std::string socket;        // absolute path; its folder is made private (0700)
  std::string data_folder;   // the store; made with mode 0700 when absent
  std::string program;       // absolute path of helxd
  int idle_exit_seconds = 300;
  std::chrono::milliseconds start_limit{60'000};
};

// helxd beside this executable, else the first in PATH. NOT_FOUND naming both places.
absl::StatusOr<std::string> FindServerProgram(const Environment& environment);
// The same for any program of HELX.
absl::StatusOr<std::string> FindProgramOfHelx(const Environment& environment,
                                              const std::string& name);
// The absolute path of an executable in PATH, or empty.
std::string FindInPath(const Environment& environment, const std::string& name);

// The command line with which the server is started.
std::vector<std::string> EmbeddedServerCommand(const EmbeddedServerOptions& options);

// Whether something accepts connections on the socket.
bool SocketAnswers(const std::string& socket);

// Returns once a server accepts connections on the socket. Safe against other processes that do the same at the same
// time: a lock file beside the socket lets one of them start the server, and the others find it. The server outlives
// this process (own session, log in helxd.log beside the socket) and ends by itself when idle.
// UNREACHABLE (errors.h) with the last lines of its log when it cannot be started.
absl::Status EnsureEmbeddedServer(const EmbeddedServerOptions& options);

// The options for this user's embedded server.
absl::StatusOr<EmbeddedServerOptions> EmbeddedServerOf(const Environment& environment,
                                                       const std::string& socket);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_EMBEDDED_SERVER_H_
