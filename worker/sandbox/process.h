// Child processes with captured output, a time limit, and no survivors.
#ifndef HELX_WORKER_SANDBOX_PROCESS_H_
#define HELX_WORKER_SANDBOX_PROCESS_H_

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace helx::sandbox {

// setrlimit in the child: soft and hard limit alike.
struct ResourceLimit {
  int resource = 0;    // RLIMIT_*
  uint64_t value = 0;
};

struct Command {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH when it has no slash
  std::string directory;                 // working directory; empty: the caller's
  std::vector<std::string> environment;  // "NAME=value"; the whole environment of the child
  std::chrono::milliseconds limit{60'000};
  size_t output_limit = 4u << 20;        // bytes kept of stdout and of stderr each: the head, then the tail
  // Called with each piece of stdout as it arrives; when set, stdout is not kept. Return false to kill the child.
  std::function<bool(std::string_view)> on_stdout;
  std::vector<ResourceLimit> resource_limits;
  std::vector<int> inherited;            // descriptors the child keeps, under the same numbers; all others close on exec
  int64_t user = -1;                     // >= 0: run as this user and group, without supplementary groups (root only)
  // Asked at least every 100 ms; true kills the child.
  std::function<bool()> cancelled;
};

struct ProcessResult {
  int exit_code = -1;      // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  bool cancelled = false;  // killed by `cancelled` or by on_stdout
  std::string out;
  std::string err;
  std::chrono::milliseconds wall{0};

  // By SIGKILL; bubblewrap passes it on as 128 + signal.
  bool killed() const { return signal == SIGKILL || exit_code == 128 + SIGKILL; }
  bool ok() const { return exit_code == 0 && !timed_out && !cancelled; }
};

// Runs the command in a process group of its own, kills the group at the limit, and waits for it. NOT_FOUND when the
// program does not exist.
absl::StatusOr<ProcessResult> Run(const Command& command);

// The path of a program in PATH, or empty; its folders that are not absolute are passed over.
std::string FindProgram(std::string_view name);

// Programs as PATH finds them, for a place that has only what it is given.
struct ProgramPlaces {
  std::vector<std::string> path;     // of PATH, in its order, the folders that hold one of the programs
  std::vector<std::string> folders;  // what they need that is not below /usr: those folders, and where links lead
};

// Programs that are not installed have no place.
ProgramPlaces FindProgramPlaces(const std::vector<std::string>& names);

}  // namespace helx::sandbox

#endif  // HELX_WORKER_SANDBOX_PROCESS_H_
