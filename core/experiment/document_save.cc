// Experiment -> YAML.
#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/experiment/document.h"

namespace helx {
namespace {

// A JSON string is a double-quoted YAML scalar.
std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Number(int64_t value) { return std::to_string(value); }

void AppendTensor(const TensorEntry& tensor, const std::string& indent, std::string* out) {
  std::string shape;
  for (int64_t dim : tensor.spec.shape) shape += (shape.empty() ? "" : ", ") + Number(dim);
  *out += indent + "- {index: " + Number(tensor.spec.index) +
          ", name: " + Quoted(tensor.spec.name) +
          ", dtype: " + std::string(DTypeName(tensor.spec.dtype)) + ", shape: [" + shape +
          "], hex: \"" + HexEncode(AsBytes(tensor.bytes)) + "\"}\n";
}

void AppendTolerance(const ToleranceText& tolerance, std::string* out) {
  *out += "absolute: " + tolerance.absolute + ", relative: " + tolerance.relative + "}";
}

void AppendComparison(const ComparisonEntry& comparison, const std::string& indent,
                      std::string* out) {
  *out += indent + "comparison:\n" + indent + "  default: {";
  AppendTolerance(comparison.default_tolerance, out);
  *out +=
      "\n" + indent + "  nan: " + (comparison.nan_match_both ? "match_both" : "never_match") + "\n";
  if (comparison.per_tensor.empty()) return;
  *out += indent + "  per_tensor:\n";
  for (const auto& [output, tolerance] : comparison.per_tensor) {
    *out += indent + "    - {output: " + Number(output) + ", ";
    AppendTolerance(tolerance, out);
    *out += "\n";
  }
}

void AppendPolicy(const TensorIoEntry& policy, const std::string& indent, std::string* out) {
  if (policy == TensorIoEntry()) {
    *out += indent + "tensor_io: {}\n";
    return;
  }
  *out += indent + "tensor_io:\n";
  const std::string inner = indent + "  ";
  if (!policy.inputs.empty()) {
    *out += inner + "inputs:\n";
    for (const TensorEntry& tensor : policy.inputs) AppendTensor(tensor, inner + "  ", out);
  }
  if (!policy.input_sequence.empty()) {
    *out += inner + "input_sequence:\n";
    for (const auto& set : policy.input_sequence) {
      *out += inner + "  -\n";
      for (const TensorEntry& tensor : set) AppendTensor(tensor, inner + "    ", out);
    }
  }
  if (!policy.references.empty()) *out += inner + "references:\n";
  for (const ReferenceEntry& reference : policy.references) {
    *out += inner + "  - origin: " + reference.origin + "\n";
    *out += inner + "    description: " + Quoted(reference.description) + "\n";
    *out += inner + "    tensors:\n";
    for (const TensorEntry& tensor : reference.tensors) AppendTensor(tensor, inner + "      ", out);
  }
  AppendComparison(policy.comparison, inner, out);
}

void AppendSettings(const JobEntry& job, const std::string& indent, std::string* out) {
  *out += indent + "engine: " + Quoted(job.engine) + "\n";
  *out += indent + "platform: " + Quoted(job.platform) + "\n";
  *out += indent + "warmup: " + Number(job.warmup) + "\n";
  *out += indent + "samples: " + Number(job.samples) + "\n";
  *out += indent + "state: " + job.state + "\n";
  if (!job.placement.empty()) *out += indent + "placement:\n";
  for (const auto& [part, region] :
       {std::pair<const char*, const std::string&>{"code", job.placement.code},
        {"weights", job.placement.weights},
        {"arena", job.placement.arena}}) {
    if (!region.empty()) *out += indent + "  " + part + ": " + Quoted(region) + "\n";
  }
  *out += indent + "fvp:\n";
  *out += indent + "  enabled: " + (job.execute ? "true" : "false") + "\n";
  if (job.tensor_io) AppendPolicy(*job.tensor_io, indent + "  ", out);
}

}  // namespace

std::string SaveExperiment(const Experiment& experiment) {
  std::string out = "name: " + Quoted(experiment.name) + "\n";
  if (experiment.jobs.empty()) return out;
  const JobEntry& first = experiment.jobs.front();
  // The model is written as a list exactly when the bundle path ends with its stem.
  const std::string base = experiment.name + (first.run.empty() ? "" : "/" + first.run);
  if (first.bundle_path == base) {
    out += "model: " + Quoted(first.model_path) + "\n";
  } else {
    out += "model:\n";
    // Jobs stand model by model; each model once per run.
    for (const JobEntry& job : experiment.jobs) {
      if (job.run == first.run) out += "  - " + Quoted(job.model_path) + "\n";
    }
  }
  if (first.run.empty()) {
    out += "defaults:\n";
    AppendSettings(first, "  ", &out);
    return out;
  }
  out += "runs:\n";
  for (const JobEntry& job : experiment.jobs) {
    if (job.model_path != first.model_path) break;
    out += "  - name: " + Quoted(job.run) + "\n";
    AppendSettings(job, "    ", &out);
  }
  return out;
}

}  // namespace helx
