#include "client/cli/bundle_fetch.h"

#include "client/cli/bundle_view.h"
#include "client/cli/waiting.h"
#include "client/cpp/errors.h"
#include "client/cpp/result_client.h"

namespace helx::cli {
namespace {

// Empties the folder's name of each job that has no bundle.
absl::Status FetchAll(Invocation& invocation, const std::shared_ptr<client::Connection>& connection,
                      const std::vector<helx::v1::Job>& jobs, std::vector<std::string>& folders) {
  client::ResultClient results(connection);
  const auto progress = [&invocation](int64_t done, int64_t total) {
    invocation.progress.Transfer("fetching", done, total);
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].has_bundle()) {
      folders[i].clear();
      continue;
    }
    HELX_ASSIGN_OR_RETURN(const Digest digest, client::FromProto(jobs[i].bundle()));
    auto result = results.Get(digest, invocation.stop);
    const absl::Status fetched = result.ok()
                                     ? results.Fetch(*result, folders[i], progress, invocation.stop)
                                     : result.status();
    if (!fetched.ok()) {
      return client::WithContext(
          fetched,
          jobs[i].name() + " has ended, but its bundle could not be put in " + folders[i] + " ('" +
              invocation.CommandLine("results fetch " + jobs[i].name() + " -o " + folders[i]) +
              "' tries again)");
    }
  }
  return absl::OkStatus();
}

void ReportMismatchFolders(Invocation& invocation, const std::vector<helx::v1::Job>& jobs,
                           const std::vector<std::string>& folders) {
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].assessment() != helx::v1::MISMATCH) continue;
    invocation.err << invocation.program << ": the mismatching bundle is kept in " << folders[i]
                   << std::endl;
  }
}

void PrintFigures(Invocation& invocation, const std::vector<std::string>& folders) {
  std::vector<std::pair<std::string, LoadedBundle>> bundles;
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    auto bundle = LoadBundle(folder);
    if (bundle.ok()) bundles.emplace_back(folder, *std::move(bundle));
  }
  if (bundles.empty()) return;
  invocation.out << '\n';
  PrintSummaries(bundles, invocation.out);
}

}  // namespace

absl::StatusOr<ExitCode> FetchAndReport(Invocation& invocation,
                                        const std::shared_ptr<client::Connection>& connection,
                                        const std::vector<helx::v1::Job>& jobs,
                                        std::vector<std::string> folders) {
  HELX_RETURN_IF_ERROR(FetchAll(invocation, connection, jobs, folders));
  ReportEndings(invocation, jobs);
  ReportMismatchFolders(invocation, jobs, folders);
  PrintJobs(invocation, jobs, folders);
  if (!invocation.json) PrintFigures(invocation, folders);
  return ExitCodeOf(jobs);
}

}  // namespace helx::cli
