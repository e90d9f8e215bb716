#include "core/experiment/policy_reader.h"

#include <map>

#include "core/base/hex.h"
#include "core/experiment/tensor_io_check.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

// Reads the tensor policy of one `tensor_io` mapping.
class PolicyReader {
 public:
  PolicyReader(const FileReader& read_file, const DocumentLimits& limits)
      : read_file_(read_file), limits_(limits) {}

  absl::StatusOr<TensorIoEntry> Read(const YamlNode& node) {
    if (node.kind() == YamlNode::Kind::kNull) {
      return node.Error(
          "wrong_type",
          "found nothing; write {} to capture with zero inputs, or leave the key out");
    }
    HELX_RETURN_IF_ERROR(node.CheckKeys({"inputs", "references", "comparison", "input_sequence"}));
    TensorIoEntry policy;
    if (const YamlNode* inputs = node.Find("inputs")) {
      HELX_ASSIGN_OR_RETURN(policy.inputs, ReadTensors(*inputs));
    }
    if (const YamlNode* sequence = node.Find("input_sequence")) {
      HELX_RETURN_IF_ERROR(sequence->ExpectSequence());
      if (sequence->items().empty()) {
        return sequence->Error("empty_list",
                               "found no input set; give one per sample, or leave the key out");
      }
      for (const YamlNode* set : sequence->items()) {
        HELX_ASSIGN_OR_RETURN(policy.input_sequence.emplace_back(), ReadTensors(*set));
      }
    }
    if (const YamlNode* references = node.Find("references")) {
      HELX_RETURN_IF_ERROR(references->ExpectSequence());
      for (const YamlNode* reference : references->items()) {
        HELX_ASSIGN_OR_RETURN(policy.references.emplace_back(), ReadReference(*reference));
      }
    }
    if (const YamlNode* comparison = node.Find("comparison")) {
      HELX_ASSIGN_OR_RETURN(policy.comparison, ReadComparison(*comparison));
    }
    if (const auto problem = CheckTensorLists(policy)) {
      return node.Nearest(problem->path).Error(problem->code, problem->message);
    }
    return policy;
  }

 private:
  absl::StatusOr<std::vector<TensorEntry>> ReadTensors(const YamlNode& node) {
    HELX_RETURN_IF_ERROR(node.ExpectSequence());
    std::vector<TensorEntry> tensors;
    for (const YamlNode* item : node.items()) {
      HELX_ASSIGN_OR_RETURN(tensors.emplace_back(), ReadTensor(*item));
    }
    return tensors;
  }

  absl::StatusOr<TensorSpec> ReadSpec(const YamlNode& node) {
    TensorSpec spec;
    HELX_ASSIGN_OR_RETURN(const YamlNode* index, RequiredMember(node, "index"));
    HELX_ASSIGN_OR_RETURN(const int64_t position, index->Integer(0, INT32_MAX));
    spec.index = static_cast<int32_t>(position);
    HELX_ASSIGN_OR_RETURN(const YamlNode* name, RequiredMember(node, "name"));
    HELX_ASSIGN_OR_RETURN(spec.name, name->Text());
    HELX_ASSIGN_OR_RETURN(const YamlNode* dtype, RequiredMember(node, "dtype"));
    HELX_ASSIGN_OR_RETURN(
        const std::string dtype_name,
        dtype->OneOf({"bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32"}));
    spec.dtype = *DTypeFromName(dtype_name);
    HELX_ASSIGN_OR_RETURN(const YamlNode* shape, RequiredMember(node, "shape"));
    HELX_RETURN_IF_ERROR(shape->ExpectSequence());
    for (const YamlNode* dim : shape->items()) {
      HELX_ASSIGN_OR_RETURN(spec.shape.emplace_back(), dim->Integer(1, INT32_MAX));
    }
    if (const auto size = ByteSize(spec); !size.ok()) {
      return shape->Error("wrong_shape", MessageOf(size.status()));
    }
    return spec;
  }

  absl::StatusOr<TensorEntry> ReadTensor(const YamlNode& node) {
    HELX_RETURN_IF_ERROR(node.CheckKeys({"index", "name", "dtype", "shape", "hex", "file"}));
    TensorEntry tensor;
    HELX_ASSIGN_OR_RETURN(tensor.spec, ReadSpec(node));
    const YamlNode* hex = node.Find("hex");
    const YamlNode* file = node.Find("file");
    if ((hex == nullptr) == (file == nullptr)) {
      return node.Error("hex_or_file", hex ? "hex and file are both written; write one of them"
                                           : "neither hex nor file is written; write one of them");
    }
    if (hex != nullptr) {
      HELX_ASSIGN_OR_RETURN(const std::string_view text, hex->TextView());
      const auto bytes = HexDecode(text);
      if (!bytes.ok()) return hex->Error("wrong_hex", MessageOf(bytes.status()));
      tensor.bytes.assign(bytes->begin(), bytes->end());
    } else {
      HELX_ASSIGN_OR_RETURN(tensor.file, file->Text());
      auto bytes = read_file_(tensor.file);
      if (!bytes.ok()) {
        return file->Error("unreadable_file", MessageOf(bytes.status()));
      }
      tensor.bytes = *std::move(bytes);
    }
    const YamlNode& source = hex ? *hex : *file;
    if (const absl::Status status = CheckTensorBytes(tensor.spec, tensor.bytes); !status.ok()) {
      return source.Error(ErrorCodeOf(status), MessageOf(status));
    }
    // Checked while reading too, so that many files cannot fill the memory before the sum is known.
    bytes_ += static_cast<int64_t>(tensor.bytes.size());
    if (bytes_ > limits_.tensor_bytes) {
      return source.Error(
          "tensor_bytes_exceeded",
          "inputs and reference data pass " + std::to_string(limits_.tensor_bytes) + " bytes here");
    }
    tensor.digest = DigestOf(tensor.bytes);
    return tensor;
  }

  absl::StatusOr<ReferenceEntry> ReadReference(const YamlNode& node) {
    HELX_RETURN_IF_ERROR(node.CheckKeys({"origin", "description", "tensors"}));
    ReferenceEntry reference;
    HELX_ASSIGN_OR_RETURN(const YamlNode* origin, RequiredMember(node, "origin"));
    HELX_ASSIGN_OR_RETURN(reference.origin, origin->OneOf({"files", "host_litert", "other"}));
    HELX_ASSIGN_OR_RETURN(const YamlNode* description, RequiredMember(node, "description"));
    HELX_ASSIGN_OR_RETURN(reference.description, description->Text());
    HELX_ASSIGN_OR_RETURN(const YamlNode* tensors, RequiredMember(node, "tensors"));
    HELX_ASSIGN_OR_RETURN(reference.tensors, ReadTensors(*tensors));
    return reference;
  }

  absl::StatusOr<ToleranceText> ReadTolerance(const YamlNode& node) {
    ToleranceText tolerance;
    if (const YamlNode* absolute = node.Find("absolute")) {
      HELX_ASSIGN_OR_RETURN(tolerance.absolute, absolute->NonNegativeNumber());
    }
    if (const YamlNode* relative = node.Find("relative")) {
      HELX_ASSIGN_OR_RETURN(tolerance.relative, relative->NonNegativeNumber());
    }
    return tolerance;
  }

  absl::StatusOr<ComparisonEntry> ReadComparison(const YamlNode& node) {
    HELX_RETURN_IF_ERROR(node.CheckKeys({"default", "per_tensor", "nan"}));
    ComparisonEntry comparison;
    if (const YamlNode* tolerance = node.Find("default")) {
      HELX_RETURN_IF_ERROR(tolerance->CheckKeys({"absolute", "relative"}));
      HELX_ASSIGN_OR_RETURN(comparison.default_tolerance, ReadTolerance(*tolerance));
    }
    if (const YamlNode* nan = node.Find("nan")) {
      HELX_ASSIGN_OR_RETURN(const std::string policy, nan->OneOf({"never_match", "match_both"}));
      comparison.nan_match_both = policy == "match_both";
    }
    const YamlNode* per_tensor = node.Find("per_tensor");
    if (per_tensor == nullptr) return comparison;
    HELX_RETURN_IF_ERROR(per_tensor->ExpectSequence());
    std::map<int32_t, ToleranceText> by_output;
    for (const YamlNode* item : per_tensor->items()) {
      HELX_RETURN_IF_ERROR(item->CheckKeys({"output", "absolute", "relative"}));
      HELX_ASSIGN_OR_RETURN(const YamlNode* output, RequiredMember(*item, "output"));
      HELX_ASSIGN_OR_RETURN(const int64_t ordinal, output->Integer(0, INT32_MAX));
      HELX_ASSIGN_OR_RETURN(ToleranceText tolerance, ReadTolerance(*item));
      if (!by_output.emplace(static_cast<int32_t>(ordinal), std::move(tolerance)).second) {
        return output->Error("duplicate_output",
                             "output " + std::to_string(ordinal) + " stands twice");
      }
    }
    comparison.per_tensor.assign(by_output.begin(), by_output.end());
    return comparison;
  }

  const FileReader& read_file_;
  const DocumentLimits& limits_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<const YamlNode*> RequiredMember(const YamlNode& mapping, std::string_view key) {
  const YamlNode* node = mapping.Find(key);
  if (node != nullptr) return node;
  return mapping.Error("missing_key", "the key " + std::string(key) + " is missing");
}

absl::StatusOr<TensorIoEntry> ReadPolicy(const YamlNode& node, const FileReader& read_file,
                                         const DocumentLimits& limits) {
  return PolicyReader(read_file, limits).Read(node);
}

}  // namespace helx
