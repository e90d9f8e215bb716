#include <algorithm>

#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class List : public Command {
 public:
  std::string_view Name() const override { return "list"; }
  std::string_view Summary() const override { return "List jobs, newest first"; }

  void Configure(Options& options) override {
    options.Integer("--limit", limit_, 1, 1'000'000, "At most this many jobs (default 50)");
    options.Text("--experiment", experiment_, "Only jobs of the experiment of this name");
    std::vector<std::string> phases;
    for (int phase = helx::v1::QUEUED; phase <= helx::v1::ABANDONED; ++phase) {
      phases.push_back(PhaseName(static_cast<helx::v1::JobPhase>(phase)));
    }
    options.Choices("--phase", phases_, phases,
                    "Only jobs in this phase; may be given several times");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    helx::v1::ListJobsRequest request;
    if (!IsUtf8(experiment_)) {
      return InvalidArgument("--experiment is not UTF-8; give the name that submit prints");
    }
    request.set_experiment(experiment_);
    for (const std::string& text : phases_) {
      helx::v1::JobPhase phase;
      if (helx::v1::JobPhase_Parse(text, &phase)) request.add_phases(phase);
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    client::JobClient client(connection);
    std::vector<helx::v1::Job> jobs;
    bool more = true;
    while (more && static_cast<int64_t>(jobs.size()) < limit_) {
      request.set_page_size(static_cast<int32_t>(
          std::min(client::kLargestPage, limit_ - static_cast<int64_t>(jobs.size()))));
      HELX_ASSIGN_OR_RETURN(const auto page, client.List(request, invocation.stop));
      jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
      request.set_page_token(page.next_page_token());
      more = !page.next_page_token().empty();
    }
    Print(invocation, jobs, more);
    return kOk;
  }

 private:
  static void Print(Invocation& invocation, const std::vector<helx::v1::Job>& jobs, bool more) {
    if (invocation.json) {
      Json list = Json::array();
      for (const auto& job : jobs) list.push_back(JobToJson(job));
      invocation.PrintJson({{"jobs", std::move(list)}, {"more", more}});
      return;
    }
    Table table({"Job", "Experiment", "Model", "Phase", "Assessment", "Created"});
    for (const auto& job : jobs) {
      table.Add({job.name(), ExperimentName(job), Printable(job.model_stem()), PhaseText(job),
                 AssessmentName(job.assessment()), TimeText(job.create_time())});
    }
    table.Print(invocation.out);
    if (more) invocation.progress.Step("there are more; --limit shows them");
  }

  int64_t limit_ = 50;
  std::string experiment_;
  std::vector<std::string> phases_;
};

}  // namespace

std::unique_ptr<Command> MakeList() { return std::make_unique<List>(); }

}  // namespace helx::cli
