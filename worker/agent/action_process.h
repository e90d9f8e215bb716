// Runs one action in a fresh sandboxed child and keeps what it says, checked.
#ifndef HELX_WORKER_AGENT_ACTION_PROCESS_H_
#define HELX_WORKER_AGENT_ACTION_PROCESS_H_

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/status.h"
#include "worker/sandbox/process.h"

namespace helx::agent {

struct ActionSpec {
  std::string kind;          // "freeze" | "build" | "run"
  std::string input_folder;  // laid out as action.h says
  std::string kernels_folder;  // a build's archive of kernels
  std::chrono::milliseconds limit{0};
  std::function<bool()> cancelled;
  std::function<void(std::string_view)> on_phase;
  std::function<void(std::string_view)> on_log;
};

struct ActionResult {
  enum class End { kFinished, kCancelled, kTimedOut, kBroken };
  End end = End::kBroken;
  Json outcome;                              // kFinished
  std::string broken_reason;                 // kBroken: what the child did instead of finishing
  std::map<std::string, std::string> files;  // the bundle, by path
  std::map<std::string, std::string> cache;  // objects worth keeping for the same model
};

struct HostPaths {
  std::string action_program;      // helx-action
  sandbox::ProgramPlaces tools;    // of what actions run: those that the catalogue asked who they are
  bool allow_unsandboxed = false;
};

// INFRA-class status when the sandbox or the program cannot be started; otherwise a result.
absl::StatusOr<ActionResult> RunActionProcess(const HostPaths& paths, const ActionSpec& spec);

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_ACTION_PROCESS_H_
