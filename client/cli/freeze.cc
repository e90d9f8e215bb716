#include <filesystem>

#include "client/cli/job_view.h"
#include "client/cli/text.h"
#include "client/cli/verbs.h"
#include "client/cpp/bundle_flow.h"
#include "client/cpp/bundle_folder.h"
#include "client/cpp/errors.h"
#include "client/cpp/experiment_client.h"
#include "client/cpp/experiment_flow.h"
#include "core/base/file.h"

namespace helx::cli {
namespace {

namespace fs = std::filesystem;

struct Frozen {
  std::string label;
  std::string identity;
  std::string path;  // of its request.json
};

class Freeze : public Command {
 public:
  std::string_view Name() const override { return "freeze"; }
  std::string_view Summary() const override {
    return "Bind an experiment's inputs and tools, and write frozen/<name>/request.json";
  }

  void Configure(Options& options) override {
    options.Path("-c,--config,file", file_, "The experiment (experiment.yaml)",
                 Options::Need::kRequired);
    options.Path("-o,--output", output_, "The folder that takes the requests (default: frozen)");
  }

  // Nothing is written unless every job of the document could be frozen.
  absl::StatusOr<ExitCode> Run(Invocation& invocation) override {
    HELX_ASSIGN_OR_RETURN(const auto experiment, client::PrepareExperiment(file_));
    for (const auto& job : experiment.jobs) {
      const fs::path folder = fs::path(output_) / job.entry.bundle_path;
      HELX_RETURN_IF_ERROR(client::CheckOutsideBundles((folder / "request.json").string()));
      HELX_RETURN_IF_ERROR(client::CheckNewFolder(folder.string()));
    }
    HELX_ASSIGN_OR_RETURN(const auto connection, invocation.Connect());
    client::ExperimentClient client(connection);
    const auto progress = [&invocation](int64_t done, int64_t total) {
      invocation.progress.Transfer("uploading", done, total);
    };
    std::vector<helx::v1::FreezeResponse> answers;
    for (const auto& job : experiment.jobs) {
      HELX_ASSIGN_OR_RETURN(answers.emplace_back(), client.Freeze(job.document, experiment.blobs,
                                                                  progress, invocation.stop));
      if (answers.back().has_refusal()) return Refused(invocation, job, answers.back().refusal());
    }
    std::vector<Frozen> frozen;
    for (size_t i = 0; i < answers.size(); ++i) {
      HELX_ASSIGN_OR_RETURN(frozen.emplace_back(), Write(experiment.jobs[i].entry, answers[i]));
    }
    Print(invocation, frozen);
    return kOk;
  }

 private:
  static ExitCode Refused(Invocation& invocation, const client::PreparedJob& job,
                          const helx::v1::Failure& refusal) {
    invocation.progress.Clear();
    invocation.err << invocation.program << " freeze: " << Printable(job.entry.bundle_path)
                   << " was refused: " << FailureText(refusal) << std::endl;
    if (invocation.json) {
      invocation.PrintJson({{"refusal", FailureToJson(refusal)},
                            {"exit_code", refusal.fault() == helx::v1::USER ? 2 : 7}});
    }
    return refusal.fault() == helx::v1::USER ? kUsage : kFailed;
  }

  absl::StatusOr<Frozen> Write(const JobEntry& job, const helx::v1::FreezeResponse& answer) const {
    HELX_ASSIGN_OR_RETURN(const std::string text,
                          client::RequestFileOf(answer.frozen_request(), job));
    const fs::path folder = fs::path(output_) / job.bundle_path;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return FailedPrecondition("cannot make the folder " + folder.string() + ": " +
                                error.message() + "; choose another place with -o");
    }
    Frozen frozen;
    frozen.label = job.bundle_path;
    frozen.identity = "helx.request/v1:sha256:" + answer.digest().hash();
    frozen.path = (folder / "request.json").string();
    HELX_RETURN_IF_ERROR(WriteFile(frozen.path, text));
    return frozen;
  }

  static void Print(Invocation& invocation, const std::vector<Frozen>& frozen) {
    if (invocation.json) {
      Json list = Json::array();
      for (const Frozen& item : frozen) {
        list.push_back({{"bundle_path", Utf8(item.label)},
                        {"identity", item.identity},
                        {"request", Utf8(item.path)}});
      }
      invocation.PrintJson({{"frozen", std::move(list)}, {"exit_code", 0}});
      return;
    }
    Table table({"Experiment", "Request", "Identity"});
    for (const Frozen& item : frozen) {
      table.Add({Printable(item.label), Printable(item.path), item.identity});
    }
    table.Print(invocation.out);
  }

  std::string file_;
  std::string output_ = "frozen";
};

}  // namespace

std::unique_ptr<Command> MakeFreeze() { return std::make_unique<Freeze>(); }

}  // namespace helx::cli
