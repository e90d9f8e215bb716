#include <algorithm>

#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/result_client.h"

namespace helx::cli {
namespace {

class ResultsList : public Command {
 public:
  std::string_view Name() const override { return "results list"; }
  std::string_view Summary() const override { return "List stored results, newest first"; }

  void Configure(Options& options) override {
    options.Integer("--limit", limit_, 1, 1'000'000, "At most this many results (default 50)");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    client::ResultClient client(connection);
    helx::v1::ListResultsRequest request;
    std::vector<helx::v1::ResultEntry> entries;
    bool more = true;
    while (more && static_cast<int64_t>(entries.size()) < limit_) {
      request.set_page_size(static_cast<int32_t>(
          std::min(client::kLargestPage, limit_ - static_cast<int64_t>(entries.size()))));
      HELX_ASSIGN_OR_RETURN(const auto page, client.List(request, invocation.stop));
      entries.insert(entries.end(), page.results().begin(), page.results().end());
      request.set_page_token(page.next_page_token());
      more = !page.next_page_token().empty();
    }
    Print(invocation, entries, more);
    return kOk;
  }

 private:
  static void Print(Invocation& invocation, const std::vector<helx::v1::ResultEntry>& entries,
                    bool more) {
    if (invocation.json) {
      Json list = Json::array();
      for (const auto& entry : entries) {
        Json issues = Json::array();
        for (const auto& issue : entry.issues()) issues.push_back(Utf8(issue));
        list.push_back({{"experiment", Utf8(entry.experiment())},
                        {"run", entry.run().empty() ? Json() : Json(Utf8(entry.run()))},
                        {"model", Utf8(entry.model_stem())},
                        {"bundle", DigestText(entry.bundle())},
                        {"content_digest", entry.content_digest()},
                        {"assessment", AssessmentName(entry.assessment())},
                        {"create_time", TimeText(entry.create_time())},
                        {"issues", std::move(issues)},
                        {"job", entry.job()}});
      }
      invocation.PrintJson({{"results", std::move(list)}, {"more", more}});
      return;
    }
    Table table({"Experiment", "Model", "Assessment", "Created", "Bundle", "Job"});
    for (const auto& entry : entries) {
      table.Add({Printable(entry.experiment() + (entry.run().empty() ? "" : "/" + entry.run())),
                 Printable(entry.model_stem()), AssessmentName(entry.assessment()),
                 TimeText(entry.create_time()), entry.bundle().hash().substr(0, 12),
                 Printable(entry.job())});
    }
    table.Print(invocation.out);
    if (more) invocation.progress.Step("there are more; --limit shows them");
  }

  int64_t limit_ = 50;
};

}  // namespace

std::unique_ptr<Command> MakeResultsList() { return std::make_unique<ResultsList>(); }

}  // namespace helx::cli
