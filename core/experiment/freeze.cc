// Job document + model interface -> frozen request.
#include "core/base/yaml_scalar.h"
#include "core/experiment/frozen_request.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

absl::Status Refuse(const std::string& path, std::string_view code, const std::string& message) {
  return WithErrorCode(InvalidArgument(path + ": " + message + " [" + std::string(code) + "]"),
                       code);
}

std::string ShapeText(const TensorSpec& spec) {
  const std::string text = SpecText(spec);
  return text.substr(text.find('['));
}

// `found` against what the model says at the same position.
absl::Status CheckSpec(const TensorSpec& found, const TensorSpec& model, const std::string& path) {
  if (found.index != model.index) {
    return Refuse(path + ".index", "wrong_order",
                  "found " + std::to_string(found.index) +
                      "; allowed: " + std::to_string(model.index) + " (model-index order)");
  }
  if (found.name != model.name) {
    return Refuse(path + ".name", "wrong_name",
                  "found " + ShownText(found.name) + "; the model says " + ShownText(model.name));
  }
  if (found.dtype != model.dtype) {
    return Refuse(path + ".dtype", "wrong_dtype",
                  "found " + std::string(DTypeName(found.dtype)) + "; the model says " +
                      std::string(DTypeName(model.dtype)));
  }
  if (found.shape != model.shape) {
    return Refuse(path + ".shape", "wrong_shape",
                  "found " + ShapeText(found) + "; the model says " + ShapeText(model));
  }
  return absl::OkStatus();
}

using TensorBytes = std::function<absl::StatusOr<std::string>(const Digest&)>;

class Binder {
 public:
  Binder(const FreezeFacts& facts, const TensorBytes& tensor_bytes)
      : facts_(facts), tensor_bytes_(tensor_bytes) {}

  absl::StatusOr<std::vector<BoundTensor>> Bind(const std::vector<TensorEntry>& tensors,
                                                const std::vector<TensorSpec>& model,
                                                const std::string& list, const char* kind) {
    if (tensors.size() != model.size()) {
      return Refuse(list, std::string(kind) + "_count",
                    "found " + std::to_string(tensors.size()) + " tensors; the model has " +
                        std::to_string(model.size()) + " " + kind + "s, all of them are needed");
    }
    std::vector<BoundTensor> bound;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const std::string path = list + "[" + std::to_string(i) + "]";
      HELX_RETURN_IF_ERROR(CheckSpec(tensors[i].spec, model[i], path));
      HELX_RETURN_IF_ERROR(CheckContent(tensors[i], path));
      bound.push_back({tensors[i].spec, tensors[i].digest});
      bytes_ += tensors[i].digest.size_bytes;
    }
    return bound;
  }

  absl::StatusOr<std::vector<BoundTensor>> BindZeros() {
    std::vector<BoundTensor> bound;
    for (const TensorSpec& spec : facts_.inputs) {
      HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(spec));
      bound.push_back({spec, ZeroDigest(size)});
      bytes_ += size;
    }
    return bound;
  }

  // Input and reference bytes bound so far.
  int64_t bytes() const { return bytes_; }

 private:
  absl::Status CheckContent(const TensorEntry& tensor, const std::string& path) {
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(tensor.spec));
    if (tensor.digest.size_bytes != size) {
      return Refuse(path + ".size", "wrong_length",
                    "found " + std::to_string(tensor.digest.size_bytes) + " bytes; " +
                        SpecText(tensor.spec) + " needs " + std::to_string(size));
    }
    // Only a bool's storage has values that are not allowed.
    if (tensor.spec.dtype != DType::kBool) return absl::OkStatus();
    HELX_ASSIGN_OR_RETURN(const std::string bytes, tensor_bytes_(tensor.digest));
    const absl::Status status = CheckTensorBytes(tensor.spec, bytes);
    if (status.ok()) return status;
    return Refuse(path, ErrorCodeOf(status), MessageOf(status));
  }

  const FreezeFacts& facts_;
  const TensorBytes& tensor_bytes_;
  int64_t bytes_ = 0;
};

absl::Status CheckInterface(const std::vector<TensorSpec>& specs, const char* kind) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].index != static_cast<int64_t>(i)) {
      return Internal(std::string("the model's ") + kind + "s are not numbered from 0");
    }
    const auto size = ByteSize(specs[i]);
    if (!size.ok()) {
      return Refuse("model", std::string("dynamic_") + kind, MessageOf(size.status()));
    }
    if (!IsUtf8(specs[i].name)) {
      return Refuse("model", "name_not_utf8",
                    std::string("the name of ") + kind + " " + std::to_string(i) + " is not UTF-8");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOutputBytes(const ParsedJobDocument& document, const FreezeFacts& facts,
                              const DocumentLimits& limits) {
  int64_t per_sample = 0;
  for (const TensorSpec& spec : facts.outputs) {
    HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(spec));
    per_sample += size;
  }
  const int64_t samples = document.job.samples;
  if (per_sample > limits.output_bytes / samples) {
    return Refuse("tensor_io", "output_bytes_exceeded",
                  std::to_string(samples) + " samples of " + std::to_string(per_sample) +
                      " output bytes; allowed: " + std::to_string(limits.output_bytes) +
                      " bytes in total (fewer samples, or no tensor_io)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FrozenRequest> Freeze(
    const ParsedJobDocument& document, const FreezeFacts& facts,
    const std::function<absl::StatusOr<std::string>(const Digest&)>& tensor_bytes,
    const DocumentLimits& limits) {
  HELX_RETURN_IF_ERROR(CheckInterface(facts.inputs, "input"));
  HELX_RETURN_IF_ERROR(CheckInterface(facts.outputs, "output"));
  const JobEntry& job = document.job;
  FrozenRequest request;
  request.model = document.model;
  request.engine = facts.engine;
  request.toolchain = facts.toolchain;
  request.target = facts.target;
  request.platform = job.platform;
  request.execute = job.execute;
  request.probe = job.probe;
  request.placement = job.placement;
  request.acquisition = {job.warmup, job.samples, job.state, job.tensor_io.has_value()};
  request.tensors.outputs = facts.outputs;

  Binder binder(facts, tensor_bytes);
  const TensorIoEntry policy = job.tensor_io.value_or(TensorIoEntry());
  request.tensors.explicit_inputs = !policy.inputs.empty() || !policy.input_sequence.empty();
  for (size_t i = 0; i < policy.input_sequence.size(); ++i) {
    HELX_ASSIGN_OR_RETURN(
        request.tensors.input_sets.emplace_back(),
        binder.Bind(policy.input_sequence[i], facts.inputs,
                    "tensor_io.input_sequence[" + std::to_string(i) + "]", "input"));
  }
  if (!policy.inputs.empty()) {
    HELX_ASSIGN_OR_RETURN(request.tensors.input_sets.emplace_back(),
                          binder.Bind(policy.inputs, facts.inputs, "tensor_io.inputs", "input"));
  }
  if (request.tensors.input_sets.empty()) {
    HELX_ASSIGN_OR_RETURN(request.tensors.input_sets.emplace_back(), binder.BindZeros());
  }
  for (size_t i = 0; i < policy.references.size(); ++i) {
    const ReferenceEntry& reference = policy.references[i];
    BoundReference bound{reference.origin, reference.description, {}};
    HELX_ASSIGN_OR_RETURN(
        bound.tensors,
        binder.Bind(reference.tensors, facts.outputs,
                    "tensor_io.references[" + std::to_string(i) + "].tensors", "output"));
    request.tensors.references.push_back(std::move(bound));
  }
  request.tensors.comparison = policy.comparison;
  for (const auto& [output, tolerance] : policy.comparison.per_tensor) {
    if (static_cast<size_t>(output) >= facts.outputs.size()) {
      return Refuse("tensor_io.comparison.per_tensor", "unknown_output",
                    "found output " + std::to_string(output) + "; the model has " +
                        std::to_string(facts.outputs.size()) + " outputs, numbered from 0");
    }
  }
  if (!job.tensor_io) return request;
  if (binder.bytes() > limits.tensor_bytes) {
    return Refuse("tensor_io", "tensor_bytes_exceeded",
                  "inputs and reference data have " + std::to_string(binder.bytes()) +
                      " bytes; allowed: " + std::to_string(limits.tensor_bytes));
  }
  HELX_RETURN_IF_ERROR(CheckOutputBytes(document, facts, limits));
  return request;
}

}  // namespace helx
