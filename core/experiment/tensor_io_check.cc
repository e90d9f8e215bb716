#include "core/experiment/tensor_io_check.h"

#include <set>

namespace helx {
namespace {

std::string At(const std::string& list, size_t i) { return list + "[" + std::to_string(i) + "]"; }

int64_t BytesOf(const std::vector<TensorEntry>& tensors) {
  int64_t total = 0;
  for (const TensorEntry& tensor : tensors) total += ByteSize(tensor.spec).value_or(0);
  return total;
}

std::optional<PolicyProblem> CheckList(const std::vector<TensorEntry>& tensors,
                                       const std::string& list) {
  std::set<std::string> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& spec = tensors[i].spec;
    if (spec.index != static_cast<int64_t>(i)) {
      return PolicyProblem{At(list, i) + ".index", "wrong_order",
                           "found " + std::to_string(spec.index) +
                               "; allowed: " + std::to_string(i) +
                               " (tensors stand in model-index order, all of them, from 0)"};
    }
    if (!names.insert(spec.name).second) {
      return PolicyProblem{At(list, i) + ".name", "duplicate_name",
                           "the name \"" + spec.name + "\" stands twice in one list"};
    }
  }
  return std::nullopt;
}

}  // namespace

int64_t PolicyBytes(const TensorIoEntry& policy) {
  int64_t total = BytesOf(policy.inputs);
  for (const auto& set : policy.input_sequence) total += BytesOf(set);
  for (const ReferenceEntry& reference : policy.references) total += BytesOf(reference.tensors);
  return total;
}

std::optional<PolicyProblem> CheckTensorLists(const TensorIoEntry& policy) {
  if (!policy.inputs.empty() && !policy.input_sequence.empty()) {
    return PolicyProblem{"input_sequence", "sequence_excludes_inputs",
                         "inputs and input_sequence are both written; write one of them"};
  }
  if (auto problem = CheckList(policy.inputs, "inputs")) return problem;
  for (size_t i = 0; i < policy.input_sequence.size(); ++i) {
    const std::string set = At("input_sequence", i);
    if (policy.input_sequence[i].empty()) {
      return PolicyProblem{set, "empty_list",
                           "found no tensors; allowed: every input of the model"};
    }
    if (auto problem = CheckList(policy.input_sequence[i], set)) return problem;
  }
  for (size_t i = 0; i < policy.references.size(); ++i) {
    const std::string list = At("references", i) + ".tensors";
    if (policy.references[i].tensors.empty()) {
      return PolicyProblem{list, "empty_list",
                           "found no tensors; allowed: every output of the model"};
    }
    if (auto problem = CheckList(policy.references[i].tensors, list)) return problem;
  }
  return std::nullopt;
}

std::optional<PolicyProblem> CheckAcquisition(const JobEntry& job, const DocumentLimits& limits) {
  if (!job.tensor_io) return std::nullopt;
  const TensorIoEntry& policy = *job.tensor_io;
  const auto count_matches = [&job](size_t count) {
    return count == 0 || static_cast<int64_t>(count) == job.samples;
  };
  if (!count_matches(policy.references.size())) {
    return PolicyProblem{"references", "reference_count",
                         "found " + std::to_string(policy.references.size()) +
                             " references for samples: " + std::to_string(job.samples) +
                             "; allowed: one per measured invocation, or none"};
  }
  if (!policy.input_sequence.empty()) {
    if (!count_matches(policy.input_sequence.size())) {
      return PolicyProblem{"input_sequence", "sequence_count",
                           "found " + std::to_string(policy.input_sequence.size()) +
                               " input sets for samples: " + std::to_string(job.samples) +
                               "; allowed: one per sample"};
    }
    if (job.warmup != 0 || job.state != "carry") {
      return PolicyProblem{"input_sequence", "sequence_acquisition",
                           "found warmup: " + std::to_string(job.warmup) + " and state: " +
                               job.state + "; an input sequence needs warmup: 0 and state: carry"};
    }
  }
  const int64_t bytes = PolicyBytes(policy);
  if (bytes > limits.tensor_bytes) {
    return PolicyProblem{"", "tensor_bytes_exceeded",
                         "inputs and reference data have " + std::to_string(bytes) +
                             " bytes; allowed: " + std::to_string(limits.tensor_bytes) +
                             " (fewer samples or smaller tensors)"};
  }
  return std::nullopt;
}

}  // namespace helx
