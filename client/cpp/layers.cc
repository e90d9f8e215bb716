#include "client/cpp/layers.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "client/cpp/reference_files.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/model/reader.h"

namespace helx::client {
namespace {

std::string LayerFile(size_t op, size_t output) {
  char name[64];
  std::snprintf(name, sizeof(name), "op%03zu-out%zu.bin", op, output);
  return name;
}

std::string LayerText(const model::Operator& op, size_t index, size_t output) {
  return "op " + std::to_string(index) + " (" + model::OperatorText(op) + ") output " +
         std::to_string(output);
}

absl::StatusOr<std::vector<TensorEntry>> Entries(const LoadedBundle& bundle,
                                                 const std::vector<BoundTensor>& tensors) {
  std::vector<TensorEntry> entries;
  for (const BoundTensor& tensor : tensors) {
    const auto bytes = bundle.request_tensors.find(tensor.digest.hash);
    if (bytes == bundle.request_tensors.end()) {
      return NotFound("the bundle does not hold the bytes of input " + tensor.spec.name);
    }
    TensorEntry entry;
    entry.spec = tensor.spec;
    entry.bytes = bytes->second;
    entry.digest = tensor.digest;
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Whether the folder holds any layer at all: otherwise it is the wrong folder.
bool HoldsLayers(const std::string& folder) {
  std::error_code error;
  for (const auto& item : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = item.path().filename().string();
    if (name.starts_with("op") && name.find("-out") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<JobEntry> DiagnosticJob(const LoadedBundle& bundle, int64_t sample) {
  const FrozenRequest& request = bundle.request;
  if (sample < 0 || static_cast<size_t>(sample) >= bundle.result.samples.size()) {
    return NotFound("there is no sample " + std::to_string(sample) + "; the result has " +
                    std::to_string(bundle.result.samples.size()));
  }
  JobEntry job;
  job.engine = request.engine.name;
  job.platform = request.platform;
  job.state = request.acquisition.state;
  job.probe = true;
  job.tensor_io.emplace();
  const auto& sets = request.tensors.input_sets;
  // With reset and one input set every invocation is the same: the first will do.
  const bool alike = sets.size() == 1 && job.state == "reset";
  job.warmup = alike ? 0 : request.acquisition.warmup;
  job.samples = alike ? 1 : sample + 1;
  if (!request.tensors.explicit_inputs) return job;
  if (sets.size() == 1) {
    HELX_ASSIGN_OR_RETURN(job.tensor_io->inputs, Entries(bundle, sets[0]));
    return job;
  }
  for (int64_t s = 0; s <= sample; ++s) {
    HELX_ASSIGN_OR_RETURN(job.tensor_io->input_sequence.emplace_back(),
                          Entries(bundle, sets[static_cast<size_t>(s)]));
  }
  return job;
}

absl::StatusOr<Bisection> BisectLayers(const LoadedBundle& diagnostic, std::string_view model,
                                       const std::string& folder, const Tolerance& tolerance,
                                       NanPolicy nan) {
  if (!HoldsLayers(folder)) {
    return InvalidArgument(folder +
                           " holds no files op<NNN>-out<J>.bin; give the folder with the "
                           "reference's output of every operator");
  }
  HELX_ASSIGN_OR_RETURN(const model::Model read, model::ReadModel(AsBytes(model)));
  const model::Subgraph& graph = read.primary();
  Bisection found;
  for (size_t index = 0; index < graph.operators.size(); ++index) {
    const model::Operator& op = graph.operators[index];
    for (size_t output = 0; output < op.outputs.size(); ++output) {
      const std::string text = LayerText(op, index, output);
      const std::string name = LayerFile(index, output);
      const std::string path = folder + "/" + name;
      std::error_code error;
      if (diagnostic.manifest.Find("layers/" + name) == nullptr) {
        found.skipped.push_back(text + ": the engine does not compute it on its own");
        continue;
      }
      if (!std::filesystem::exists(path, error)) {
        found.skipped.push_back(text + ": there is no " + path);
        continue;
      }
      const auto spec = SpecOf(graph.tensors[static_cast<size_t>(op.outputs[output])], output);
      if (!spec.ok()) {
        found.skipped.push_back(text + ": " + MessageOf(spec.status()));
        continue;
      }
      HELX_ASSIGN_OR_RETURN(const std::string actual, diagnostic.ReadArtifact("layers/" + name));
      HELX_ASSIGN_OR_RETURN(const std::string reference, ReadFile(path));
      auto compared = CompareTensor(*spec, actual, reference, tolerance, nan);
      if (!compared.ok()) {
        return WithErrorCode(InvalidArgument(path + ": " + MessageOf(compared.status())),
                             ErrorCodeOf(compared.status()));
      }
      ++found.compared;
      if (compared->matched()) continue;
      found.first =
          LayerVerdict{index, model::OperatorText(op), output, *spec, *std::move(compared)};
      return found;
    }
  }
  return found;
}

}  // namespace helx::client
