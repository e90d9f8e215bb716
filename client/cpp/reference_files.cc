#include "client/cpp/reference_files.h"

#include <utility>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/experiment/tensor_io_check.h"
#include "core/model/reader.h"

namespace helx::client {
namespace {

// Part of the request's identity, so it says nothing of where the files were.
constexpr char kDescription[] = "output files given with --reference-dir";

}  // namespace

absl::StatusOr<TensorSpec> SpecOf(const model::Tensor& tensor, size_t index) {
  const auto dtype = model::StorageType(tensor.type);
  if (!dtype || model::ElementCount(tensor) < 1) {
    return InvalidArgument(tensor.name + " is " + model::TensorText(tensor) +
                           ", which cannot be compared; allowed are " + std::string(kDTypeNames) +
                           " with every dimension >= 1");
  }
  TensorSpec spec;
  spec.index = static_cast<int32_t>(index);
  spec.name = tensor.name;
  spec.dtype = *dtype;
  spec.shape.assign(tensor.shape.begin(), tensor.shape.end());
  return spec;
}

absl::StatusOr<std::vector<TensorSpec>> ModelOutputs(std::string_view model) {
  HELX_ASSIGN_OR_RETURN(const model::Model read, model::ReadModel(AsBytes(model)));
  const model::Subgraph& graph = read.primary();
  std::vector<TensorSpec> outputs;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    HELX_ASSIGN_OR_RETURN(TensorSpec spec,
                          SpecOf(graph.tensors[static_cast<size_t>(graph.outputs[i])], i));
    outputs.push_back(std::move(spec));
  }
  return outputs;
}

absl::StatusOr<std::vector<TensorData>> ReadReferenceFiles(const std::string& folder,
                                                           int64_t sample, int64_t samples,
                                                           const std::vector<TensorSpec>& outputs) {
  const std::string place = samples > 1 ? folder + "/" + std::to_string(sample) : folder;
  std::vector<TensorData> tensors;
  for (const TensorSpec& output : outputs) {
    const std::string path = place + "/output-" + std::to_string(output.index) + ".bin";
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(output));
    auto bytes = ReadFile(path, static_cast<size_t>(size) + 1);
    if (!bytes.ok()) {
      return WithErrorCode(
          InvalidArgument(MessageOf(bytes.status()) + "; --reference-dir needs " + path + " with " +
                          std::to_string(size) + " bytes (" + SpecText(output) + ")"),
          absl::IsNotFound(bytes.status()) ? "unreadable_file" : "wrong_length");
    }
    const absl::Status fits = CheckTensorBytes(output, *bytes);
    if (!fits.ok()) {
      return WithErrorCode(InvalidArgument(path + ": " + MessageOf(fits)), ErrorCodeOf(fits));
    }
    tensors.push_back({output, *std::move(bytes)});
  }
  return tensors;
}

absl::Status AddReferenceFiles(const std::string& folder, const std::vector<TensorSpec>& outputs,
                               const DocumentLimits& limits, JobEntry* job) {
  if (!job->tensor_io) job->tensor_io.emplace();
  if (!job->tensor_io->references.empty()) {
    return WithErrorCode(
        InvalidArgument("the document holds references already; leave them out, or "
                        "leave out --reference-dir"),
        "references_twice");
  }
  for (int64_t sample = 0; sample < job->samples; ++sample) {
    HELX_ASSIGN_OR_RETURN(std::vector<TensorData> tensors,
                          ReadReferenceFiles(folder, sample, job->samples, outputs));
    ReferenceEntry reference{"files", kDescription, {}};
    for (TensorData& tensor : tensors) {
      TensorEntry entry;
      entry.spec = std::move(tensor.spec);
      entry.digest = DigestOf(std::string_view(tensor.data));
      entry.bytes = std::move(tensor.data);
      reference.tensors.push_back(std::move(entry));
    }
    job->tensor_io->references.push_back(std::move(reference));
  }
  const auto problem = CheckAcquisition(*job, limits);
  if (!problem) return absl::OkStatus();
  return WithErrorCode(InvalidArgument("--reference-dir: " + problem->message), problem->code);
}

}  // namespace helx::client
