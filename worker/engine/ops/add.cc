// ADD, int8.
#include <algorithm>

#include "worker/engine/ops/broadcast.h"
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

constexpr int kLeftShift = 20;

// The three rescalings of add_common.cc (CalculateOpDataAdd).
struct Ratios {
  double a;
  double b;
  double output;
};

Ratios RatiosOf(const OperatorView& view) {
  const Tensor& a = *view.input(0);
  const Tensor& b = *view.input(1);
  const double twice_largest = 2 * static_cast<double>(std::max(Scale(a), Scale(b)));
  return {static_cast<double>(Scale(a)) / twice_largest,
          static_cast<double>(Scale(b)) / twice_largest,
          twice_largest /
              (static_cast<double>(1 << kLeftShift) * static_cast<double>(Scale(view.output())))};
}

void Check(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsAddOptions());
  if (options == nullptr) return;
  const Tensor& a = *view.input(0);
  const Tensor& b = *view.input(1);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input 0", a, {TensorType::INT8}) ||
      !CheckType(preflight, "input 1", b, {TensorType::INT8}) ||
      !CheckType(preflight, "output", output, {TensorType::INT8}) ||
      !CheckPerTensor(preflight, "input 0", a) || !CheckPerTensor(preflight, "input 1", b) ||
      !CheckPerTensor(preflight, "output", output) ||
      !CheckActivation(preflight, options->fused_activation_function, output)) {
    return;
  }
  const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(RatiosOf(view).output);
  if (!fixed || fixed->shift > 0) {
    preflight.Refuse("unsupported_quantization",
                     "the output scale is too small for the inputs': twice the larger input scale "
                     "must be below 2^20 output scales");
    return;
  }
  const std::optional<BroadcastShape> shape = Broadcast(a.shape, b.shape);
  if (!shape) {
    preflight.Refuse("unsupported_shape", model::TensorText(a) + " and " + model::TensorText(b) +
                                              " do not broadcast within 6 dimensions");
    return;
  }
  CheckShape(preflight, "output", output, shape->output);
}

struct Scales {
  FixedMultiplier a, b, output;
};

bool IsExactHalf(const FixedMultiplier& scale) {
  return scale.multiplier == 1 << 30 && scale.shift == 0;
}

// A shift that leaves the sign of a number, or nothing when the result is not shifted afterwards.
int32_t SignShift(const FixedMultiplier& scale) { return scale.shift < 0 ? -31 : 32; }

// helx_add_equal_s8.h: operands of the output's shape. `first` is the operand with the larger scale.
std::optional<Lowering> LowerEqual(const LowerContext& context, const Scales& scales,
                                 const IntegerRange& range) {
  const OperatorView& view = context.view;
  const size_t first = IsExactHalf(scales.a) ? 0 : 1;
  const bool mve = KernelIsa(context.board) == target::Isa::kMve;
  const bool dsp = KernelIsa(context.board) == target::Isa::kDsp && scales.output.shift >= -21;
  if ((!mve && !dsp) || view.input(0)->shape != view.input(1)->shape ||
      !IsExactHalf(first == 0 ? scales.a : scales.b)) {
    return std::nullopt;
  }
  const FixedMultiplier& other = first == 0 ? scales.b : scales.a;
  Lowering lowering;
  lowering.function = mve ? "helx_mve_add_s8" : "helx_dsp_add_s8";
  lowering.params_type = "helx_add_equal_s8_params";
  lowering.params = {
      Field("count", model::ElementCount(view.output())),
      Field("a_zero_point", ZeroPoint(*view.input(first))),
      Field("b_zero_point", ZeroPoint(*view.input(1 - first))),
      Field("b_multiplier", other.multiplier),
      Field("b_shift", other.shift),
      Field("b_sign", SignShift(other)),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("output_multiplier", scales.output.multiplier),
      Field("output_shift", scales.output.shift),
      Field("output_sign", SignShift(scales.output)),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(first)),
                        Argument::Tensor(view.input_number(1 - first)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

Lowering LowerPortable(const LowerContext& context, const Scales& scales,
                       const IntegerRange& range) {
  const OperatorView& view = context.view;
  const Tensor& a = *view.input(0);
  const Tensor& b = *view.input(1);
  Lowering lowering;
  lowering.function = "helx_add_s8";
  lowering.params_type = "helx_add_s8_params";
  lowering.params = {
      Field("shape", BroadcastInitialiser(*Broadcast(a.shape, b.shape))),
      Field("left_shift", kLeftShift),
      Field("a_zero_point", ZeroPoint(a)),
      Field("a_multiplier", scales.a.multiplier),
      Field("a_shift", scales.a.shift),
      Field("b_zero_point", ZeroPoint(b)),
      Field("b_multiplier", scales.b.multiplier),
      Field("b_shift", scales.b.shift),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("output_multiplier", scales.output.multiplier),
      Field("output_shift", scales.output.shift),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

Lowering Lower(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Ratios ratios = RatiosOf(view);
  const Scales scales = {*QuantizeMultiplier(ratios.a), *QuantizeMultiplier(ratios.b),
                         *QuantizeMultiplier(ratios.output)};
  const IntegerRange range =
      *ActivationRange(view.op().options.AsAddOptions()->fused_activation_function, view.output());
  std::optional<Lowering> special = LowerEqual(context, scales, range);
  Lowering lowering = special ? *std::move(special) : LowerPortable(context, scales, range);
  // An operand that is not repeated is read just before its place is written.
  for (size_t i = 0; i < 2; ++i) {
    if (view.input(i)->shape == view.output().shape) {
      lowering.aliases.push_back(
          {Alias::Kind::kInPlace, view.output_number(0), view.input_number(i)});
    }
  }
  return lowering;
}

}  // namespace

const OperatorEntry kAdd = {
    model::BuiltinOperator::ADD, 5,
    "int8 + int8 → int8, broadcast within 6 dimensions; NONE, RELU, RELU_N1_TO_1, RELU6", Check,
    Lower};

}  // namespace helx::engine
