#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cli/waiting.h"
#include "client/cpp/errors.h"
#include "client/cpp/job_client.h"

namespace helx::cli {
namespace {

class Watch : public Command {
 public:
  std::string_view Name() const override { return "watch"; }
  std::string_view Summary() const override {
    return "Print each event of a job until it ends (with --json one object per line)";
  }

  void Configure(Options& options) override {
    options.Text("job", job_, "The job, as submit and list print it", Options::Need::kRequired);
    options.Integer("--from-event", from_event_, 0, INT64_MAX,
                    "The number of the first event wanted (default 1)");
  }

  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const std::string name, client::JobName(job_));
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    int64_t last = from_event_ - 1;
    const auto job = client::JobClient(connection)
                         .Watch(name, from_event_,
                                [&](const helx::v1::JobEvent& event) {
                                  last = event.sequence();
                                  PrintEvent(invocation, event);
                                  return true;
                                },
                                invocation.stop);
    if (!job.ok() && invocation.stop.stop_requested()) {
      return absl::Status(absl::StatusCode::kCancelled,
                          "interrupted; the job goes on. Come back with '" +
                              invocation.CommandLine("watch " + name + " --from-event " +
                                                     std::to_string(last + 1)) +
                              "'");
    }
    if (!job.ok()) return client::WithContext(job.status(), name);
    ReportEndings(invocation, {*job});
    return ExitCodeOf(*job);
  }

 private:
  static void PrintEvent(Invocation& invocation, const helx::v1::JobEvent& event) {
    if (invocation.json) {
      const Json line = {{"sequence", event.sequence()},
                         {"time", TimeText(event.time())},
                         {"job", JobToJson(event.job())}};
      invocation.out << line.dump() << std::endl;
      return;
    }
    invocation.out << event.sequence() << "  " << TimeText(event.time()) << "  "
                   << PhaseText(event.job()) << std::endl;
  }

  std::string job_;
  int64_t from_event_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeWatch() { return std::make_unique<Watch>(); }

}  // namespace helx::cli
