#include "core/model/validate.h"

#include <cmath>
#include <limits>

namespace helx::model {
namespace {

struct Range {
  int64_t lowest;
  int64_t highest;
};

// What a zero point may be. Types that are never stored quantised must have 0.
Range ZeroPointRange(TensorType type) {
  switch (type) {
    case TensorType::INT8: return {-128, 127};
    case TensorType::UINT8: return {0, 255};
    case TensorType::INT16: return {-32768, 32767};
    case TensorType::UINT16: return {0, 65535};
    case TensorType::INT4: return {-8, 7};
    case TensorType::UINT4: return {0, 15};
    case TensorType::INT2: return {-2, 1};
    case TensorType::INT32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default: return {0, 0};
  }
}

std::optional<std::string> CheckQuantization(const Tensor& tensor) {
  const Quantization& q = tensor.quantization;
  if (!q.present()) return std::nullopt;
  if (q.scale.size() != q.zero_point.size()) {
    return std::to_string(q.scale.size()) + " scales but " + std::to_string(q.zero_point.size()) +
           " zero points; the counts must be equal";
  }
  if (q.scale.size() > 1) {
    if (q.dimension < 0 || static_cast<size_t>(q.dimension) >= tensor.shape.size()) {
      return "quantised dimension " + std::to_string(q.dimension) + " is outside the rank " +
             std::to_string(tensor.shape.size());
    }
    if (static_cast<int64_t>(q.scale.size()) != tensor.shape[q.dimension]) {
      return std::to_string(q.scale.size()) + " scales for dimension " +
             std::to_string(q.dimension) + " of size " + std::to_string(tensor.shape[q.dimension]) +
             "; 1 or one per slice is allowed";
    }
  }
  const Range range = ZeroPointRange(tensor.type);
  for (size_t i = 0; i < q.scale.size(); ++i) {
    if (!std::isfinite(q.scale[i]) || q.scale[i] <= 0) {
      return "scale " + std::to_string(i) + " is " + std::to_string(q.scale[i]) +
             "; scales are finite and greater than 0";
    }
    if (q.zero_point[i] < range.lowest || q.zero_point[i] > range.highest) {
      return "zero point " + std::to_string(q.zero_point[i]) + " is outside [" +
             std::to_string(range.lowest) + ", " + std::to_string(range.highest) + "] of " +
             std::string(TensorTypeName(tensor.type));
    }
  }
  return std::nullopt;
}

}  // namespace

std::string TensorPlace(size_t subgraph, size_t number, const Tensor& tensor) {
  return "subgraph " + std::to_string(subgraph) + ", tensor " + std::to_string(number) +
         (tensor.name.empty() ? "" : " (" + tensor.name + ")");
}

std::string OperatorPlace(size_t subgraph, size_t number, const Operator& op) {
  return "subgraph " + std::to_string(subgraph) + ", operator " + std::to_string(number) + " (" +
         OperatorText(op) + ")";
}

std::optional<std::string> CheckTensor(const Tensor& tensor, const ReadLimits& limits) {
  if (tensor.shape.size() > limits.rank) {
    return "rank " + std::to_string(tensor.shape.size()) + "; at most " +
           std::to_string(limits.rank) + " is allowed";
  }
  if (!tensor.shape_signature.empty() && tensor.shape_signature.size() != tensor.shape.size()) {
    return "shape signature of rank " + std::to_string(tensor.shape_signature.size()) +
           " for a shape of rank " + std::to_string(tensor.shape.size());
  }
  const std::optional<int> bits = ElementBits(tensor.type);
  const int64_t limit = limits.tensor_bytes * 8 / bits.value_or(8);
  int64_t count = 1;
  for (int32_t dimension : tensor.shape) {
    if (dimension < 0) return "dimension " + std::to_string(dimension) + " is negative";
    if (dimension > 0 && count > limit / dimension) {
      return "shape " + TensorText(tensor) + " has more than " +
             std::to_string(limits.tensor_bytes) + " bytes";
    }
    count *= dimension;
  }
  if (tensor.is_variable && !tensor.data.empty()) {
    return "is a variable and has constant data; only one of both is allowed";
  }
  if (bits && !tensor.is_sparse && !tensor.data.empty() &&
      static_cast<int64_t>(tensor.data.size()) != ByteSize(tensor)) {
    return "buffer " + std::to_string(tensor.buffer) + " holds " +
           std::to_string(tensor.data.size()) + " bytes, but " + TensorText(tensor) + " takes " +
           std::to_string(ByteSize(tensor));
  }
  return CheckQuantization(tensor);
}

std::optional<ReadError> CheckDataFlow(size_t number, Subgraph& subgraph) {
  const int64_t count = static_cast<int64_t>(subgraph.tensors.size());
  const std::string graph = "subgraph " + std::to_string(number);
  std::vector<bool> written(subgraph.tensors.size(), false);
  std::vector<bool> is_input(subgraph.tensors.size(), false);
  auto range_text = [&](int64_t tensor) {
    return "tensor " + std::to_string(tensor) + " does not exist; there are " +
           std::to_string(count);
  };

  for (size_t i = 0; i < subgraph.inputs.size(); ++i) {
    const int32_t t = subgraph.inputs[i];
    const std::string place = graph + ", input " + std::to_string(i);
    if (t < 0 || t >= count) return ReadError{place, range_text(t)};
    if (!subgraph.tensors[t].data.empty()) {
      return ReadError{place, "tensor " + std::to_string(t) + " is a constant"};
    }
    if (is_input[t]) return ReadError{place, "tensor " + std::to_string(t) + " appears twice"};
    is_input[t] = true;
  }
  std::vector<int64_t> producer(subgraph.tensors.size(), -1);
  for (size_t o = 0; o < subgraph.operators.size(); ++o) {
    const Operator& op = subgraph.operators[o];
    for (int32_t t : op.outputs) {
      const std::string place = OperatorPlace(number, o, op);
      if (t < 0 || t >= count) return ReadError{place, "output " + range_text(t)};
      const std::string name = "output tensor " + std::to_string(t);
      if (!subgraph.tensors[t].data.empty()) return ReadError{place, name + " is a constant"};
      if (is_input[t]) return ReadError{place, name + " is an input of the subgraph"};
      if (producer[t] >= 0) {
        return ReadError{place,
                         name + " is already written by operator " + std::to_string(producer[t])};
      }
      producer[t] = static_cast<int64_t>(o);
    }
  }
  for (size_t t = 0; t < subgraph.tensors.size(); ++t) {
    Tensor& tensor = subgraph.tensors[t];
    tensor.is_constant = !tensor.data.empty() || (producer[t] < 0 && !is_input[t] &&
                                                  ElementCount(tensor) == 0);
    written[t] = tensor.is_constant || tensor.is_variable || is_input[t];
  }
  for (size_t o = 0; o < subgraph.operators.size(); ++o) {
    const Operator& op = subgraph.operators[o];
    const std::string place = OperatorPlace(number, o, op);
    for (int32_t t : op.inputs) {
      if (t == -1) continue;
      if (t < 0 || t >= count) return ReadError{place, "input " + range_text(t)};
      // Custom operators may name memory of their own as inputs: Vela's scratch tensors have no producer.
      if (!written[t] && (producer[t] >= 0 || op.code != BuiltinOperator::CUSTOM)) {
        return ReadError{place, "input tensor " + std::to_string(t) +
                                    (producer[t] < 0 ? " is never written"
                                                     : " is written only by operator " +
                                                           std::to_string(producer[t]) +
                                                           ", which does not come before")};
      }
    }
    for (int32_t t : op.intermediates) {
      if (t < -1 || t >= count) return ReadError{place, "intermediate " + range_text(t)};
    }
    for (int32_t t : op.outputs) written[t] = true;
  }
  for (size_t i = 0; i < subgraph.outputs.size(); ++i) {
    const int32_t t = subgraph.outputs[i];
    const std::string place = graph + ", output " + std::to_string(i);
    if (t < 0 || t >= count) return ReadError{place, range_text(t)};
    if (!written[t]) {
      return ReadError{place, "tensor " + std::to_string(t) + " is never written"};
    }
  }
  return std::nullopt;
}

}  // namespace helx::model
