// The helx-worker processes that a daemon runs on its own host.
#ifndef HELX_SERVER_LOCAL_WORKERS_H_
#define HELX_SERVER_LOCAL_WORKERS_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace helx::server {

struct LocalWorkersOptions {
  std::string binary;        // of helx-worker
  std::string server;        // address that workers connect to
  std::string state_folder;  // each worker gets a subfolder of its own
  int count = 0;
  int64_t backoff_first_ms = 200;  // before a worker that died is started again; doubles
  int64_t backoff_most_ms = 30'000;
  int64_t stable_ms = 60'000;  // a worker that lived so long starts afresh at the first back-off
};

// Starts `count` workers named local-0, local-1, ..., starts those again that end, and ends all
// with itself: SIGTERM, then SIGKILL after 3 s. They also end when the daemon is killed.
class LocalWorkers {
 public:
  explicit LocalWorkers(const LocalWorkersOptions& options);
  ~LocalWorkers();
  LocalWorkers(const LocalWorkers&) = delete;
  LocalWorkers& operator=(const LocalWorkers&) = delete;

 private:
  struct Process {
    std::string name;
    pid_t pid = 0;  // 0: not running
    int64_t started_ms = 0;
    int64_t start_at_ms = 0;
    int64_t backoff_ms = 0;
  };

  void Run();
  void Start(Process& process, int64_t now);
  void Reap(Process& process, int64_t now);
  void StopAll();

  const LocalWorkersOptions options_;
  std::vector<Process> processes_;  // touched by the thread only
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_LOCAL_WORKERS_H_
