#include "worker/sandbox/sandbox.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/base/json.h"
#include "worker/sandbox/seccomp.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HELX_SHADOW_MEMORY 1
#else
#define HELX_SHADOW_MEMORY 0
#endif

namespace helx::sandbox {
namespace {

// "nobody": the user inside.
constexpr int64_t kNobody = 65534;

// The user outside when helx-worker runs as root: of this process alone, because RLIMIT_NPROC counts a user's processes
// everywhere, and work that forks without end would otherwise keep other workers from starting any. A container that maps
// few users has only nobody.
int64_t OuterUser() {
  static const int64_t user = [] {
    std::ifstream map("/proc/self/uid_map");
    int64_t inside = 0, outside = 0, count = 0;
    map >> inside >> outside >> count;
    constexpr int64_t kFirst = 1'600'000'000;  // above what systems and containers allot
    return inside == 0 && count > kFirst + getpid() ? kFirst + getpid() : kNobody;
  }();
  return user;
}

class UniqueFd {
 public:
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// A memory file with the filter, at its beginning; -1 without a filter. bubblewrap reads it to its end: one per run.
int OpenFilter() {
  const auto program = SeccompProgram();
  if (!program.ok()) return -1;
  const int fd = memfd_create("helx-seccomp", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (write(fd, program->data(), program->size()) != static_cast<ssize_t>(program->size()) ||
      lseek(fd, 0, SEEK_SET) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// Reaps bubblewrap's inner process, which its outer one leaves behind: an orphan comes to this process (a subreaper), and
// unreaped it would count against its user's process limit. `info` holds {"child-pid": N, ...}.
void ReapInner(int info) {
  char text[512] = {};
  if (pread(info, text, sizeof(text) - 1, 0) <= 0) return;
  const auto json = ParseJson(text);
  if (!json.ok()) return;
  const auto pid = JsonInt(*json, "child-pid", "bubblewrap's information");
  if (!pid.ok() || *pid <= 1) return;
  for (int tries = 0; tries < 1000; ++tries) {
    if (waitpid(static_cast<pid_t>(*pid), nullptr, WNOHANG) != 0) return;  // reaped, or not ours
    usleep(1000);
  }
}

// Whether a user who owns nothing gets to `path`: bubblewrap resolves binds with the rights of whoever starts it.
bool ReachableByOthers(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return false;
  const mode_t needed = S_ISDIR(info.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
  if (info.st_uid != OuterUser() && (info.st_mode & needed) != needed) return false;
  for (size_t slash = path.rfind('/'); slash != 0 && slash != std::string::npos;
       slash = path.rfind('/', slash - 1)) {
    if (stat(path.substr(0, slash).c_str(), &info) != 0 ||
        (info.st_uid != OuterUser() && (info.st_mode & S_IXOTH) == 0)) {
      return false;
    }
  }
  return true;
}

// A root process gives up its user before bubblewrap starts: RLIMIT_NPROC does not bind root, and files are read with the
// rights of that user. Possible when it reaches every bind.
bool DropsUser(const Sandbox& sandbox) {
  if (geteuid() != 0) return false;
  return std::all_of(sandbox.binds.begin(), sandbox.binds.end(), [](const Bind& bind) {
    // Writable binds change hands before the run.
    const std::string parent = bind.path.substr(0, bind.path.rfind('/'));
    return ReachableByOthers(bind.writable && !parent.empty() ? parent : bind.path);
  });
}

std::vector<ResourceLimit> Limits(const Sandbox& sandbox) {
  std::vector<ResourceLimit> limits = {{RLIMIT_CORE, 0},
                                       {RLIMIT_FSIZE, sandbox.file_bytes},
                                       {RLIMIT_NPROC, sandbox.processes},
                                       {RLIMIT_NOFILE, sandbox.open_files}};
  // A sanitised build reserves terabytes of shadow memory at start.
  if (sandbox.address_space_bytes > 0 && !HELX_SHADOW_MEMORY) {
    limits.push_back({RLIMIT_AS, sandbox.address_space_bytes});
  }
  return limits;
}

std::vector<std::string> Arguments(const Sandbox& sandbox, const Command& command,
                                   const std::string& filter, const std::string& info) {
  std::vector<std::string> argv = {
      "bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session",
      "--cap-drop", "ALL", "--uid", std::to_string(kNobody), "--gid", std::to_string(kNobody),
      "--hostname", "helx", "--ro-bind", "/usr", "/usr"};
  for (const char* name : {"bin", "lib", "lib32", "lib64", "sbin"}) {
    if (access((std::string("/usr/") + name).c_str(), F_OK) == 0) {
      argv.insert(argv.end(), {"--symlink", std::string("usr/") + name, std::string("/") + name});
    }
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/alternatives"}) {
    argv.insert(argv.end(), {"--ro-bind-try", path, path});
  }
  argv.insert(argv.end(), {"--proc", "/proc", "--dev", "/dev", "--perms", "0700", "--size",
                           std::to_string(sandbox.temporary_bytes), "--tmpfs", "/tmp"});
  for (const Bind& bind : sandbox.binds) {
    argv.insert(argv.end(), {bind.writable ? "--bind" : "--ro-bind", bind.path, bind.path});
  }
  if (!filter.empty()) argv.insert(argv.end(), {"--seccomp", filter});
  argv.insert(argv.end(), {"--info-fd", info});
  argv.insert(argv.end(), {"--chdir", command.directory.empty() ? "/tmp" : command.directory, "--"});
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  return argv;
}

absl::Status CheckBinds(const Sandbox& sandbox) {
  for (const Bind& bind : sandbox.binds) {
    if (bind.path.empty() || bind.path[0] != '/') {
      return InvalidArgument("a sandbox bind needs an absolute path, not \"" + bind.path + "\"");
    }
    if (access(bind.path.c_str(), F_OK) != 0) {
      return NotFound("cannot give " + bind.path + " to the sandbox: " + std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ProcessResult> RunIsolated(const Sandbox& sandbox, const Command& command) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const UniqueFd filter(OpenFilter()), info(memfd_create("helx-sandbox-info", MFD_CLOEXEC));
  if (info.get() < 0) return absl::ResourceExhaustedError("cannot create a memory file");
  Command outer = command;
  outer.argv = Arguments(sandbox, command, filter.get() < 0 ? "" : std::to_string(filter.get()),
                         std::to_string(info.get()));
  outer.directory = "/";
  outer.resource_limits = Limits(sandbox);
  outer.resource_limits.insert(outer.resource_limits.end(), command.resource_limits.begin(),
                               command.resource_limits.end());
  outer.inherited.push_back(info.get());
  if (filter.get() >= 0) outer.inherited.push_back(filter.get());
  if (DropsUser(sandbox)) {
    outer.user = OuterUser();
    for (const Bind& bind : sandbox.binds) {
      if (bind.writable && chown(bind.path.c_str(), static_cast<uid_t>(OuterUser()),
                                 static_cast<gid_t>(OuterUser())) != 0) {
        return FailedPrecondition("cannot hand " + bind.path + " to the sandbox's user: " +
                                  std::strerror(errno));
      }
    }
  }
  auto result = Run(outer);
  ReapInner(info.get());
  return result;
}

// Why this host cannot isolate; empty when it can. Tried once per process.
const std::string& IsolationFailure() {
  static const std::string failure = [] {
    if (FindProgram("bwrap").empty()) {
      return std::string("bubblewrap is not installed (Debian: apt-get install bubblewrap)");
    }
    Command command;
    command.argv = {"/usr/bin/true"};
    command.limit = std::chrono::seconds(20);
    const auto result = RunIsolated({}, command);
    if (!result.ok()) return MessageOf(result.status());
    if (result->ok()) return std::string();
    return "bubblewrap fails here" + (result->err.empty() ? "" : ": " + result->err) +
           " (are unprivileged user namespaces allowed?)";
  }();
  return failure;
}

}  // namespace

std::vector<std::string> SandboxArguments(const Sandbox& sandbox, const Command& command) {
  return Arguments(sandbox, command, SeccompProgram().ok() ? "<filter>" : "", "<info>");
}

absl::StatusOr<ProcessResult> RunSandboxed(const Sandbox& sandbox, const Command& command) {
  HELX_RETURN_IF_ERROR(CheckBinds(sandbox));
  if (IsolationFailure().empty()) return RunIsolated(sandbox, command);
  if (!sandbox.allow_unisolated) {
    return FailedPrecondition("work is not isolated on this host, and so refused: " +
                              IsolationFailure());
  }
  Command bare = command;
  bare.resource_limits = Limits(sandbox);
  bare.resource_limits.insert(bare.resource_limits.end(), command.resource_limits.begin(),
                              command.resource_limits.end());
  return Run(bare);
}

SandboxReport ProbeSandbox() {
  SandboxReport report;
  const std::string path = FindProgram("bwrap");
  std::string version;
  if (!path.empty()) {
    Command command;
    command.argv = {path, "--version"};
    const auto result = Run(command);
    if (result.ok()) version = result->out.substr(0, result->out.find('\n'));
  }
  report.capabilities.push_back(
      {"bubblewrap", !path.empty(),
       path.empty() ? "not installed (Debian: apt-get install bubblewrap)" : version});
  report.isolated = IsolationFailure().empty();
  report.capabilities.push_back(
      {"namespaces", report.isolated,
       report.isolated ? "user, process, mount, network, IPC and host-name namespaces"
                       : IsolationFailure()});
  if (!report.isolated) return report;

  Command command;
  command.argv = {"/usr/bin/cat", "/proc/self/status", "/proc/net/dev"};
  const auto inside = RunIsolated({}, command);
  const std::string text = inside.ok() ? inside->out : "";
  // Two lines of heading, then one line per interface: loopback alone.
  const size_t heading = text.find("Inter-|");
  const bool alone = heading != std::string::npos &&
                     std::count(text.begin() + static_cast<ptrdiff_t>(heading), text.end(), '\n') <= 3;
  report.capabilities.push_back({"no network", alone, alone ? "loopback only" : "interfaces are visible"});
  const bool filtered = text.find("Seccomp:\t2") != std::string::npos;
  report.capabilities.push_back(
      {"system-call filter", filtered,
       filtered ? "active" : MessageOf(SeccompProgram().status())});
  const bool dropped = geteuid() != 0 || DropsUser({});
  report.capabilities.push_back(
      {"process limit", dropped,
       geteuid() != 0 ? "RLIMIT_NPROC of this user"
                      : "RLIMIT_NPROC as user " + std::to_string(OuterUser()) +
                            ", where that user reaches the work folder"});
  return report;
}

}  // namespace helx::sandbox
