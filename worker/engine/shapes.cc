#include "worker/engine/shapes.h"

#include <algorithm>
#include <optional>

#include "worker/engine/ops/broadcast.h"
#include "worker/engine/ops/common.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;
using model::Operator;
using model::Subgraph;
using Shape = std::vector<int32_t>;

bool IsOpen(const Tensor& tensor) {
  return tensor.shape.empty() ||
         std::find(tensor.shape_signature.begin(), tensor.shape_signature.end(), -1) !=
             tensor.shape_signature.end();
}

// Constants as shapes; empty when the values are no dimensions.
std::optional<Shape> AsShape(const std::vector<int64_t>& values) {
  Shape shape;
  for (int64_t value : values) {
    if (value < -1 || value > INT32_MAX) return std::nullopt;
    shape.push_back(static_cast<int32_t>(value));
  }
  return shape;
}

// -1 takes what is left of `count` elements.
std::optional<Shape> Completed(Shape shape, int64_t count) {
  int64_t known = 1;
  ptrdiff_t open = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      if (open >= 0) return std::nullopt;
      open = static_cast<ptrdiff_t>(d);
    } else {
      known *= shape[d];
      if (known > INT32_MAX) return std::nullopt;
    }
  }
  if (open < 0) return shape;
  if (known == 0 || count % known != 0 || count / known > INT32_MAX) return std::nullopt;
  shape[open] = static_cast<int32_t>(count / known);
  return shape;
}

std::optional<Shape> OfReshape(const Subgraph& graph, const Operator& op, const Tensor& input) {
  std::optional<Shape> shape;
  if (op.inputs.size() > 1 && op.inputs[1] >= 0) {
    const Tensor& operand = graph.tensors[op.inputs[1]];
    if (!operand.is_constant) return std::nullopt;
    shape = AsShape(IntegerValues(operand));
  } else if (const auto* options = op.options.AsReshapeOptions(); options != nullptr) {
    shape = Shape(options->new_shape.begin(), options->new_shape.end());
  }
  if (!shape) return std::nullopt;
  return Completed(*shape, model::ElementCount(input));
}

std::optional<Shape> OfTranspose(const Tensor& input, const Tensor& order) {
  if (!order.is_constant) return std::nullopt;
  Shape shape;
  for (int64_t axis : IntegerValues(order)) {
    const std::optional<size_t> d = ResolveAxis(axis, input.shape.size());
    if (!d) return std::nullopt;
    shape.push_back(input.shape[*d]);
  }
  return shape;
}

std::optional<Shape> OfPack(const Operator& op, const Tensor& input) {
  const auto* options = op.options.AsPackOptions();
  if (options == nullptr) return std::nullopt;
  const std::optional<size_t> axis = ResolveAxis(options->axis, input.shape.size() + 1);
  if (!axis) return std::nullopt;
  Shape shape = input.shape;
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(*axis),
               static_cast<int32_t>(op.inputs.size()));
  return shape;
}

std::optional<Shape> OfConcatenation(const Subgraph& graph, const Operator& op,
                                     const Tensor& input) {
  const auto* options = op.options.AsConcatenationOptions();
  const std::optional<size_t> axis =
      ResolveAxis(options == nullptr ? 0 : options->axis, input.shape.size());
  if (!axis) return std::nullopt;
  int64_t total = 0;
  for (int32_t number : op.inputs) {
    if (number < 0 || graph.tensors[number].shape.size() != input.shape.size()) return std::nullopt;
    total += graph.tensors[number].shape[*axis];
  }
  if (total > INT32_MAX) return std::nullopt;
  Shape shape = input.shape;
  shape[*axis] = static_cast<int32_t>(total);
  return shape;
}

std::optional<Shape> OfExpandDims(const Tensor& input, const Tensor& axis) {
  if (!axis.is_constant) return std::nullopt;
  const std::vector<int64_t> values = IntegerValues(axis);
  if (values.size() != 1) return std::nullopt;
  const std::optional<size_t> at = ResolveAxis(values[0], input.shape.size() + 1);
  if (!at) return std::nullopt;
  Shape shape = input.shape;
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(*at), 1);
  return shape;
}

std::optional<Shape> OfGather(const Operator& op, const Tensor& input, const Tensor& indices) {
  const auto* options = op.options.AsGatherOptions();
  const std::optional<size_t> axis =
      ResolveAxis(options == nullptr ? 0 : options->axis, input.shape.size());
  if (!axis || (options != nullptr && options->batch_dims != 0)) return std::nullopt;
  Shape shape(input.shape.begin(), input.shape.begin() + static_cast<ptrdiff_t>(*axis));
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), input.shape.begin() + static_cast<ptrdiff_t>(*axis) + 1,
               input.shape.end());
  return shape;
}

std::optional<Shape> OfTile(const Tensor& input, const Tensor& multiples) {
  const std::vector<int64_t> values = IntegerValues(multiples);
  if (!multiples.is_constant || values.size() != input.shape.size()) return std::nullopt;
  Shape shape;
  for (size_t d = 0; d < values.size(); ++d) {
    if (values[d] < 0 || values[d] > INT32_MAX || values[d] * input.shape[d] > INT32_MAX) {
      return std::nullopt;
    }
    shape.push_back(static_cast<int32_t>(values[d] * input.shape[d]));
  }
  return shape;
}

std::optional<Shape> OfFullyConnected(const Operator& op, const Tensor& input,
                                      const Tensor& weights) {
  if (weights.shape.size() != 2 || weights.shape[1] < 1) return std::nullopt;
  const auto* options = op.options.AsFullyConnectedOptions();
  if (options != nullptr && options->keep_num_dims && !input.shape.empty()) {
    Shape shape = input.shape;
    shape.back() = weights.shape[0];
    return shape;
  }
  return Shape{static_cast<int32_t>(model::ElementCount(input) / weights.shape[1]),
               weights.shape[0]};
}

std::optional<Shape> OfBatchMatmul(const Operator& op, const Tensor& a, const Tensor& b) {
  if (a.shape.size() < 2 || b.shape.size() < 2) return std::nullopt;
  const auto* options = op.options.AsBatchMatMulOptions();
  const bool adjoint_a = options != nullptr && options->adj_x;
  const bool adjoint_b = options != nullptr && options->adj_y;
  const auto batch = Broadcast(Shape(a.shape.begin(), a.shape.end() - 2),
                               Shape(b.shape.begin(), b.shape.end() - 2));
  if (!batch) return std::nullopt;
  Shape shape = batch->output;
  shape.push_back(a.shape[a.shape.size() - (adjoint_a ? 1 : 2)]);
  shape.push_back(b.shape[b.shape.size() - (adjoint_b ? 2 : 1)]);
  return shape;
}

// The hidden state's depth takes the place of the input's.
std::optional<Shape> OfLstm(const Subgraph& graph, const Operator& op, const Tensor& input) {
  if (op.inputs.size() < 20 || op.inputs[18] < 0 || input.shape.empty()) return std::nullopt;
  const Shape& hidden = graph.tensors[op.inputs[18]].shape;
  if (hidden.empty()) return std::nullopt;
  Shape shape = input.shape;
  shape.back() = hidden.back();
  return shape;
}

// Outputs shaped like the first input.
bool KeepsShape(BuiltinOperator code) {
  switch (code) {
    case BuiltinOperator::ABS:
    case BuiltinOperator::CAST:
    case BuiltinOperator::CEIL:
    case BuiltinOperator::COS:
    case BuiltinOperator::CUMSUM:
    case BuiltinOperator::DEQUANTIZE:
    case BuiltinOperator::ELU:
    case BuiltinOperator::EXP:
    case BuiltinOperator::FLOOR:
    case BuiltinOperator::GELU:
    case BuiltinOperator::HARD_SWISH:
    case BuiltinOperator::L2_NORMALIZATION:
    case BuiltinOperator::LEAKY_RELU:
    case BuiltinOperator::LOG:
    case BuiltinOperator::LOGICAL_NOT:
    case BuiltinOperator::LOGISTIC:
    case BuiltinOperator::LOG_SOFTMAX:
    case BuiltinOperator::NEG:
    case BuiltinOperator::PRELU:
    case BuiltinOperator::QUANTIZE:
    case BuiltinOperator::RELU:
    case BuiltinOperator::RELU6:
    case BuiltinOperator::RELU_0_TO_1:
    case BuiltinOperator::RELU_N1_TO_1:
    case BuiltinOperator::REVERSE_V2:
    case BuiltinOperator::ROUND:
    case BuiltinOperator::RSQRT:
    case BuiltinOperator::SIGN:
    case BuiltinOperator::SIN:
    case BuiltinOperator::SOFTMAX:
    case BuiltinOperator::SQRT:
    case BuiltinOperator::SQUARE:
    case BuiltinOperator::TANH:
    case BuiltinOperator::ZEROS_LIKE: return true;
    default: return false;
  }
}

bool IsBroadcasting(BuiltinOperator code) {
  switch (code) {
    case BuiltinOperator::ADD:
    case BuiltinOperator::ATAN2:
    case BuiltinOperator::BITWISE_XOR:
    case BuiltinOperator::DIV:
    case BuiltinOperator::EQUAL:
    case BuiltinOperator::FLOOR_DIV:
    case BuiltinOperator::FLOOR_MOD:
    case BuiltinOperator::GREATER:
    case BuiltinOperator::GREATER_EQUAL:
    case BuiltinOperator::LESS:
    case BuiltinOperator::LESS_EQUAL:
    case BuiltinOperator::LOGICAL_AND:
    case BuiltinOperator::LOGICAL_OR:
    case BuiltinOperator::MAXIMUM:
    case BuiltinOperator::MINIMUM:
    case BuiltinOperator::MUL:
    case BuiltinOperator::NOT_EQUAL:
    case BuiltinOperator::POW:
    case BuiltinOperator::RIGHT_SHIFT:
    case BuiltinOperator::SQUARED_DIFFERENCE:
    case BuiltinOperator::SUB: return true;
    default: return false;
  }
}

std::optional<Shape> OfBroadcast(const Tensor& a, const Tensor& b) {
  const std::optional<BroadcastShape> shape = Broadcast(a.shape, b.shape);
  if (!shape) return std::nullopt;
  return shape->output;
}

std::optional<Shape> OfOperand(const Tensor& operand) {
  if (!operand.is_constant) return std::nullopt;
  const std::optional<Shape> shape = AsShape(IntegerValues(operand));
  if (!shape || std::find(shape->begin(), shape->end(), -1) != shape->end()) return std::nullopt;
  return shape;
}

std::optional<Shape> OutputShape(const Subgraph& graph, const Operator& op) {
  if (op.inputs.empty() || op.inputs[0] < 0) return std::nullopt;
  const Tensor& first = graph.tensors[op.inputs[0]];
  if (KeepsShape(op.code)) return first.shape;
  if (op.code == BuiltinOperator::RESHAPE) return OfReshape(graph, op, first);
  if (op.code == BuiltinOperator::PACK) return OfPack(op, first);
  if (op.code == BuiltinOperator::CONCATENATION) return OfConcatenation(graph, op, first);
  if (op.code == BuiltinOperator::LSTM ||
      op.code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM) {
    return OfLstm(graph, op, first);
  }
  if (op.code == BuiltinOperator::SHAPE) return Shape{static_cast<int32_t>(first.shape.size())};
  if (op.inputs.size() < 2 || op.inputs[1] < 0) return std::nullopt;
  const Tensor& second = graph.tensors[op.inputs[1]];
  if (IsBroadcasting(op.code)) return OfBroadcast(first, second);
  switch (op.code) {
    case BuiltinOperator::TRANSPOSE: return OfTranspose(first, second);
    case BuiltinOperator::EXPAND_DIMS: return OfExpandDims(first, second);
    case BuiltinOperator::GATHER: return OfGather(op, first, second);
    case BuiltinOperator::TILE: return OfTile(first, second);
    case BuiltinOperator::FULLY_CONNECTED: return OfFullyConnected(op, first, second);
    case BuiltinOperator::BATCH_MATMUL: return OfBatchMatmul(op, first, second);
    case BuiltinOperator::BROADCAST_TO: return OfOperand(second);
    case BuiltinOperator::FILL: return OfOperand(first);
    default: return std::nullopt;
  }
}

// The reader's bound on a tensor's elements, so that sizes still cannot overflow.
constexpr int64_t kMaxElements = int64_t{1} << 28;

bool IsReasonable(const Shape& shape) {
  int64_t count = 1;
  for (int32_t dimension : shape) {
    if (dimension < 0) return false;
    count *= dimension;
    if (count > kMaxElements) return false;
  }
  return shape.size() <= 8;
}

}  // namespace

void InferOpenShapes(Subgraph& graph, const Operator& op) {
  if (op.outputs.size() != 1) return;
  Tensor& output = graph.tensors[op.outputs[0]];
  if (output.is_constant || output.is_variable || !IsOpen(output)) return;
  const std::optional<Shape> shape = OutputShape(graph, op);
  if (!shape || *shape == output.shape || !IsReasonable(*shape)) return;
  output.shape = *shape;
  output.shape_signature.clear();
}

}  // namespace helx::engine
