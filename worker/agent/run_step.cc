#include <cstdio>
#include <filesystem>
#include <map>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/bundle/layout.h"
#include "core/bundle/measurements.h"
#include "core/bundle/verify.h"
#include "worker/agent/action_steps.h"
#include "worker/agent/bundle_assembly.h"
#include "worker/target/image.h"
#include "worker/target/target.h"

namespace helx::agent {
namespace {

namespace fs = std::filesystem;

// Files of the build that a result keeps as they are.
absl::Status CopyBuildFiles(const std::string& bundle, BundleWriter* writer) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& item : fs::recursive_directory_iterator(bundle + "/build", error)) {
    if (item.is_regular_file()) paths.push_back(fs::relative(item.path(), bundle).string());
  }
  if (error) return absl::UnavailableError("cannot list the build's files: " + error.message());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    HELX_ASSIGN_OR_RETURN(const std::string content, ReadFile(bundle + "/" + path));
    HELX_RETURN_IF_ERROR(writer->Add(path, content));
  }
  return absl::OkStatus();
}

absl::StatusOr<target::RunRequest> MakeRunRequest(const FrozenRequest& request,
                                                  const RequestTensors& tensors,
                                                  const ActionContext& context,
                                                  const std::string& image) {
  target::RunRequest run;
  run.image = image;
  HELX_ASSIGN_OR_RETURN(const std::string digest, request.tensors.DigestHex());
  HELX_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, HexDecode(digest));
  std::copy(bytes.begin(), bytes.end(), run.request_digest.begin());
  run.input_sets = tensors.inputs;
  for (const TensorSpec& output : request.tensors.outputs) {
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(output));
    run.output_bytes.push_back(static_cast<uint32_t>(size));
  }
  run.acquisition = request.acquisition;
  run.work_folder = context.work_folder;
  run.on_progress = [&context](uint32_t done, uint32_t all) {
    const std::string line =
        "invocation " + std::to_string(done) + " of " + std::to_string(all) + "\n";
    context.emit(RecordType::kLog, "", line);
  };
  return run;
}

Json DeviceFailure(const Failure& failure) {
  Json outcome = FailureOutcome(FaultName(failure.fault), failure.code, failure.message);
  outcome["timed_out"] = failure.timed_out;
  return outcome;
}

// Samples with their signatures, retained outputs and verdicts.
absl::Status AddSamples(const FrozenRequest& request, const RequestTensors& tensors,
                        const collect::Evidence& evidence, ResultDocument* result,
                        BundleWriter* writer) {
  for (size_t s = 0; s < evidence.samples.size(); ++s) {
    const collect::MeasuredSample& measured = evidence.samples[s];
    Sample sample;
    sample.index = static_cast<int64_t>(s);
    sample.instructions =
        InstructionCount(measured.instructions, *FindPlatform(request.platform), request.probe);
    for (const Sha256Bytes& signature : measured.signatures) {
      sample.signatures.push_back(HexEncode(signature));
    }
    for (size_t o = 0; o < measured.outputs.size(); ++o) {
      sample.output_tensors.push_back(OutputPath(s, o));
      HELX_RETURN_IF_ERROR(writer->Add(sample.output_tensors.back(), measured.outputs[o]));
    }
    if (s < tensors.references.size()) {
      std::vector<TensorSpec> specs;
      for (const BoundTensor& tensor : request.tensors.references[s].tensors) {
        specs.push_back(tensor.spec);
      }
      const std::vector<std::string_view> actual(measured.outputs.begin(), measured.outputs.end());
      const std::vector<std::string_view> reference(tensors.references[s].begin(),
                                                    tensors.references[s].end());
      HELX_ASSIGN_OR_RETURN(sample.verification,
                            VerifyOutputs(request.tensors.outputs, actual, static_cast<int64_t>(s),
                                          specs, reference, request.tensors.comparison));
    }
    result->samples.push_back(std::move(sample));
  }
  return absl::OkStatus();
}

// The outputs of every operator in the last invocation, as files layers/op<index>-out<output>.bin.
// An operator that runs more than once in an invocation leaves its last outputs.
absl::Status AddLayers(const FrozenRequest& request, const collect::Evidence& evidence,
                       BundleWriter* writer) {
  if (!request.probe) return absl::OkStatus();
  const int64_t last = request.acquisition.warmup + request.acquisition.samples - 1;
  std::map<std::pair<uint32_t, uint32_t>, const std::string*> layers;
  for (const collect::ProbedTensor& probe : evidence.probes) {
    if (probe.invocation == last) layers[{probe.operator_index, probe.output}] = &probe.bytes;
  }
  for (const auto& [place, bytes] : layers) {
    char path[64];
    std::snprintf(path, sizeof(path), "layers/op%03u-out%u.bin", place.first, place.second);
    HELX_RETURN_IF_ERROR(writer->Add(path, *bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Json> RunStep(const ActionInput& input, const ActionContext& context) {
  std::string changed;
  HELX_ASSIGN_OR_RETURN(const FrozenRequest request, ReadRequest(input, ToolUse::kRun, &changed));
  if (!changed.empty()) return FailureOutcome("INFRA", "tool_changed", changed);
  const auto target = target::MakeTarget(request.platform);
  if (target == nullptr) return Internal("no target for platform " + request.platform);
  HELX_ASSIGN_OR_RETURN(const RequestTensors tensors, ReadTensors(input, request));
  const std::string image = input.folder + "/bundle/build/model.elf";
  HELX_ASSIGN_OR_RETURN(const std::string elf, ReadFile(image, 512u << 20));
  HELX_ASSIGN_OR_RETURN(const target::ImageFigures figures,
                        target::InspectImage(elf, target->board()));

  context.emit(RecordType::kPhase, "", "RUNNING");
  HELX_ASSIGN_OR_RETURN(const target::RunRequest run,
                        MakeRunRequest(request, tensors, context, image));
  HELX_ASSIGN_OR_RETURN(const target::RunOutcome outcome, target->Run(run));
  if (!outcome.log.empty()) context.emit(RecordType::kLog, "", outcome.log);
  if (outcome.cancelled) return Internal("the run was cancelled inside its action");
  if (outcome.failure) return DeviceFailure(*outcome.failure);

  context.emit(RecordType::kPhase, "", "COLLECTING");
  const std::string folder = context.work_folder + "/result";
  std::error_code error;
  fs::create_directories(folder, error);
  BundleWriter writer(folder);
  HELX_ASSIGN_OR_RETURN(ResultDocument result,
                        AddRequest(request, tensors, target->board(), &writer));
  result.image_sha256 = Sha256Hex(elf);
  result.memory = MemoryOfImage(figures);
  HELX_RETURN_IF_ERROR(CopyBuildFiles(input.folder + "/bundle", &writer));
  result.executed = true;
  result.tensor_request_digest = HexEncode(outcome.evidence->request_digest);
  result.memory.stack_high_water_bytes = StackHighWater(outcome.evidence->stack_high_water_bytes);

  context.emit(RecordType::kPhase, "", "VERIFYING");
  HELX_RETURN_IF_ERROR(AddSamples(request, tensors, *outcome.evidence, &result, &writer));
  HELX_RETURN_IF_ERROR(AddLayers(request, *outcome.evidence, &writer));
  result.files = writer.ResultFiles();
  HELX_ASSIGN_OR_RETURN(const std::string text, result.Canonical());
  HELX_RETURN_IF_ERROR(writer.Add("result.json", text));
  const Json timing{{"schema", "helx.timing/v1"},
                    {"run_wall_ms", static_cast<int64_t>(outcome.wall.count())},
                    {"argv", outcome.argv}};
  HELX_RETURN_IF_ERROR(writer.Add("timing.json", PrettyJson(timing)));
  HELX_RETURN_IF_ERROR(writer.Add("logs/target.log", outcome.log));
  HELX_RETURN_IF_ERROR(writer.Finish().status());
  HELX_RETURN_IF_ERROR(EmitBundle(folder, context));
  return Json{{"ok", true}, {"assessment", result.Assessment()}};
}

}  // namespace helx::agent
