#include "worker/engine/fold.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "worker/engine/ops/broadcast.h"
#include "worker/engine/ops/common.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;
using model::Operator;
using model::Subgraph;

constexpr int64_t kMaxFoldedElements = 4096;

bool IsIndex(const Tensor& tensor) {
  return (tensor.type == TensorType::INT32 || tensor.type == TensorType::INT64) &&
         model::ElementCount(tensor) <= kMaxFoldedElements;
}

// Makes `tensor` a constant of these values.
void Store(Tensor& tensor, const std::vector<int64_t>& values,
           std::deque<std::vector<uint8_t>>* storage) {
  const size_t size = tensor.type == TensorType::INT64 ? 8 : 4;
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t value = static_cast<uint64_t>(values[i]);
    for (size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<uint8_t>(value >> 8 * b);
  }
  storage->push_back(std::move(bytes));
  tensor.data = storage->back();
  tensor.is_constant = true;
}

using FoldValues = std::vector<int64_t>;

std::optional<FoldValues> Arithmetic(const Operator& op, const Tensor& a, const Tensor& b,
                                     const Tensor& output) {
  const std::optional<BroadcastShape> shape = Broadcast(a.shape, b.shape);
  if (!shape || shape->output != output.shape || a.type != b.type || a.type != output.type) {
    return std::nullopt;
  }
  const FoldValues x = IntegerValues(a), y = IntegerValues(b);
  FoldValues values;
  std::vector<int64_t> at(shape->size.size(), 0);
  for (int64_t i = 0; i < model::ElementCount(output); ++i) {
    int64_t x_at = 0, y_at = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      x_at += at[d] * shape->a_stride[d];
      y_at += at[d] * shape->b_stride[d];
    }
    const auto p = static_cast<uint64_t>(x[x_at]), q = static_cast<uint64_t>(y[y_at]);
    int64_t value = 0;
    switch (op.code) {
      case BuiltinOperator::ADD:
        value = static_cast<int64_t>(p + q);
        break;
      case BuiltinOperator::SUB:
        value = static_cast<int64_t>(p - q);
        break;
      case BuiltinOperator::MUL:
        value = static_cast<int64_t>(p * q);
        break;
      case BuiltinOperator::MAXIMUM:
        value = std::max(x[x_at], y[y_at]);
        break;
      case BuiltinOperator::MINIMUM:
        value = std::min(x[x_at], y[y_at]);
        break;
      default:
        return std::nullopt;
    }
    values.push_back(value);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < shape->size[d]) break;
      at[d] = 0;
    }
  }
  return values;
}

// Only without a fused activation.
bool IsPlain(const Operator& op) {
  using A = tflite::ActivationFunctionType;
  if (const auto* o = op.options.AsAddOptions()) return o->fused_activation_function == A::NONE;
  if (const auto* o = op.options.AsSubOptions()) return o->fused_activation_function == A::NONE;
  if (const auto* o = op.options.AsMulOptions()) return o->fused_activation_function == A::NONE;
  return true;
}

// STRIDED_SLICE of a vector, as shapes are taken apart with.
std::optional<FoldValues> SliceOfVector(const Subgraph& graph, const Operator& op,
                                        const Tensor& input) {
  const auto* options = op.options.AsStridedSliceOptions();
  if (op.inputs.size() != 4 || input.shape.size() != 1 || options == nullptr ||
      options->ellipsis_mask != 0 || options->new_axis_mask != 0 || options->offset) {
    return std::nullopt;
  }
  int64_t operand[3];
  for (size_t i = 0; i < 3; ++i) {
    const FoldValues values = IntegerValues(graph.tensors[op.inputs[i + 1]]);
    if (values.size() != 1) return std::nullopt;
    operand[i] = values[0];
  }
  const int64_t size = input.shape[0];
  auto wrap = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  if (operand[2] != 1) return std::nullopt;
  const int64_t first = options->begin_mask & 1 ? 0 : wrap(operand[0]);
  int64_t last = options->end_mask & 1 ? size : wrap(operand[1]);
  if (options->shrink_axis_mask & 1) last = first + 1;
  if (last > size) return std::nullopt;
  const FoldValues values = IntegerValues(input);
  return first >= last ? FoldValues{} : FoldValues(values.begin() + first, values.begin() + last);
}

std::optional<FoldValues> GatherOfVector(const Tensor& input, const Tensor& indices) {
  if (input.shape.size() != 1) return std::nullopt;
  const FoldValues values = IntegerValues(input);
  FoldValues picked;
  for (int64_t index : IntegerValues(indices)) {
    if (index < 0 || index >= static_cast<int64_t>(values.size())) return std::nullopt;
    picked.push_back(values[index]);
  }
  return picked;
}

// Operands one after another: PACK of scalars, CONCATENATION of vectors.
std::optional<FoldValues> Joined(const Subgraph& graph, const Operator& op, size_t rank) {
  FoldValues values;
  for (int32_t number : op.inputs) {
    if (graph.tensors[number].shape.size() != rank) return std::nullopt;
    const FoldValues more = IntegerValues(graph.tensors[number]);
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::optional<FoldValues> Evaluate(const Subgraph& graph, const Operator& op,
                                   const Tensor& output) {
  const Tensor& first = graph.tensors[op.inputs[0]];
  switch (op.code) {
    case BuiltinOperator::PACK:
      return Joined(graph, op, 0);
    case BuiltinOperator::CONCATENATION:
      return Joined(graph, op, 1);
    case BuiltinOperator::STRIDED_SLICE:
      return SliceOfVector(graph, op, first);
    case BuiltinOperator::CAST:
    case BuiltinOperator::RESHAPE:
    case BuiltinOperator::EXPAND_DIMS:
    case BuiltinOperator::SQUEEZE:
      return IntegerValues(first);
    case BuiltinOperator::FILL: {
      const FoldValues value =
          op.inputs.size() == 2 ? IntegerValues(graph.tensors[op.inputs[1]]) : FoldValues{};
      if (value.size() != 1) return std::nullopt;
      return FoldValues(static_cast<size_t>(model::ElementCount(output)), value[0]);
    }
    case BuiltinOperator::REDUCE_PROD: {
      if (first.shape.size() != 1 || model::ElementCount(output) != 1) return std::nullopt;
      uint64_t product = 1;
      for (int64_t value : IntegerValues(first)) product *= static_cast<uint64_t>(value);
      return FoldValues{static_cast<int64_t>(product)};
    }
    default:
      break;
  }
  if (op.inputs.size() != 2) return std::nullopt;
  const Tensor& second = graph.tensors[op.inputs[1]];
  if (op.code == BuiltinOperator::GATHER) return GatherOfVector(first, second);
  return IsPlain(op) ? Arithmetic(op, first, second, output) : std::nullopt;
}

float WidenedHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 0x3ff;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

// DEQUANTIZE of a constant: weights that are stored narrow.
bool FoldDequantize(Subgraph& graph, const Operator& op,
                    std::deque<std::vector<uint8_t>>* storage) {
  if (op.inputs.size() != 1 || op.outputs.size() != 1 || op.inputs[0] < 0) return false;
  const Tensor& input = graph.tensors[op.inputs[0]];
  Tensor& output = graph.tensors[op.outputs[0]];
  if (!input.is_constant || input.is_sparse || input.data.empty() || output.is_variable ||
      output.type != TensorType::FLOAT32 || input.shape != output.shape) {
    return false;
  }
  std::vector<float> values(static_cast<size_t>(model::ElementCount(input)));
  if (input.type == TensorType::FLOAT16) {
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half;
      std::memcpy(&half, input.data.data() + 2 * i, sizeof half);
      values[i] = WidenedHalf(half);
    }
  } else if (input.type == TensorType::INT8 && input.quantization.present()) {
    const model::Quantization& q = input.quantization;
    const int64_t inner =
        q.per_channel() ? Product(input.shape, q.dimension + 1, input.shape.size()) : 1;
    const std::vector<int8_t> bytes = Int8Values(input);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t c = q.per_channel() ? i / inner % q.scale.size() : 0;
      values[i] = q.scale[c] * static_cast<float>(bytes[i] - q.zero_point[c]);
    }
  } else {
    return false;
  }
  std::vector<uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  storage->push_back(std::move(bytes));
  output.data = storage->back();
  output.is_constant = true;
  return true;
}

}  // namespace

bool Fold(Subgraph& graph, const Operator& op, std::deque<std::vector<uint8_t>>* storage) {
  if (op.code == BuiltinOperator::DEQUANTIZE) return FoldDequantize(graph, op, storage);
  if (op.outputs.size() != 1 || op.inputs.empty()) return false;
  Tensor& output = graph.tensors[op.outputs[0]];
  if (!IsIndex(output) || output.is_variable) return false;
  if (op.code == BuiltinOperator::SHAPE || op.code == BuiltinOperator::RANK) {
    if (op.inputs[0] < 0) return false;
    const std::vector<int32_t>& shape = graph.tensors[op.inputs[0]].shape;
    const FoldValues values = op.code == BuiltinOperator::RANK
                                  ? FoldValues{static_cast<int64_t>(shape.size())}
                                  : FoldValues(shape.begin(), shape.end());
    if (static_cast<int64_t>(values.size()) != model::ElementCount(output)) return false;
    Store(output, values, storage);
    return true;
  }
  for (int32_t number : op.inputs) {
    if (number < 0) return false;
    const Tensor& input = graph.tensors[number];
    if (!input.is_constant || input.is_sparse || !IsIndex(input)) return false;
  }
  const std::optional<FoldValues> values = Evaluate(graph, op, output);
  if (!values || static_cast<int64_t>(values->size()) != model::ElementCount(output)) return false;
  Store(output, *values, storage);
  return true;
}

}  // namespace helx::engine
