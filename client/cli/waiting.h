// Waiting for jobs, and what Ctrl-C does meanwhile.
#ifndef HELX_CLIENT_CLI_WAITING_H_
#define HELX_CLIENT_CLI_WAITING_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "helx/v1/jobs.pb.h"

namespace helx::cli {

struct WaitOptions {
  bool cancel_on_interrupt = false;
  std::string junit;  // the file that takes a report once the jobs have ended; empty: none
  void Configure(Options& options);
};

// Watches the jobs until each has ended, telling their phases as progress; the jobs as they ended,
// in the given order. When interrupted: CANCELLED with how to come back (the jobs go on), or after
// cancelling those that have not ended.
absl::StatusOr<std::vector<helx::v1::Job>> WaitForJobs(
    Invocation& invocation, const std::shared_ptr<client::Connection>& connection,
    std::vector<helx::v1::Job> jobs, const WaitOptions& options);

// Tells on stderr why those jobs that ended without success, or mismatch, ended so.
void ReportEndings(Invocation& invocation, const std::vector<helx::v1::Job>& jobs);

// The answer of the waiting verbs: a line or JSON object per job. `folders` (bundles on disk) may
// be empty.
void PrintJobs(Invocation& invocation, const std::vector<helx::v1::Job>& jobs,
               const std::vector<std::string>& folders = {});

// How a verb without bundles on disk ends: ReportEndings, PrintJobs, and the jobs' exit code.
ExitCode Conclude(Invocation& invocation, const std::vector<helx::v1::Job>& jobs);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_WAITING_H_
