// SLICE, STRIDED_SLICE and DYNAMIC_UPDATE_SLICE.
#include <algorithm>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

Lowering LowerMove(const OperatorView& view, const Move& move) {
  return InOrder(
      {MoveCall(move, ElementBytes(*view.input(0)), Argument::Tensor(view.input_number(0)),
                Argument::Tensor(view.output_number(0)))});
}

// One dimension of a strided slice, resolved against the input.
struct Range {
  int64_t begin;
  int64_t stride;
  int64_t count;
  bool shrunk;  // the output has no such dimension
};

// What the masks of STRIDED_SLICE say about position `i` of its operands.
bool Bit(int32_t mask, size_t i) { return i < 31 && (mask >> i & 1) != 0; }

// begin, end and stride of one dimension as TensorFlow clamps them; count 0 when nothing is
// selected.
Range ResolveRange(int64_t begin, int64_t end, int64_t stride, bool from_start, bool to_end,
                   int64_t size) {
  const int64_t lowest = stride > 0 ? 0 : -1;
  const int64_t highest = stride > 0 ? size : size - 1;
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, lowest, highest);
  };
  const int64_t first = from_start ? (stride > 0 ? 0 : size - 1) : clamp(begin);
  const int64_t last = to_end ? (stride > 0 ? size : -1) : clamp(end);
  const int64_t span = stride > 0 ? last - first : first - last;
  const int64_t step = stride > 0 ? stride : -stride;
  return {first, stride, span <= 0 ? 0 : (span + step - 1) / step, false};
}

struct StridedSlice {
  std::vector<Range> ranges;    // per dimension of the input
  std::vector<int32_t> output;  // with new axes, without shrunk ones
};

std::optional<StridedSlice> ReadStridedSlice(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const auto* options = OptionsOrDefault(preflight, view.op().options.AsStridedSliceOptions());
  const auto begin = ConstantIntegers(preflight, "begin", view.input(1));
  const auto end = ConstantIntegers(preflight, "end", view.input(2));
  const auto strides = ConstantIntegers(preflight, "strides", view.input(3));
  if (options == nullptr || !begin || !end || !strides) return std::nullopt;
  const std::vector<int32_t>& shape = view.input(0)->shape;
  const size_t count = begin->size();
  size_t named = 0;  // dimensions of the input that the operands speak of
  size_t ellipsis = count;
  for (size_t i = 0; i < count; ++i) {
    if (Bit(options->ellipsis_mask, i)) {
      ellipsis = std::min(ellipsis, i);
    } else if (!Bit(options->new_axis_mask, i)) {
      ++named;
    }
  }
  const bool one_ellipsis = (options->ellipsis_mask & (options->ellipsis_mask - 1)) == 0;
  if (end->size() != count || strides->size() != count || named > shape.size() || !one_ellipsis ||
      std::find(strides->begin(), strides->end(), 0) != strides->end()) {
    preflight.Refuse("malformed_model",
                     "begin, end and strides must have the same length, speak of at most " +
                         std::to_string(shape.size()) +
                         " dimensions and one ellipsis, and no stride may be 0");
    return std::nullopt;
  }
  StridedSlice slice;
  size_t d = 0;
  auto keep = [&](size_t upto) {
    for (; d < upto; ++d) {
      slice.ranges.push_back({0, 1, shape[d], false});
      slice.output.push_back(shape[d]);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    if (i == ellipsis) {
      keep(d + shape.size() - named);
      continue;
    }
    if (Bit(options->new_axis_mask, i)) {
      slice.output.push_back(1);
      continue;
    }
    if (Bit(options->shrink_axis_mask, i)) {
      const int64_t at = (*begin)[i] < 0 ? (*begin)[i] + shape[d] : (*begin)[i];
      if (at < 0 || at >= shape[d]) {
        preflight.Refuse("malformed_model", "begin " + std::to_string((*begin)[i]) +
                                                " lies outside dimension " + std::to_string(d));
        return std::nullopt;
      }
      slice.ranges.push_back({at, 1, 1, true});
      ++d;
      continue;
    }
    // With `offset`, end is counted from begin.
    const int64_t stop = options->offset ? (*begin)[i] + (*end)[i] : (*end)[i];
    slice.ranges.push_back(ResolveRange((*begin)[i], stop, (*strides)[i],
                                        Bit(options->begin_mask, i), Bit(options->end_mask, i),
                                        shape[d]));
    slice.output.push_back(static_cast<int32_t>(slice.ranges.back().count));
    ++d;
  }
  keep(shape.size());
  return slice;
}

Move MoveOf(const StridedSlice& slice, const std::vector<int32_t>& input) {
  const std::vector<int64_t> strides = DenseStrides(input);
  Move move;
  for (size_t d = 0; d < input.size(); ++d) {
    const Range& range = slice.ranges[d];
    move.size.push_back(range.count);
    move.input_stride.push_back(range.stride * strides[d]);
    move.input_offset += range.begin * strides[d];
  }
  move.output_stride.resize(input.size());
  int64_t stride = 1;
  for (size_t d = input.size(); d-- > 0;) {
    move.output_stride[d] = stride;
    stride *= move.size[d];
  }
  return move;
}

void CheckStridedSlice(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 4, 4, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  const std::optional<StridedSlice> slice = ReadStridedSlice(preflight);
  if (slice) CheckShape(preflight, "output", view.output(), slice->output);
}

Lowering LowerStridedSlice(const LowerContext& context) {
  std::vector<Violation> none;
  Preflight preflight(context.view, &none);
  return LowerMove(context.view,
                   MoveOf(*ReadStridedSlice(preflight), context.view.input(0)->shape));
}

// SLICE with a constant begin; sizes are the output's shape, where -1 would mean "to the end".
void CheckSlice(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const Tensor& begin = *view.input(1);
  const Tensor& size = *view.input(2);
  const size_t rank = input.shape.size();
  if (!CheckType(preflight, "output", output, {input.type}) ||
      !CheckType(preflight, "begin", begin, {TensorType::INT32, TensorType::INT64}) ||
      !CheckRank(preflight, "output", output, rank)) {
    return;
  }
  const std::vector<int64_t> at =
      begin.is_constant ? IntegerValues(begin) : std::vector<int64_t>(rank, 0);
  const std::vector<int64_t> sizes = IntegerValues(size);
  bool good = model::ElementCount(begin) == static_cast<int64_t>(rank) &&
              (!size.is_constant || sizes.size() == rank);
  for (size_t d = 0; good && d < rank; ++d) {
    good = at[d] >= 0 && at[d] <= input.shape[d] - output.shape[d];
    if (good && size.is_constant) {
      good = sizes[d] == output.shape[d] ||
             (sizes[d] == -1 && (!begin.is_constant || output.shape[d] == input.shape[d] - at[d]));
    }
  }
  if (!good) {
    preflight.Refuse("malformed_model", "begin and size do not take " + model::TensorText(output) +
                                            " out of " + model::TensorText(input));
  }
}

Lowering LowerSlice(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const Tensor& begin = *view.input(1);
  if (begin.is_constant) {
    Move move;
    move.size = Widen(view.output().shape);
    move.input_stride = DenseStrides(input.shape);
    move.output_stride = DenseStrides(view.output().shape);
    const std::vector<int64_t> at = IntegerValues(begin);
    for (size_t d = 0; d < at.size(); ++d) move.input_offset += at[d] * move.input_stride[d];
    return LowerMove(view, move);
  }
  Lowering lowering;
  lowering.function = begin.type == TensorType::INT64 ? "helx_slice_i64" : "helx_slice_i32";
  lowering.params_type = "helx_update_slice_params";
  lowering.params = {
      Field("rank", static_cast<int64_t>(input.shape.size())),
      Field("bytes", ElementBytes(input)),
      ArrayField("size", Widen(input.shape)),
      ArrayField("update", Widen(view.output().shape)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.may_fail = true;
  return lowering;
}

void CheckUpdateSlice(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1)) return;
  const Tensor& operand = *view.input(0);
  const Tensor& update = *view.input(1);
  const Tensor& start = *view.input(2);
  if (!CheckLike(preflight, operand, view.output()) ||
      !CheckType(preflight, "update", update, {operand.type}) ||
      !CheckType(preflight, "start", start, {TensorType::INT32, TensorType::INT64}) ||
      !CheckRank(preflight, "update", update, operand.shape.size())) {
    return;
  }
  bool good = model::ElementCount(start) == static_cast<int64_t>(operand.shape.size());
  for (size_t d = 0; good && d < operand.shape.size(); ++d) {
    good = update.shape[d] <= operand.shape[d];
  }
  if (!good) {
    preflight.Refuse("malformed_model", model::TensorText(update) + " does not fit into " +
                                            model::TensorText(operand));
  }
}

Lowering LowerUpdateSlice(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& operand = *view.input(0);
  Call copy;
  copy.function = "helx_copy";
  copy.params_type = "helx_copy_params";
  copy.params = {Field("bytes", model::ByteSize(operand))};
  copy.arguments = {Argument::Tensor(view.input_number(0)),
                    Argument::Tensor(view.output_number(0))};
  Call update;
  update.function =
      view.input(2)->type == TensorType::INT64 ? "helx_update_slice_i64" : "helx_update_slice_i32";
  update.params_type = "helx_update_slice_params";
  update.params = {
      Field("rank", static_cast<int64_t>(operand.shape.size())),
      Field("bytes", ElementBytes(operand)),
      ArrayField("size", Widen(operand.shape)),
      ArrayField("update", Widen(view.input(1)->shape)),
  };
  update.arguments = {Argument::Tensor(view.input_number(1)),
                      Argument::Tensor(view.input_number(2)),
                      Argument::Tensor(view.output_number(0))};
  return InOrder({copy, update});
}

}  // namespace

const OperatorEntry kStridedSlice = {
    model::BuiltinOperator::STRIDED_SLICE, 8,
    "any type of whole bytes; constant begin, end and strides; all masks", CheckStridedSlice,
    LowerStridedSlice};
const OperatorEntry kSlice = {model::BuiltinOperator::SLICE, 6,
                              "any type of whole bytes; output shape known", CheckSlice,
                              LowerSlice};
const OperatorEntry kDynamicUpdateSlice = {model::BuiltinOperator::DYNAMIC_UPDATE_SLICE, 4,
                                           "any type of whole bytes", CheckUpdateSlice,
                                           LowerUpdateSlice};

}  // namespace helx::engine
