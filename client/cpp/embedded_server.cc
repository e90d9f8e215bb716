#include "client/cpp/embedded_server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "client/cpp/errors.h"
#include "client/cpp/private_folder.h"
#include "core/base/file.h"

extern char** environ;

namespace helx::client {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPoll{10};
constexpr std::chrono::milliseconds kAttemptPause{200};
// helxd's words when its data folder is locked, and when its holder serves: it will not go away
// soon.
constexpr char kStoreInUse[] = "in use by another helxd";
constexpr char kHolderServes[] = ", serving on ";

// Holds an exclusive lock on a file until it goes out of scope.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Take(const std::string& path, Clock::time_point deadline) {
    FileLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.fd_ < 0) {
      return Unreachable("cannot open the lock file " + path + ": " + std::strerror(errno));
    }
    while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return Unreachable("cannot lock " + path + ": " + std::strerror(errno));
      }
      if (Clock::now() > deadline) {
        return Unreachable("another process holds " + path +
                           " and its server did not come up; end that process, then try again");
      }
      std::this_thread::sleep_for(kPoll);
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

std::string LastLines(const std::string& path, size_t lines) {
  const auto content = ReadFile(path);
  if (!content.ok() || content->empty()) return "(the log is empty)";
  size_t begin = content->size();
  if (content->back() == '\n') --begin;
  while (lines > 0 && begin > 0) {
    if ((*content)[begin - 1] == '\n' && --lines == 0) break;
    --begin;
  }
  return content->substr(begin);
}

// Starts the program in a session of its own, so that the terminal's signals do not reach it.
absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Unreachable("cannot start " + command[0] + ": " + std::strerror(error));
  }
  return pid;
}

std::string EndingText(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(wait_status));
  }
  return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
}

// One start; UNREACHABLE when the server ended or did not answer in time. `store_in_use`: it ended
// because an older server that is just stopping still holds the store.
absl::Status StartOnce(const EmbeddedServerOptions& options, const std::string& log,
                       Clock::time_point deadline, bool& store_in_use) {
  unlink(options.socket.c_str());  // of a server that was killed; the lock makes this ours to do
  HELX_ASSIGN_OR_RETURN(const pid_t pid, Spawn(EmbeddedServerCommand(options), log));
  for (;;) {
    if (SocketAnswers(options.socket)) return absl::OkStatus();
    int wait_status = 0;
    if (waitpid(pid, &wait_status, WNOHANG) == pid) {
      const std::string said = LastLines(log, 10);
      store_in_use = said.find(kStoreInUse) != std::string::npos;
      if (const size_t serves = said.find(kHolderServes);
          store_in_use && serves != std::string::npos) {
        store_in_use = false;
        const size_t begin = serves + std::strlen(kHolderServes);
        const std::string address = said.substr(begin, said.find(')', begin) - begin);
        return Unreachable("another helxd serves your store, " + options.data_folder + ", on " +
                           address + ": use it with --server " + address +
                           ", or stop it. It was said by " + log + ":\n" + said);
      }
      return Unreachable("the embedded server " + options.program + " " + EndingText(wait_status) +
                         " while it started; the end of its log " + log + ":\n" + said);
    }
    if (Clock::now() > deadline) {
      kill(pid, SIGTERM);
      return Unreachable("the embedded server " + options.program + " did not answer on " +
                         options.socket + " within " +
                         std::to_string(options.start_limit.count() / 1000) +
                         " s; the end of its log " + log + ":\n" + LastLines(log, 10));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

absl::Status MakeDataFolder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder(path);
  std::filesystem::create_directories(folder.parent_path(), error);
  if (!error && mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    return Unreachable("cannot make the folder of the store, " + path + ": " + error.message() +
                       "; set XDG_DATA_HOME to a folder that you can write");
  }
  return absl::OkStatus();
}

}  // namespace

std::string FindInPath(const Environment& environment, const std::string& name) {
  const std::string path = environment.Get("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = path.find(':', begin);
    if (end == std::string::npos) end = path.size();
    const std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (candidate[0] == '/' && end > begin && IsProgram(candidate)) return candidate;
    begin = end + 1;
  }
  return "";
}

absl::StatusOr<std::string> FindProgramOfHelx(const Environment& environment,
                                              const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = error ? "" : (self.parent_path() / name).string();
  if (!beside.empty() && IsProgram(beside)) return beside;
  const std::string found = FindInPath(environment, name);
  if (!found.empty()) return found;
  return NotFound("the program " + name + " is neither beside this one (" + beside +
                  ") nor in PATH; install it there");
}

absl::StatusOr<std::string> FindServerProgram(const Environment& environment) {
  return FindProgramOfHelx(environment, "helxd");
}

std::vector<std::string> EmbeddedServerCommand(const EmbeddedServerOptions& options) {
  return {options.program,
          "--listen",
          "unix:" + options.socket,
          "--data-dir",
          options.data_folder,
          "--idle-exit-seconds",
          std::to_string(options.idle_exit_seconds)};
}

bool SocketAnswers(const std::string& socket_path) {
  sockaddr_un address{};
  if (socket_path.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool answers =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return answers;
}

absl::Status EnsureEmbeddedServer(const EmbeddedServerOptions& options) {
  const std::string folder = std::filesystem::path(options.socket).parent_path();
  if (const absl::Status made = EnsurePrivateFolder(folder); !made.ok()) {
    return Unreachable("no embedded server: " + MessageOf(made));
  }
  if (SocketAnswers(options.socket)) return absl::OkStatus();
  // Another process may be starting it for as long as its own limit says.
  HELX_ASSIGN_OR_RETURN(
      const FileLock lock,
      FileLock::Take(folder + "/helxd.lock", Clock::now() + options.start_limit * 2));
  if (SocketAnswers(options.socket)) return absl::OkStatus();
  HELX_RETURN_IF_ERROR(MakeDataFolder(options.data_folder));
  const std::string log = folder + "/helxd.log";
  const Clock::time_point deadline = Clock::now() + options.start_limit;
  for (;;) {
    bool store_in_use = false;
    const absl::Status status = StartOnce(options, log, deadline, store_in_use);
    if (status.ok() || !store_in_use || Clock::now() + kAttemptPause > deadline) return status;
    std::this_thread::sleep_for(kAttemptPause);
  }
}

absl::StatusOr<EmbeddedServerOptions> EmbeddedServerOf(const Environment& environment,
                                                       const std::string& socket) {
  EmbeddedServerOptions options;
  options.socket = socket;
  HELX_ASSIGN_OR_RETURN(options.data_folder, environment.DataFolder());
  const auto program = FindServerProgram(environment);
  if (!program.ok()) {
    return Unreachable("no server is configured and none can be started: " +
                       MessageOf(program.status()) + ", or name a server with --server");
  }
  options.program = *program;
  return options;
}

}  // namespace helx::client
