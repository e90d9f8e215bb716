#include "worker/sandbox/process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/base/file.h"

namespace helx::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void CloseRead() {
    if (read_end >= 0) close(read_end);
    read_end = -1;
  }
  void CloseWrite() {
    if (write_end >= 0) close(write_end);
    write_end = -1;
  }
};

// Keeps the first half and the last half of the limit.
class BoundedText {
 public:
  explicit BoundedText(size_t limit) : half_(limit / 2) {}
  void Add(std::string_view text) {
    const size_t room = half_ - std::min(half_, head_.size());
    head_.append(text.substr(0, room));
    text.remove_prefix(std::min(room, text.size()));
    tail_.append(text);
    if (tail_.size() > 2 * half_) {
      dropped_ += tail_.size() - half_;
      tail_.erase(0, tail_.size() - half_);
    }
  }
  std::string Take() {
    if (tail_.size() > half_) {
      dropped_ += tail_.size() - half_;
      tail_.erase(0, tail_.size() - half_);
    }
    if (dropped_ > 0) head_ += "\n[" + std::to_string(dropped_) + " bytes dropped]\n";
    return head_ + tail_;
  }

 private:
  size_t half_;
  size_t dropped_ = 0;
  std::string head_;
  std::string tail_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// In the child: limits, inherited descriptors and identity. Only async-signal-safe calls.
bool ApplyRestrictions(const Command& command) {
  for (const int fd : command.inherited) {
    if (fcntl(fd, F_SETFD, 0) != 0) return false;
  }
  if (command.user >= 0) {
    const auto id = static_cast<uid_t>(command.user);
    if (setgroups(0, nullptr) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) {
      return false;
    }
  }
  for (const ResourceLimit& limit : command.resource_limits) {
    const rlimit value{limit.value, limit.value};
    if (setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &value) != 0) return false;
  }
  // Last: a change of user clears it.
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

// Runs in the child: only async-signal-safe calls.
[[noreturn]] void Exec(const char* program, char* const* argv, char* const* envp,
                       const Command& command, int out, int err, int status_pipe) {
  setpgid(0, 0);
  const char* directory = command.directory.c_str();
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0 && dup2(null, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 &&
      (*directory == '\0' || chdir(directory) == 0) && ApplyRestrictions(command)) {
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(program, argv, envp);
  }
  const int error = errno;
  const ssize_t ignored = write(status_pipe, &error, sizeof(error));
  (void)ignored;
  _exit(127);
}

// Whether the child has ended; it stays to be reaped.
bool Ended(pid_t pid) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Kills and reaps what is left of an ended child's group, and the child; its wait status. Where this process is a subreaper,
// the group's orphans are its children too. The group's number stays taken as long as it has a member, so nothing else is
// reaped by mistake.
int ReapGroup(pid_t pid) {
  kill(-pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  for (int tries = 0; tries < 500; ++tries) {
    const pid_t reaped = waitpid(-pid, nullptr, WNOHANG);
    if (reaped < 0 && errno != EINTR) break;
    if (reaped == 0) usleep(1000);
  }
  return status;
}

std::vector<std::string> PathFolders() {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> folders;
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    if (rest.starts_with('/')) folders.emplace_back(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return folders;
}

}  // namespace

std::string FindProgram(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    const std::string path(name);
    return access(path.c_str(), X_OK) == 0 ? path : "";
  }
  for (const std::string& folder : PathFolders()) {
    const std::string candidate = folder + "/" + std::string(name);
    if (IsProgram(candidate)) return candidate;
  }
  return "";
}

ProgramPlaces FindProgramPlaces(const std::vector<std::string>& names) {
  namespace fs = std::filesystem;
  std::set<std::string> holders, folders;
  for (const std::string& name : names) {
    const std::string program = FindProgram(name);
    if (program.empty()) continue;
    holders.insert(fs::path(program).parent_path());
    std::error_code error;
    const fs::path bin = fs::canonical(program, error).parent_path();
    if (error) continue;
    folders.insert(fs::path(program).parent_path());
    folders.insert(bin);
    // A compiler's own programs and libraries lie beside its bin folder.
    if (bin.filename() != "bin") continue;
    for (const char* beside : {"lib", "lib64", "libexec", "share", "arm-none-eabi"}) {
      if (fs::exists(bin.parent_path() / beside, error)) {
        folders.insert(bin.parent_path() / beside);
      }
    }
  }
  ProgramPlaces places;
  for (const std::string& folder : PathFolders()) {
    if (holders.erase(folder) > 0) places.path.push_back(folder);
  }
  for (const std::string& folder : folders) {
    if (!folder.starts_with("/usr/")) places.folders.push_back(folder);
  }
  return places;
}

absl::StatusOr<ProcessResult> Run(const Command& command) {
  if (command.argv.empty()) return InvalidArgument("a command needs at least a program");
  const std::string program = FindProgram(command.argv[0]);
  if (program.empty()) {
    return NotFound("the program " + command.argv[0] + " is not installed (not found in PATH)");
  }
  Pipe out, err, status;
  if (!out.Open() || !err.Open() || !status.Open()) {
    return absl::ResourceExhaustedError("cannot create pipes: " + std::string(strerror(errno)));
  }
  const std::vector<char*> argv = Pointers(command.argv);
  const std::vector<char*> envp = Pointers(command.environment);
  const auto start = Clock::now();
  const pid_t pid = fork();
  if (pid < 0) return absl::ResourceExhaustedError("cannot fork: " + std::string(strerror(errno)));
  if (pid == 0) {
    Exec(program.c_str(), argv.data(), envp.data(), command, out.write_end, err.write_end,
         status.write_end);
  }
  setpgid(pid, pid);
  out.CloseWrite();
  err.CloseWrite();
  status.CloseWrite();

  ProcessResult result;
  BoundedText kept_out(command.output_limit), kept_err(command.output_limit);
  char buffer[1 << 16];
  bool killed = false;
  auto kill_group = [&] {
    if (!killed) kill(-pid, SIGKILL);
    killed = true;
  };
  while (out.read_end >= 0 || err.read_end >= 0) {
    const auto elapsed = Clock::now() - start;
    if (elapsed >= command.limit && !killed) {
      result.timed_out = true;
      kill_group();
    }
    if (!killed && command.cancelled && command.cancelled()) {
      result.cancelled = true;
      kill_group();
    }
    pollfd fds[2] = {{out.read_end, POLLIN, 0}, {err.read_end, POLLIN, 0}};
    if (poll(fds, 2, 50) <= 0) {
      // A grandchild may hold the pipes open after the child is gone: it ends with the group, and if it left the group
      // nobody waits for it.
      if (Ended(pid)) {
        if (killed) break;
        kill_group();
      }
      continue;
    }
    auto drain = [&](Pipe& pipe, short revents, bool is_out) {
      if (pipe.read_end < 0 || revents == 0) return;
      const ssize_t n = read(pipe.read_end, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) return;
      if (n <= 0) {
        pipe.CloseRead();
        return;
      }
      const std::string_view piece(buffer, static_cast<size_t>(n));
      if (is_out && command.on_stdout) {
        if (!killed && !command.on_stdout(piece)) {
          result.cancelled = true;
          kill_group();
        }
        return;
      }
      (is_out ? kept_out : kept_err).Add(piece);
    };
    drain(out, fds[0].revents, true);
    drain(err, fds[1].revents, false);
  }
  // The pipes may close before the child ends: the limit holds on.
  while (!Ended(pid)) {
    if (Clock::now() - start >= command.limit && !killed) {
      result.timed_out = true;
      kill_group();
    }
    if (!killed && command.cancelled && command.cancelled()) {
      result.cancelled = true;
      kill_group();
    }
    usleep(1000);
  }
  const int wait_status = ReapGroup(pid);
  int exec_error = 0;
  if (read(status.read_end, &exec_error, sizeof(exec_error)) == sizeof(exec_error)) {
    return NotFound("cannot run " + program + ": " + strerror(exec_error));
  }
  result.exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  result.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  result.out = kept_out.Take();
  result.err = kept_err.Take();
  result.wall = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  return result;
}

}  // namespace helx::sandbox
