// helx-escape: what a hostile action would try, one attempt per call, run inside the sandbox by the self-test. It says what
// happened on standard output; exit status 0 means that it got out, 1 that it did not.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kEscaped = 0;
constexpr int kContained = 1;
constexpr int kForksMost = 2000;
constexpr int kForksAllowed = 1000;
constexpr int kHeartbeats = 600;
constexpr int kHeartbeatMicros = 10'000;

int Contained(const std::string& what) {
  std::printf("%s: %s\n", what.c_str(), std::strerror(errno));
  return kContained;
}

// Reads what only the host's administrator may.
int ReadShadow() {
  const int fd = open("/etc/shadow", O_RDONLY);
  if (fd < 0) return Contained("open /etc/shadow");
  char byte;
  if (read(fd, &byte, 1) <= 0) return Contained("read /etc/shadow");
  std::printf("read /etc/shadow\n");
  return kEscaped;
}

// Reaches a port that listens on the host's loopback.
int Connect(const char* port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return Contained("socket");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return Contained("connect");
  std::printf("connected to the host's port %s\n", port);
  return kEscaped;
}

// Starts processes until it is stopped.
int ForkBomb() {
  int forks = 0;
  for (; forks < kForksMost; ++forks) {
    const pid_t pid = fork();
    if (pid < 0) break;
    if (pid == 0) {
      pause();
      _exit(0);
    }
  }
  const int error = errno;
  std::printf("%d processes, then: %s\n", forks, std::strerror(error));
  return forks >= kForksAllowed ? kEscaped : kContained;
}

// Writes until it is stopped: more than `limit` bytes of memory-backed disk, or anything in a folder of the host.
int FillDisk(const char* limit_text, const char* host_folder) {
  const std::string planted = std::string(host_folder) + "/planted";
  if (open(planted.c_str(), O_WRONLY | O_CREAT, 0600) >= 0) {
    std::printf("wrote into the host's %s\n", host_folder);
    return kEscaped;
  }
  const int64_t limit = std::atoll(limit_text);
  const std::string block(1 << 20, 'x');
  int64_t written = 0;
  for (int file = 0; written <= limit; ++file) {
    const int fd = open(("/tmp/fill" + std::to_string(file)).c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd < 0) break;
    const ssize_t n = write(fd, block.data(), block.size());
    close(fd);
    if (n <= 0) break;
    written += n;
  }
  const int error = errno;
  std::printf("%lld bytes, then: %s\n", static_cast<long long>(written), std::strerror(error));
  return written > limit ? kEscaped : kContained;
}

// Leaves a process behind that has its own session, ignores every signal it can and beats into a file. Whether it lives on is
// for the parent to see.
int Outlive(const char* heartbeat) {
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int signal_number = 1; signal_number < 32; ++signal_number) signal(signal_number, SIG_IGN);
    for (int fd = 0; fd < 3; ++fd) close(fd);
    const int fd = open(heartbeat, O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (int beat = 0; beat < kHeartbeats; ++beat) {
      if (write(fd, ".", 1) < 0) break;
      usleep(kHeartbeatMicros);
    }
    _exit(0);
  }
  usleep(10 * kHeartbeatMicros);
  std::printf("left a process behind\n");
  return kContained;
}

// Signals a process of the host.
int Signal(const char* pid) {
  if (kill(std::atoi(pid), 0) != 0) return Contained("kill");
  std::printf("reached the host's process %s\n", pid);
  return kEscaped;
}

// Makes a user namespace, in which it would be root again.
int Namespace() {
  if (unshare(CLONE_NEWUSER) != 0) return Contained("unshare");
  std::printf("made a user namespace\n");
  return kEscaped;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string attempt = argc > 1 ? argv[1] : "";
  if (attempt == "shadow") return ReadShadow();
  if (attempt == "socket" && argc == 3) return Connect(argv[2]);
  if (attempt == "forks") return ForkBomb();
  if (attempt == "disk" && argc == 4) return FillDisk(argv[2], argv[3]);
  if (attempt == "outlive" && argc == 3) return Outlive(argv[2]);
  if (attempt == "signal" && argc == 3) return Signal(argv[2]);
  if (attempt == "namespace") return Namespace();
  std::fprintf(stderr, "usage: helx-escape shadow|socket PORT|forks|disk BYTES FOLDER|outlive FILE|signal PID|namespace\n");
  return 2;
}
