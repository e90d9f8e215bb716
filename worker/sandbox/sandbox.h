// Runs a command where it can reach only what it was given: bubblewrap namespaces, a system-call filter, resource limits.
//
// Inside: /usr read-only (with /bin, /lib, /lib64, /sbin), an empty /tmp in memory, private /proc and /dev, no network, no
// capabilities, user 65534, and the folders of `binds` at their own paths. Children of the command are in the same sandbox
// and die with it. Example:
//
//   Sandbox sandbox;
//   sandbox.binds = {{"/var/lib/helx/w1/in"}, {"/var/lib/helx/w1/out", .writable = true}};
//   Command command;
//   command.argv = {"/usr/bin/helx-worker", "action", "build", ...};
//   auto result = RunSandboxed(sandbox, command);
#ifndef HELX_WORKER_SANDBOX_SANDBOX_H_
#define HELX_WORKER_SANDBOX_SANDBOX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "worker/sandbox/process.h"

namespace helx::sandbox {

// A file or folder of the host, at the same absolute path inside.
struct Bind {
  std::string path;
  bool writable = false;
};

struct Sandbox {
  std::vector<Bind> binds;
  uint64_t temporary_bytes = uint64_t{1} << 30;      // of /tmp
  // Per process; QEMU's boards take up to 3,000,000,000. 0: no limit.
  uint64_t address_space_bytes = 4'000'000'000;
  uint64_t file_bytes = uint64_t{1} << 30;           // of one written file
  uint64_t processes = 256;                          // threads count
  uint64_t open_files = 1024;
  // Run with resource limits alone where isolation cannot be had, instead of refusing.
  bool allow_unisolated = false;
};

// Runs command.argv inside. command.directory (default /tmp) is a path inside. FAILED_PRECONDITION: this host cannot
// isolate and the sandbox does not allow going without; the message says what is missing. Otherwise as Run.
absl::StatusOr<ProcessResult> RunSandboxed(const Sandbox& sandbox, const Command& command);

// The argument vector that RunSandboxed would execute, for logs; descriptors are written as <filter> and
// <info>.
std::vector<std::string> SandboxArguments(const Sandbox& sandbox, const Command& command);

// What this host can do, for people.
struct Capability {
  std::string name;    // "bubblewrap", "namespaces", "no network", "system-call filter", "process limit"
  bool available = false;
  std::string detail;  // version, or why not and what to do
};

struct SandboxReport {
  std::vector<Capability> capabilities;
  bool isolated = false;  // RunSandboxed works without allow_unisolated
};

// Tries each; some tens of milliseconds.
SandboxReport ProbeSandbox();

}  // namespace helx::sandbox

#endif  // HELX_WORKER_SANDBOX_SANDBOX_H_
