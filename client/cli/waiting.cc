#include "client/cli/waiting.h"

#include "client/cli/job_view.h"
#include "client/cli/junit.h"
#include "client/cli/text.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"
#include "core/base/file.h"

namespace helx::cli {
namespace {

using helx::v1::Job;
using helx::v1::JobEvent;

std::string Unfinished(const std::vector<Job>& jobs) {
  std::string names;
  for (const Job& job : jobs) {
    if (!job.finished()) names += (names.empty() ? "" : " ") + job.name();
  }
  return names;
}

// What the user is told after Ctrl-C; cancels first when asked to.
absl::Status AfterInterrupt(const Invocation& invocation,
                            const std::shared_ptr<client::Connection>& connection,
                            const std::vector<Job>& jobs, const WaitOptions& options) {
  const std::string names = Unfinished(jobs);
  std::string text;
  if (!options.cancel_on_interrupt) {
    text = "interrupted; the work goes on. Come back with '" +
           invocation.CommandLine("wait " + names) + "', end it with '" +
           invocation.CommandLine("cancel " + names) + "'";
  } else {
    client::JobClient client(connection);
    for (const Job& job : jobs) {
      if (job.finished()) continue;
      if (const auto cancelled = client.Cancel(job.name()); !cancelled.ok()) {
        return client::WithContext(cancelled.status(), "interrupted, but " + job.name() +
                                                           " could not be cancelled");
      }
    }
    text = "interrupted; cancelled " + names;
  }
  return absl::Status(absl::StatusCode::kCancelled, text);
}

std::string EventLine(const Job& job, size_t index, size_t count) {
  const std::string part =
      count > 1 ? "[" + std::to_string(index + 1) + "/" + std::to_string(count) + "] " : "";
  return part + JobLabel(job) + ": " + PhaseText(job);
}

}  // namespace

void WaitOptions::Configure(Options& options) {
  options.Flag("--cancel-on-interrupt", cancel_on_interrupt,
               "Ctrl-C cancels the jobs instead of leaving them to the server");
  options.Path("--junit", junit, "Write how the jobs ended into this file, as JUnit XML");
}

absl::StatusOr<std::vector<Job>> WaitForJobs(Invocation& invocation,
                                             const std::shared_ptr<client::Connection>& connection,
                                             std::vector<Job> jobs, const WaitOptions& options) {
  client::JobClient client(connection);
  for (size_t i = 0; i < jobs.size(); ++i) {
    std::string last;
    const auto on_event = [&](const JobEvent& event) {
      std::string line = EventLine(event.job(), i, jobs.size());
      if (line != last) invocation.progress.Step(line);
      last = std::move(line);
      return true;
    };
    if (jobs[i].finished()) continue;
    auto ended = client.Watch(jobs[i].name(), jobs[i].last_event(), on_event, invocation.stop);
    if (!ended.ok() && invocation.stop.stop_requested()) {
      return AfterInterrupt(invocation, connection, jobs, options);
    }
    if (!ended.ok()) return client::WithContext(ended.status(), jobs[i].name());
    jobs[i] = *std::move(ended);
  }
  if (!options.junit.empty()) HELX_RETURN_IF_ERROR(WriteFile(options.junit, JUnitReport(jobs)));
  return jobs;
}

void ReportEndings(Invocation& invocation, const std::vector<Job>& jobs) {
  invocation.progress.Clear();
  for (const Job& job : jobs) {
    if (!job.finished()) continue;
    if (job.phase() != helx::v1::SUCCEEDED) {
      invocation.err << invocation.program << ": " << EndingText(job) << std::endl;
    } else if (job.assessment() == helx::v1::MISMATCH) {
      invocation.err << invocation.program << ": the outputs of " << job.name() << " ("
                     << JobLabel(job)
                     << ") differ from their reference by more than the tolerance; look with '"
                     << invocation.CommandLine("show " + job.name()) << "'" << std::endl;
    }
  }
}

void PrintJobs(Invocation& invocation, const std::vector<Job>& jobs,
               const std::vector<std::string>& folders) {
  if (invocation.json) {
    Json list = Json::array();
    for (size_t i = 0; i < jobs.size(); ++i) {
      Json job = JobToJson(jobs[i]);
      if (i < folders.size()) job["folder"] = folders[i].empty() ? Json() : Json(Utf8(folders[i]));
      list.push_back(std::move(job));
    }
    invocation.PrintJson(
        {{"jobs", std::move(list)}, {"exit_code", static_cast<int>(ExitCodeOf(jobs))}});
    return;
  }
  Table table({"Job", "Experiment", "Model", "Phase", "Assessment", folders.empty() ? "" : "Bundle"});
  for (size_t i = 0; i < jobs.size(); ++i) {
    table.Add({jobs[i].name(), ExperimentName(jobs[i]), Printable(jobs[i].model_stem()),
               PhaseText(jobs[i]) + (jobs[i].cached() ? " (from the store)" : ""),
               AssessmentName(jobs[i].assessment()),
               i < folders.size() ? Printable(folders[i]) : ""});
  }
  table.Print(invocation.out);
}

ExitCode Conclude(Invocation& invocation, const std::vector<Job>& jobs) {
  ReportEndings(invocation, jobs);
  PrintJobs(invocation, jobs);
  return ExitCodeOf(jobs);
}

}  // namespace helx::cli
