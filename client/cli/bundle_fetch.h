// What the verbs that run something do at the end: bundles into their folders, failures and
// verdicts told, the answer printed.
#ifndef HELX_CLIENT_CLI_BUNDLE_FETCH_H_
#define HELX_CLIENT_CLI_BUNDLE_FETCH_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/command.h"
#include "helx/v1/jobs.pb.h"

namespace helx::cli {

// Fetches the bundle of each job that has one into its folder, tells on stderr how the others ended
// and where mismatching bundles are kept, prints jobs and figures; the exit code of the jobs. Jobs
// and folders correspond.
absl::StatusOr<ExitCode> FetchAndReport(Invocation& invocation,
                                        const std::shared_ptr<client::Connection>& connection,
                                        const std::vector<helx::v1::Job>& jobs,
                                        std::vector<std::string> folders);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_BUNDLE_FETCH_H_
