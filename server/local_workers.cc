#include "server/local_workers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "server/telemetry/log.h"

namespace helx::server {
namespace {

constexpr int kPollMs = 100;
constexpr int64_t kStopMs = 3000;

int64_t SteadyMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void BecomeWorker(const char* binary, char* const* arguments, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  // stdout is where the daemon announced its address; workers have nothing to say there.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(binary, arguments);
  _exit(127);
}

}  // namespace

LocalWorkers::LocalWorkers(const LocalWorkersOptions& options) : options_(options) {
  for (int i = 0; i < options_.count; ++i) {
    Process process;
    process.name = "local-" + std::to_string(i);
    process.backoff_ms = options_.backoff_first_ms;
    processes_.push_back(std::move(process));
  }
  // The parent-death signal is bound to the thread that forks, so one thread does it all and lives
  // as long as this object.
  thread_ = std::thread([this] { Run(); });
}

LocalWorkers::~LocalWorkers() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LocalWorkers::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const int64_t now = SteadyMillis();
    for (Process& process : processes_) {
      if (process.pid != 0) Reap(process, now);
      if (process.pid == 0 && now >= process.start_at_ms) Start(process, now);
    }
    lock.lock();
    wake_.wait_for(lock, std::chrono::milliseconds(kPollMs), [this] { return stopping_; });
  }
  lock.unlock();
  StopAll();
}

void LocalWorkers::Start(Process& process, int64_t now) {
  const std::string folder = options_.state_folder + "/" + process.name;
  std::vector<std::string> words = {options_.binary, "--server",    options_.server, "--name",
                                    process.name,    "--state-dir", folder};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeWorker(options_.binary.c_str(), arguments.data(), parent);
  if (pid < 0) {
    Log(LogLevel::kError, "cannot start a worker",
        {{"worker", process.name}, {"reason", std::strerror(errno)}});
    process.start_at_ms = now + process.backoff_ms;
    return;
  }
  process.pid = pid;
  process.started_ms = now;
  Log(LogLevel::kInfo, "worker started", {{"worker", process.name}, {"pid", pid}});
}

void LocalWorkers::Reap(Process& process, int64_t now) {
  int status = 0;
  if (waitpid(process.pid, &status, WNOHANG) != process.pid) return;
  if (now - process.started_ms >= options_.stable_ms) {
    process.backoff_ms = options_.backoff_first_ms;
  }
  process.start_at_ms = now + process.backoff_ms;
  Log(LogLevel::kWarning, "worker ended",
      {{"worker", process.name},
       {"pid", process.pid},
       {"exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : -1},
       {"signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0},
       {"restart_in_ms", process.backoff_ms}});
  process.backoff_ms = std::min(2 * process.backoff_ms, options_.backoff_most_ms);
  process.pid = 0;
}

void LocalWorkers::StopAll() {
  for (const Process& process : processes_) {
    if (process.pid != 0) kill(process.pid, SIGTERM);
  }
  const int64_t deadline = SteadyMillis() + kStopMs;
  for (Process& process : processes_) {
    while (process.pid != 0) {
      if (waitpid(process.pid, nullptr, WNOHANG) == process.pid) {
        process.pid = 0;
      } else if (SteadyMillis() >= deadline) {
        kill(process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
        process.pid = 0;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }
}

}  // namespace helx::server
