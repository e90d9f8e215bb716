// PAD, PADV2 and MIRROR_PAD.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

struct Paddings {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

std::optional<Paddings> ReadPaddings(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const std::vector<int32_t>& shape = view.input(0)->shape;
  const auto values = ConstantIntegers(preflight, "paddings", view.input(1));
  if (!values) return std::nullopt;
  Paddings paddings;
  std::vector<int32_t> expected;
  bool good = values->size() == 2 * shape.size();
  for (size_t d = 0; good && d < shape.size(); ++d) {
    const int64_t before = (*values)[2 * d], after = (*values)[2 * d + 1];
    good = before >= 0 && after >= 0 && before + after + shape[d] <= INT32_MAX &&
           before <= INT32_MAX && after <= INT32_MAX;
    paddings.before.push_back(before);
    paddings.after.push_back(after);
    expected.push_back(static_cast<int32_t>(before + shape[d] + after));
  }
  if (!good) {
    preflight.Refuse("malformed_model", "paddings must be " + std::to_string(shape.size()) +
                                            " pairs of numbers from 0");
    return std::nullopt;
  }
  if (!CheckShape(preflight, "output", view.output(), expected)) return std::nullopt;
  return paddings;
}

void CheckPad(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const bool with_value = view.op().code == model::BuiltinOperator::PADV2;
  if (!CheckArity(preflight, 2, 3, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  if (with_value && view.input(2) == nullptr) {
    preflight.Refuse("malformed_model", "the value to pad with is absent");
    return;
  }
  if (IsQuantized(view.output()) && !CheckPerTensor(preflight, "output", view.output())) return;
  if (view.input(2) != nullptr) {
    const Tensor& value = *view.input(2);
    if (!CheckType(preflight, "value", value, {view.input(0)->type})) return;
    if (model::ElementCount(value) != 1) {
      preflight.Refuse("malformed_model", "the value to pad with must be a single element");
      return;
    }
  }
  ReadPaddings(preflight);
}

Lowering LowerPad(const LowerContext& context) {
  const OperatorView& view = context.view;
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  const Paddings paddings = *ReadPaddings(preflight);
  const Tensor& output = view.output();
  const Argument to = Argument::Tensor(view.output_number(0));
  Move move;
  move.size.assign(view.input(0)->shape.begin(), view.input(0)->shape.end());
  move.input_stride = DenseStrides(view.input(0)->shape);
  move.output_stride = DenseStrides(output.shape);
  bool padded = false;
  for (size_t d = 0; d < move.size.size(); ++d) {
    move.output_offset += paddings.before[d] * move.output_stride[d];
    padded = padded || paddings.before[d] + paddings.after[d] > 0;
  }
  std::vector<Call> calls;
  if (padded) {
    const int64_t zero = IsQuantized(output) ? output.quantization.zero_point[0] : 0;
    Call fill = FillCall(output, zero, to);
    if (view.input(2) != nullptr) {
      fill.function = "helx_fill_from";
      fill.arguments = {Argument::Tensor(view.input_number(2)), to};
    }
    calls.push_back(std::move(fill));
  }
  calls.push_back(
      MoveCall(move, ElementBytes(output), Argument::Tensor(view.input_number(0)), to));
  return InOrder(std::move(calls));
}

void CheckMirrorPad(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  const auto* options = CheckOptions(preflight, view.op().options.AsMirrorPadOptions());
  if (options == nullptr) return;
  if (options->mode != tflite::MirrorPadMode::REFLECT &&
      options->mode != tflite::MirrorPadMode::SYMMETRIC) {
    preflight.Refuse("malformed_model", "the mode must be REFLECT or SYMMETRIC");
    return;
  }
  const std::optional<Paddings> paddings = ReadPaddings(preflight);
  if (!paddings) return;
  const int64_t edge = options->mode == tflite::MirrorPadMode::REFLECT ? 1 : 0;
  size_t mirrored = 0;
  for (size_t d = 0; d < paddings->before.size(); ++d) {
    const int64_t most = view.input(0)->shape[d] - edge;
    mirrored += paddings->before[d] + paddings->after[d] > 0 ? 1 : 0;
    if (paddings->before[d] > most || paddings->after[d] > most) {
      preflight.Refuse("malformed_model", "dimension " + std::to_string(d) +
                                              " can be mirrored by at most " +
                                              std::to_string(most));
      return;
    }
  }
  if (mirrored > 4) preflight.Refuse("unsupported_shape", "more than 4 dimensions are mirrored");
}

// A stretch of one dimension of the output: `count` elements from `output` on, read from `input` on, backwards or not.
struct Stretch {
  int64_t output;
  int64_t input;
  int64_t count;
  int64_t step;
};

Lowering LowerMirrorPad(const LowerContext& context) {
  const OperatorView& view = context.view;
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  const Paddings paddings = *ReadPaddings(preflight);
  const std::vector<int32_t>& shape = view.input(0)->shape;
  const int64_t edge =
      view.op().options.AsMirrorPadOptions()->mode == tflite::MirrorPadMode::REFLECT ? 1 : 0;
  const std::vector<int64_t> in = DenseStrides(shape);
  const std::vector<int64_t> out = DenseStrides(view.output().shape);
  // Every combination of a stretch per dimension is one box.
  std::vector<Move> moves = {Move{}};
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t before = paddings.before[d], after = paddings.after[d], size = shape[d];
    std::vector<Stretch> stretches = {{before, 0, size, 1}};
    if (before > 0) stretches.push_back({0, before - 1 + edge, before, -1});
    if (after > 0) stretches.push_back({before + size, size - 1 - edge, after, -1});
    std::vector<Move> next;
    for (const Move& move : moves) {
      for (const Stretch& s : stretches) {
        Move longer = move;
        longer.size.push_back(s.count);
        longer.input_stride.push_back(s.step * in[d]);
        longer.output_stride.push_back(out[d]);
        longer.input_offset += s.input * in[d];
        longer.output_offset += s.output * out[d];
        next.push_back(std::move(longer));
      }
    }
    moves = std::move(next);
  }
  std::vector<Call> calls;
  for (const Move& move : moves) {
    calls.push_back(MoveCall(move, ElementBytes(view.output()),
                             Argument::Tensor(view.input_number(0)),
                             Argument::Tensor(view.output_number(0))));
  }
  return InOrder(std::move(calls));
}

}  // namespace

const OperatorEntry kPad = {model::BuiltinOperator::PAD, 4,
                            "any type of whole bytes, constant paddings; pads with the zero point",
                            CheckPad, LowerPad};
const OperatorEntry kPadV2 = {model::BuiltinOperator::PADV2, 4,
                              "any type of whole bytes, constant paddings", CheckPad, LowerPad};
const OperatorEntry kMirrorPad = {model::BuiltinOperator::MIRROR_PAD, 3,
                                  "any type of whole bytes, constant paddings; REFLECT, SYMMETRIC",
                                  CheckMirrorPad, LowerMirrorPad};

}  // namespace helx::engine
