#include "worker/agent/sandbox_selftest.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/base/json.h"

namespace helx::agent {
namespace {

// Small, so that filling it costs nothing; the policy is otherwise that of actions.
constexpr uint64_t kTemporaryBytes = uint64_t{32} << 20;
constexpr std::chrono::milliseconds kLimit{20'000};
constexpr std::chrono::milliseconds kHeartbeatWait{300};

// A port of this host's loopback, for as long as the object lives.
class Listener {
 public:
  Listener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd_, 1) == 0 &&
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      port_ = ntohs(address.sin_port);
    }
  }
  ~Listener() { close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int port() const { return port_; }

 private:
  int fd_;
  int port_ = 0;
};

int64_t SizeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

class Prison {
 public:
  Prison(std::string program, std::string inside, std::string outside)
      : program_(std::move(program)), inside_(std::move(inside)), outside_(std::move(outside)) {}

  EscapeAttempt Try(const std::string& name, const std::string& what,
                    std::vector<std::string> arguments) const {
    sandbox::Sandbox sandbox;
    sandbox.temporary_bytes = kTemporaryBytes;
    sandbox.binds = {{program_}, {inside_, true}, {outside_}};
    sandbox::Command command;
    command.argv = {program_, name};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    command.limit = kLimit;
    EscapeAttempt attempt{name, what, false, ""};
    const auto result = sandbox::RunSandboxed(sandbox, command);
    if (!result.ok()) {
      attempt.detail = MessageOf(result.status());
      return attempt;
    }
    // Being killed for it is containment too; saying nothing is no attempt. (bubblewrap passes a signal on as 128 + signal.)
    const bool killed = result->timed_out || result->signal != 0 || result->exit_code > 128;
    attempt.contained = killed || (result->exit_code == 1 && !result->out.empty());
    attempt.detail = result->out.empty() ? result->err : result->out;
    while (!attempt.detail.empty() && attempt.detail.back() == '\n') attempt.detail.pop_back();
    if (result->timed_out) attempt.detail += " (killed at the time limit)";
    return attempt;
  }

  EscapeAttempt TryToOutlive() const {
    const std::string heartbeat = inside_ + "/heartbeat";
    EscapeAttempt attempt =
        Try("outlive", "leave a process behind that ignores every signal", {heartbeat});
    const int64_t at_end = SizeOf(heartbeat);
    std::this_thread::sleep_for(kHeartbeatWait);
    const int64_t later = SizeOf(heartbeat);
    attempt.contained = attempt.contained && at_end > 0 && later == at_end;
    attempt.detail += at_end == 0      ? "; it never started"
                      : later > at_end ? "; it lived on"
                                       : "; it died with the job";
    return attempt;
  }

 private:
  const std::string program_;
  const std::string inside_;   // writable within
  const std::string outside_;  // read-only within
};

}  // namespace

bool SandboxSelfTest::ok() const {
  return report.isolated && !attempts.empty() &&
         std::all_of(attempts.begin(), attempts.end(),
                     [](const EscapeAttempt& attempt) { return attempt.contained; });
}

std::string SandboxSelfTest::ToJson() const {
  Json capabilities = Json::array();
  for (const sandbox::Capability& capability : report.capabilities) {
    capabilities.push_back({{"name", capability.name},
                            {"available", capability.available},
                            {"detail", capability.detail}});
  }
  Json list = Json::array();
  for (const EscapeAttempt& attempt : attempts) {
    list.push_back({{"name", attempt.name},
                    {"what", attempt.what},
                    {"contained", attempt.contained},
                    {"detail", attempt.detail}});
  }
  return Json{{"ok", ok()}, {"capabilities", capabilities}, {"attempts", list}}.dump();
}

SandboxSelfTest RunSandboxSelfTest(const std::string& escape_program) {
  SandboxSelfTest test;
  test.report = sandbox::ProbeSandbox();
  if (!test.report.isolated) return test;
  std::string folder = (std::filesystem::temp_directory_path() / "helx-selftest.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return test;
  const std::string inside = folder + "/inside";
  const std::string outside = folder + "/outside";
  std::error_code ignored;
  for (const std::string& path : {folder, inside, outside}) {
    std::filesystem::create_directory(path, ignored);
    // The sandbox's own user must be able to enter, and to write where the bind allows it.
    chmod(path.c_str(), path == folder ? 0755 : 0777);
  }
  const Listener listener;
  const Prison prison(escape_program, inside, outside);
  test.attempts = {
      prison.Try("shadow", "read /etc/shadow", {}),
      prison.Try("socket", "connect to a port of the host", {std::to_string(listener.port())}),
      prison.Try("forks", "start processes without end", {}),
      prison.Try("disk", "write into the host's folder, and without end into /tmp",
                 {std::to_string(kTemporaryBytes), outside}),
      prison.TryToOutlive(),
      prison.Try("signal", "signal a process of the host", {std::to_string(getpid())}),
      prison.Try("namespace", "become root in a namespace of its own", {}),
  };
  std::filesystem::remove_all(folder, ignored);
  return test;
}

}  // namespace helx::agent
