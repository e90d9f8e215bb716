#include "worker/agent/action_process.h"

#include <signal.h>

#include "core/bundle/manifest.h"
#include "worker/agent/action_stream.h"
#include "worker/runner/runner_sources.h"
#include "worker/sandbox/sandbox.h"

namespace helx::agent {
namespace {

// Keeps the records of a child that may be hostile: paths are checked, the outcome comes once and last.
class Keeper {
 public:
  Keeper(const ActionSpec& spec, ActionResult* result) : spec_(spec), result_(result) {}

  absl::Status Take(Record record) {
    if (finished_) return InvalidArgument("the action went on after its outcome");
    switch (record.type) {
      case RecordType::kPhase:
        spec_.on_phase(record.payload);
        return absl::OkStatus();
      case RecordType::kLog:
        spec_.on_log(record.payload);
        return absl::OkStatus();
      case RecordType::kFile:
        return Keep(std::move(record), &result_->files);
      case RecordType::kCache:
        return Keep(std::move(record), &result_->cache);
      case RecordType::kOutcome: {
        HELX_ASSIGN_OR_RETURN(result_->outcome, ParseJson(record.payload));
        if (!result_->outcome.is_object()) return InvalidArgument("the outcome is no object");
        finished_ = true;
        return absl::OkStatus();
      }
    }
    return Internal("unreachable record type");
  }

  bool finished() const { return finished_; }

 private:
  static absl::Status Keep(Record record, std::map<std::string, std::string>* files) {
    HELX_RETURN_IF_ERROR(CheckBundlePath(record.name));
    if (!files->emplace(std::move(record.name), std::move(record.payload)).second) {
      return InvalidArgument("the action wrote a file twice");
    }
    return absl::OkStatus();
  }

  const ActionSpec& spec_;
  ActionResult* result_;
  bool finished_ = false;
};

}  // namespace

absl::StatusOr<ActionResult> RunActionProcess(const HostPaths& paths, const ActionSpec& spec) {
  ActionResult result;
  Keeper keeper(spec, &result);
  RecordReader reader([&](Record record) { return keeper.Take(std::move(record)); });
  absl::Status stream;

  sandbox::Sandbox sandbox;
  sandbox.binds = {{paths.action_program}, {spec.input_folder}, {runner::DataDirectory()}};
  if (!spec.kernels_folder.empty()) sandbox.binds.push_back({spec.kernels_folder});
  for (const std::string& folder : paths.tools.folders) sandbox.binds.push_back({folder});
  sandbox.allow_unisolated = paths.allow_unsandboxed;
  sandbox::Command command;
  command.argv = {paths.action_program, spec.input_folder, spec.kernels_folder};
  std::string path;
  for (const std::string& folder : paths.tools.path) path += folder + ":";
  command.environment = {"PATH=" + path + "/usr/bin:/bin", "LC_ALL=C",
                         "HELX_DATA_DIR=" + runner::DataDirectory()};
  command.limit = spec.limit;
  command.cancelled = spec.cancelled;
  command.on_stdout = [&](std::string_view bytes) {
    stream = reader.Add(bytes);
    return stream.ok();
  };
  const auto process = sandbox::RunSandboxed(sandbox, command);
  if (!process.ok()) return process.status();

  if (!process->err.empty()) spec.on_log(process->err);
  // Killed from outside, by an operator or for want of memory: the host's doing.
  if (process->killed() && !process->timed_out && !process->cancelled && stream.ok() && !keeper.finished()) {
    return absl::UnavailableError("the action was killed from outside (SIGKILL); is the host out of memory?");
  }
  if (process->timed_out) {
    result.end = ActionResult::End::kTimedOut;
  } else if (process->cancelled && stream.ok()) {
    result.end = ActionResult::End::kCancelled;
  } else if (!stream.ok()) {
    result.broken_reason = MessageOf(stream);
  } else if (!process->ok() || !keeper.finished() || !reader.AtBoundary()) {
    result.broken_reason = "the action ended with exit status " +
                           std::to_string(process->exit_code) + ", signal " +
                           std::to_string(process->signal) + " and no outcome: " +
                           process->err.substr(0, 500);
  } else {
    result.end = ActionResult::End::kFinished;
  }
  return result;
}

}  // namespace helx::agent
