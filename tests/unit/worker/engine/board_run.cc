#include "tests/unit/worker/engine/board_run.h"

#include <filesystem>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/agent/kernels.h"
#include "worker/target/target.h"

namespace helx::engine {
namespace {

namespace fs = std::filesystem;

// Compiled once for all test programs.
absl::StatusOr<std::string> KernelsFolder(const Toolchain& toolchain, const target::Board& board) {
  const std::string folder = HELX_BUILD_DIR "/test_folders/kernels";
  fs::create_directories(folder);
  return agent::KeepKernels(toolchain, board, folder);
}

// One model compiled for one board; every set of folders becomes an image and an acquisition of its
// own.
class Build {
 public:
  Build(const Toolchain& toolchain, const target::Target& target, const GeneratedModel& model,
        const target::PlacementWish& wish, std::string name, BoardRun* run)
      : toolchain_(toolchain),
        target_(target),
        model_(model),
        wish_(wish),
        name_(std::move(name)),
        suffix_("_" + std::string(target.board().platform) + "_" + name_),
        run_(run) {}

  absl::Status Compile() {
    HELX_ASSIGN_OR_RETURN(kernels_, KernelsFolder(toolchain_, target_.board()));
    folder_ = FreshFolder("board_model" + suffix_);
    return toolchain_.CompileModel(model_, target_.board(), folder_, nullptr);
  }

  // `state` is that of an Acquisition. Differences are appended to the run's.
  absl::Status Execute(const std::vector<std::string>& folders, const std::string& state) {
    target::RunRequest request;
    std::vector<std::vector<Sha256Bytes>> digests;
    std::vector<std::vector<std::string>> goldens;
    for (const std::string& folder : folders) {
      HELX_ASSIGN_OR_RETURN(const auto inputs,
                            Tensors(folder + "/input-", model_.interface.inputs.size()));
      HELX_ASSIGN_OR_RETURN(auto outputs,
                            Tensors(folder + "/output-", model_.interface.outputs.size()));
      digests.emplace_back();
      for (const std::string& input : inputs) digests.back().push_back(Sha256Of(AsBytes(input)));
      request.input_sets.push_back(inputs);
      goldens.push_back(std::move(outputs));
    }
    request.request_digest.fill(7);
    for (const std::string& golden : goldens[0]) {
      request.output_bytes.push_back(static_cast<uint32_t>(golden.size()));
    }
    HELX_ASSIGN_OR_RETURN(
        const LinkedImage image,
        toolchain_.LinkImage(model_, RequestConstants(request.request_digest, digests),
                             target_.board(), kernels_, folder_,
                             FreshFolder("board_image_" + state + suffix_), nullptr, wish_));
    run_->figures = image.figures;
    run_->placement = image.placement;
    request.image = image.elf_path;
    request.acquisition = {0, static_cast<int64_t>(goldens.size()), state, true};
    request.work_folder = FreshFolder("board_run_" + state + suffix_);
    HELX_ASSIGN_OR_RETURN(const target::RunOutcome outcome, target_.Run(request));
    if (!outcome.evidence) {
      return Internal(name_ + ": " + (outcome.failure ? outcome.failure->message : "cancelled") +
                      "\n" + outcome.log);
    }
    if (run_->argv.empty()) {
      run_->instructions = outcome.evidence->samples[0].instructions;
      run_->elf_path = image.elf_path;
      run_->argv = outcome.argv;
    }
    Compare(*outcome.evidence, goldens);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::vector<std::string>> Tensors(const std::string& stem, size_t count) {
    std::vector<std::string> tensors;
    for (size_t i = 0; i < count; ++i) {
      HELX_ASSIGN_OR_RETURN(std::string bytes, ReadFile(stem + std::to_string(i) + ".bin"));
      tensors.push_back(std::move(bytes));
    }
    return tensors;
  }

  void Compare(const collect::Evidence& evidence,
               const std::vector<std::vector<std::string>>& goldens) {
    for (size_t c = 0; c < goldens.size(); ++c) {
      for (size_t o = 0; o < goldens[c].size(); ++o) {
        const std::string difference = GoldenDifference(
            evidence.samples[c].outputs[o], goldens[c][o], model_.interface.outputs[o].dtype);
        if (!difference.empty()) {
          run_->difference += name_ + " invocation " + std::to_string(c) + " output " +
                              std::to_string(o) + ": " + difference + "\n";
        }
      }
    }
  }

  const Toolchain& toolchain_;
  const target::Target& target_;
  const GeneratedModel& model_;
  const target::PlacementWish& wish_;
  std::string name_, suffix_, kernels_, folder_;
  BoardRun* run_;
};

}  // namespace

absl::StatusOr<RecordedModel> RecordedRealModel(const std::string& name) {
  HELX_ASSIGN_OR_RETURN(std::string bytes, RealModel(name));
  return RecordedModel{name, std::move(bytes), CaseFolders(name), SequenceFolders(name)};
}

absl::StatusOr<BoardRun> RunOnBoard(const RecordedModel& recorded, std::string_view platform,
                                    const target::PlacementWish& wish) {
  static const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_RETURN_IF_ERROR(toolchain.status());
  const std::unique_ptr<target::Target> target = target::MakeTarget(platform);
  if (target == nullptr) return InvalidArgument("no platform " + std::string(platform));
  HELX_RETURN_IF_ERROR(target->Identity().status());
  BoardRun run;
  const absl::StatusOr<GeneratedModel> model =
      FindEngine("builtin")->Generate(AsBytes(recorded.bytes), target->board());
  if (!model.ok()) {
    run.refusal = std::string(model.status().message());
    return run;
  }
  run.arena_bytes = model->memory["arena_bytes"].get<int64_t>();
  run.variable_bytes = model->memory["variable_bytes"].get<int64_t>();
  for (const Json& op : model->memory["operators"]) run.macs += op["macs"].get<int64_t>();
  Build build(*toolchain, *target, *model, wish, recorded.name, &run);
  HELX_RETURN_IF_ERROR(build.Compile());
  absl::Status status = build.Execute(recorded.cases, "reset");
  if (status.ok() && !recorded.sequence.empty()) status = build.Execute(recorded.sequence, "carry");
  if (absl::IsOutOfRange(status)) {
    run.refusal = std::string(status.message());
    return run;
  }
  HELX_RETURN_IF_ERROR(status);
  return run;
}

}  // namespace helx::engine
