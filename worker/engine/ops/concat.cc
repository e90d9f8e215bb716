// CONCATENATION, PACK, UNPACK, SPLIT and SPLIT_V.
#include <algorithm>
#include <cmath>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/lookup.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

// Rows of `run` elements, every `part` apart on one side and every `whole` apart on the other.
Move Rows(int64_t rows, int64_t run, int64_t part, int64_t whole, int64_t offset, bool joining) {
  Move move;
  move.size = {rows, run};
  move.input_stride = {joining ? part : whole, 1};
  move.output_stride = {joining ? whole : part, 1};
  (joining ? move.output_offset : move.input_offset) = offset;
  return move;
}

std::optional<size_t> CheckAxis(Preflight& preflight, int64_t axis, size_t rank) {
  const std::optional<size_t> resolved = ResolveAxis(axis, rank);
  if (!resolved) {
    preflight.Refuse("malformed_model", "axis " + std::to_string(axis) + " lies outside the rank " +
                                            std::to_string(rank));
  }
  return resolved;
}

bool SameScaling(const Tensor& a, const Tensor& b) {
  return a.quantization.scale == b.quantization.scale &&
         a.quantization.zero_point == b.quantization.zero_point;
}

void CheckConcatenation(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, SIZE_MAX, 1)) return;
  const auto* options = OptionsOrDefault(preflight, view.op().options.AsConcatenationOptions());
  if (options == nullptr) return;
  const Tensor& output = view.output();
  if (options->fused_activation_function != tflite::ActivationFunctionType::NONE) {
    preflight.Refuse("unsupported_activation", "a fused activation; NONE is allowed");
    return;
  }
  const std::optional<size_t> axis = CheckAxis(preflight, options->axis, output.shape.size());
  if (!axis) return;
  int64_t total = 0;
  for (size_t i = 0; i < view.input_count(); ++i) {
    const std::string role = "input " + std::to_string(i);
    if (view.input(i) == nullptr) {
      preflight.Refuse("malformed_model", role + " is absent (-1)");
      return;
    }
    const Tensor& input = *view.input(i);
    if (!CheckType(preflight, role, input, {output.type}) ||
        !CheckRank(preflight, role, input, output.shape.size())) {
      return;
    }
    std::vector<int32_t> expected = output.shape;
    expected[*axis] = input.shape[*axis];
    if (!CheckShape(preflight, role, input, expected)) return;
    total += input.shape[*axis];
    if (IsQuantized(output) && !SameScaling(input, output)) {
      if (!CheckType(preflight, role, input, {TensorType::UINT8, TensorType::INT8}) ||
          !CheckPerTensor(preflight, role, input) ||
          !CheckPerTensor(preflight, "output", output)) {
        return;
      }
    }
  }
  if (total != output.shape[*axis]) {
    preflight.Refuse("malformed_model", "the inputs fill " + std::to_string(total) + " of " +
                                            std::to_string(output.shape[*axis]) +
                                            " positions of the output");
  }
}

// uint8 inputs of another scale are rescaled in place: TFLite computes round(x * ratio - zero_point * ratio) + zero_point.
Call RescaleCall(const LowerContext& context, const Tensor& input, Argument from, Argument to) {
  const Tensor& output = context.view.output();
  const float ratio = Scale(input) * (1.0f / Scale(output));
  const float bias = -static_cast<float>(ZeroPoint(input)) * ratio;
  const IntegerRange range = *StorageRange(output.type);
  return LookupCall(context, input, [&](int32_t x) {
    const float y = std::round(static_cast<float>(x) * ratio + bias);
    return static_cast<int32_t>(std::clamp<double>(static_cast<double>(y) + ZeroPoint(output),
                                                   range.lowest, range.highest));
  }, from, to);
}

Lowering LowerConcatenation(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& output = view.output();
  const auto* options = view.op().options.AsConcatenationOptions();
  const size_t axis = *ResolveAxis(options == nullptr ? 0 : options->axis, output.shape.size());
  const int64_t rows = Product(output.shape, 0, axis);
  const int64_t whole = Product(output.shape, axis, output.shape.size());
  std::vector<Call> calls;
  int64_t offset = 0;
  int64_t scratch = 0;
  for (size_t i = 0; i < view.input_count(); ++i) {
    const Tensor& input = *view.input(i);
    const int64_t run = Product(input.shape, axis, input.shape.size());
    Argument from = Argument::Tensor(view.input_number(i));
    if (IsQuantized(output) && !SameScaling(input, output)) {
      calls.push_back(RescaleCall(context, input, from, Argument::Scratch()));
      from = Argument::Scratch();
      scratch = std::max(scratch, model::ByteSize(input));
    }
    calls.push_back(MoveCall(Rows(rows, run, run, whole, offset, true), ElementBytes(output), from,
                             Argument::Tensor(view.output_number(0))));
    offset += run;
  }
  Lowering lowering = InOrder(std::move(calls));
  lowering.scratch_bytes = scratch;
  return lowering;
}

void CheckPack(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, SIZE_MAX, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsPackOptions());
  if (options == nullptr) return;
  const Tensor& output = view.output();
  const std::optional<size_t> axis = CheckAxis(preflight, options->axis, output.shape.size());
  if (!axis) return;
  std::vector<int32_t> part = output.shape;
  part.erase(part.begin() + static_cast<ptrdiff_t>(*axis));
  for (size_t i = 0; i < view.input_count(); ++i) {
    const std::string role = "input " + std::to_string(i);
    if (view.input(i) == nullptr) {
      preflight.Refuse("malformed_model", role + " is absent (-1)");
      return;
    }
    if (!CheckType(preflight, role, *view.input(i), {output.type}) ||
        !CheckShape(preflight, role, *view.input(i), part)) {
      return;
    }
  }
  if (static_cast<size_t>(output.shape[*axis]) != view.input_count()) {
    preflight.Refuse("malformed_model", std::to_string(view.input_count()) + " inputs for " +
                                            model::TensorText(output));
  }
}

Lowering LowerPack(const LowerContext& context) {
  const OperatorView& view = context.view;
  const std::vector<int32_t>& shape = view.output().shape;
  const size_t axis = *ResolveAxis(view.op().options.AsPackOptions()->axis, shape.size());
  const int64_t rows = Product(shape, 0, axis);
  const int64_t run = Product(shape, axis + 1, shape.size());
  std::vector<Call> calls;
  for (size_t i = 0; i < view.input_count(); ++i) {
    calls.push_back(MoveCall(Rows(rows, run, run, run * shape[axis], static_cast<int64_t>(i) * run,
                                  true),
                             ElementBytes(view.output()), Argument::Tensor(view.input_number(i)),
                             Argument::Tensor(view.output_number(0))));
  }
  return InOrder(std::move(calls));
}

void CheckUnpack(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, view.output_count())) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsUnpackOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const std::optional<size_t> axis = CheckAxis(preflight, options->axis, input.shape.size());
  if (!axis) return;
  std::vector<int32_t> part = input.shape;
  part.erase(part.begin() + static_cast<ptrdiff_t>(*axis));
  if (static_cast<size_t>(input.shape[*axis]) != view.output_count()) {
    preflight.Refuse("malformed_model", std::to_string(view.output_count()) + " outputs for " +
                                            model::TensorText(input));
    return;
  }
  for (size_t o = 0; o < view.output_count(); ++o) {
    const std::string role = "output " + std::to_string(o);
    if (!CheckType(preflight, role, view.output(o), {input.type}) ||
        !CheckShape(preflight, role, view.output(o), part)) {
      return;
    }
  }
}

Lowering LowerUnpack(const LowerContext& context) {
  const OperatorView& view = context.view;
  const std::vector<int32_t>& shape = view.input(0)->shape;
  const size_t axis = *ResolveAxis(view.op().options.AsUnpackOptions()->axis, shape.size());
  const int64_t rows = Product(shape, 0, axis);
  const int64_t run = Product(shape, axis + 1, shape.size());
  std::vector<Call> calls;
  for (size_t o = 0; o < view.output_count(); ++o) {
    calls.push_back(MoveCall(Rows(rows, run, run, run * shape[axis], static_cast<int64_t>(o) * run,
                                  false),
                             ElementBytes(*view.input(0)), Argument::Tensor(view.input_number(0)),
                             Argument::Tensor(view.output_number(o))));
  }
  return InOrder(std::move(calls));
}

// SPLIT(axis, value) and SPLIT_V(value, sizes, axis): the sizes are those of the outputs.
struct SplitOperands {
  size_t value;
  size_t axis;
};

SplitOperands OperandsOf(const OperatorView& view) {
  return view.op().code == model::BuiltinOperator::SPLIT ? SplitOperands{1, 0}
                                                         : SplitOperands{0, 2};
}

void CheckSplit(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const bool with_sizes = view.op().code == model::BuiltinOperator::SPLIT_V;
  if (!CheckArity(preflight, with_sizes ? 3 : 2, with_sizes ? 3 : 2, view.output_count())) return;
  const SplitOperands operands = OperandsOf(view);
  const auto values = ConstantIntegers(preflight, "axis", view.input(operands.axis));
  if (!values) return;
  const Tensor& input = *view.input(operands.value);
  if (values->size() != 1) {
    preflight.Refuse("malformed_model", "the axis must be a single number");
    return;
  }
  const std::optional<size_t> axis = CheckAxis(preflight, (*values)[0], input.shape.size());
  if (!axis) return;
  int64_t total = 0;
  for (size_t o = 0; o < view.output_count(); ++o) {
    const std::string role = "output " + std::to_string(o);
    const Tensor& output = view.output(o);
    if (!CheckType(preflight, role, output, {input.type}) ||
        !CheckRank(preflight, role, output, input.shape.size())) {
      return;
    }
    std::vector<int32_t> expected = input.shape;
    expected[*axis] = output.shape[*axis];
    if (!with_sizes) {
      expected[*axis] = input.shape[*axis] / static_cast<int32_t>(view.output_count());
    }
    if (!CheckShape(preflight, role, output, expected)) return;
    total += output.shape[*axis];
  }
  if (total != input.shape[*axis]) {
    preflight.Refuse("malformed_model", "the outputs take " + std::to_string(total) + " of " +
                                            std::to_string(input.shape[*axis]) +
                                            " positions of the input");
  }
}

Lowering LowerSplit(const LowerContext& context) {
  const OperatorView& view = context.view;
  const SplitOperands operands = OperandsOf(view);
  const Tensor& input = *view.input(operands.value);
  const size_t axis =
      *ResolveAxis(IntegerValues(*view.input(operands.axis))[0], input.shape.size());
  const int64_t rows = Product(input.shape, 0, axis);
  const int64_t whole = Product(input.shape, axis, input.shape.size());
  std::vector<Call> calls;
  int64_t offset = 0;
  for (size_t o = 0; o < view.output_count(); ++o) {
    const std::vector<int32_t>& shape = view.output(o).shape;
    const int64_t run = Product(shape, axis, shape.size());
    calls.push_back(MoveCall(Rows(rows, run, run, whole, offset, false), ElementBytes(input),
                             Argument::Tensor(view.input_number(operands.value)),
                             Argument::Tensor(view.output_number(o))));
    offset += run;
  }
  return InOrder(std::move(calls));
}

}  // namespace

const OperatorEntry kConcatenation = {
    model::BuiltinOperator::CONCATENATION, 4,
    "any type of whole bytes; int8 and uint8 inputs of other scales are rescaled",
    CheckConcatenation, LowerConcatenation};
const OperatorEntry kPack = {model::BuiltinOperator::PACK, 4, "any type of whole bytes", CheckPack,
                             LowerPack};
const OperatorEntry kUnpack = {model::BuiltinOperator::UNPACK, 4, "any type of whole bytes",
                               CheckUnpack, LowerUnpack};
const OperatorEntry kSplit = {model::BuiltinOperator::SPLIT, 4,
                              "any type of whole bytes, constant axis", CheckSplit, LowerSplit};
const OperatorEntry kSplitV = {model::BuiltinOperator::SPLIT_V, 2,
                               "any type of whole bytes, constant axis", CheckSplit, LowerSplit};

}  // namespace helx::engine
