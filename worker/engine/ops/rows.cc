// Operators along one dimension: SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION, ARG_MAX, ARG_MIN, CUMSUM.
#include <cmath>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

int32_t Depth(const Tensor& tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }

std::vector<std::string> RowParams(const Tensor& input) {
  return {Field("rows", model::ElementCount(input) / Depth(input)), Field("depth", Depth(input))};
}

std::vector<Argument> InOut(const OperatorView& view) {
  return {Argument::Tensor(view.input_number(0)), Argument::Tensor(view.output_number(0))};
}

bool CheckOutputScale(Preflight& preflight, float scale, int32_t zero_point, float tolerance) {
  const Tensor& output = preflight.view().output();
  if (std::fabs(Scale(output) - scale) <= tolerance * scale && ZeroPoint(output) == zero_point) {
    return true;
  }
  return preflight.Refuse("unsupported_quantization",
                          "the output's scale must be 1/" +
                              std::to_string(static_cast<int>(std::round(1.0f / scale))) +
                              " and its zero point " + std::to_string(zero_point));
}

float Beta(const OperatorView& view) {
  const auto* options = view.op().options.AsSoftmaxOptions();
  return options == nullptr ? 1.0f : options->beta;
}

double SoftmaxRatio16(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0))) * static_cast<double>(Beta(view)) /
         (10.0 / 65535.0);
}

bool CheckSoftmaxScaling(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckPerTensor(preflight, "input", input) || !CheckPerTensor(preflight, "output", output)) {
    return false;
  }
  if (input.type == TensorType::UINT8) return true;
  if (input.type == TensorType::INT16) {
    if (ZeroPoint(input) != 0) {
      return preflight.Refuse("unsupported_quantization", "the input's zero point must be 0");
    }
    return CheckOutputScale(preflight, 1.0f / 32768, 0, 0.001f) &&
           CheckMultiplier(preflight, "input", SoftmaxRatio16(view));
  }
  const bool wide = output.type == TensorType::INT16;
  if (!CheckOutputScale(preflight, wide ? 1.0f / 65536 : 1.0f / 256, wide ? -32768 : -128,
                        wide ? 0.001f : 0.0f)) {
    return false;
  }
  if (!SoftmaxExpTable(static_cast<double>(Beta(view)), static_cast<double>(Scale(input)))) {
    return preflight.Refuse("unsupported_quantization",
                            "beta × input scale must be above 2^-26; TFLite's fixed-point "
                            "exponential is not defined below");
  }
  if (Depth(input) > 4095) {
    return preflight.Refuse("unsupported_shape",
                            "rows of " + std::to_string(Depth(input)) +
                                " elements; the sum of exponentials holds at most 4095");
  }
  return true;
}

void CheckSoftmax(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1) ||
      CheckOptions(preflight, view.op().options.AsSoftmaxOptions()) == nullptr) {
    return;
  }
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input,
                 {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16})) {
    return;
  }
  const bool typed =
      input.type == TensorType::INT8
          ? CheckType(preflight, "output", output, {TensorType::INT8, TensorType::INT16})
          : CheckType(preflight, "output", output, {input.type});
  if (typed && CheckShape(preflight, "output", output, input.shape) &&
      input.type != TensorType::FLOAT32) {
    CheckSoftmaxScaling(preflight);
  }
}

void SoftmaxOfInt8(const LowerContext& context, Lowering* lowering) {
  const OperatorView& view = context.view;
  const std::vector<int32_t> table =
      *SoftmaxExpTable(static_cast<double>(Beta(view)), static_cast<double>(Scale(*view.input(0))));
  lowering->function =
      view.output().type == TensorType::INT16 ? "helx_softmax_s8_s16" : "helx_softmax_s8";
  lowering->params_type = "helx_softmax_s8_params";
  lowering->params.push_back(Field("table_size", static_cast<int64_t>(table.size())));
  lowering->params.push_back(Field("exp_table", context.ConstantArray("int32_t", table)));
}

void SoftmaxOfInt16(const LowerContext& context, Lowering* lowering) {
  const FixedMultiplier fixed = *QuantizeMultiplier(SoftmaxRatio16(context.view));
  lowering->function = "helx_softmax_s16";
  lowering->params_type = "helx_softmax_s16_params";
  lowering->params.insert(
      lowering->params.end(),
      {
          Field("multiplier", fixed.multiplier),
          Field("shift", fixed.shift),
          Field("exp_table", context.ConstantArray("int16_t", ExpTable16())),
          Field("reciprocal_table", context.ConstantArray("int16_t", ReciprocalTable16())),
      });
}

void SoftmaxOfUint8(const LowerContext& context, Lowering* lowering) {
  const OperatorView& view = context.view;
  const float scale = -Scale(*view.input(0)) * Beta(view);
  std::vector<float> table;
  for (int difference = 0; difference < 256; ++difference) {
    table.push_back(std::exp(scale * static_cast<float>(difference)));
  }
  lowering->function = "helx_softmax_u8";
  lowering->params_type = "helx_softmax_u8_params";
  lowering->params.insert(lowering->params.end(),
                          {
                              FloatField("output_scale", Scale(view.output())),
                              Field("output_zero_point", ZeroPoint(view.output())),
                              Field("exp_table", context.ConstantArray("float", table)),
                          });
}

Lowering LowerSoftmax(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  Lowering lowering;
  lowering.params = RowParams(input);
  switch (input.type) {
    case TensorType::INT8:
      SoftmaxOfInt8(context, &lowering);
      break;
    case TensorType::INT16:
      SoftmaxOfInt16(context, &lowering);
      break;
    case TensorType::UINT8:
      SoftmaxOfUint8(context, &lowering);
      break;
    default:
      lowering.function = "helx_softmax_f32";
      lowering.params_type = "helx_rows_params";
      lowering.params.push_back(FloatField("beta", Beta(view)));
  }
  lowering.arguments = InOut(view);
  // int16 exponentials are written while inputs are still read, element by element.
  if (input.type == view.output().type) lowering.aliases = {InPlace(view)};
  return lowering;
}

void CheckFloatRows(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckArity(preflight, 1, 1, 1) &&
      CheckType(preflight, "input", *view.input(0), {TensorType::FLOAT32})) {
    CheckLike(preflight, *view.input(0), view.output());
  }
}

Lowering LowerFloatRows(const LowerContext& context) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = view.op().code == BuiltinOperator::LOG_SOFTMAX ? "helx_log_softmax_f32"
                                                                     : "helx_l2_normalize_f32";
  lowering.params_type = "helx_rows_params";
  lowering.params = RowParams(*view.input(0));
  lowering.arguments = InOut(view);
  lowering.aliases = {InPlace(view)};
  return lowering;
}

// ARG_MAX and ARG_MIN (input, axis).
void CheckArg(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input,
                 {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16,
                  TensorType::INT32}) ||
      !CheckType(preflight, "output", output, {TensorType::INT32, TensorType::INT64})) {
    return;
  }
  const auto axes = ConstantIntegers(preflight, "axis", view.input(1));
  if (!axes) return;
  const auto axis = axes->size() == 1 ? ResolveAxis((*axes)[0], input.shape.size()) : std::nullopt;
  if (!axis) {
    preflight.Refuse("malformed_model", "the axis must be one of the input's " +
                                            std::to_string(input.shape.size()) + " dimensions");
    return;
  }
  std::vector<int32_t> expected = input.shape;
  expected.erase(expected.begin() + static_cast<ptrdiff_t>(*axis));
  std::vector<int32_t> squeezed = output.shape;
  std::erase(squeezed, 1);
  std::vector<int32_t> wanted = expected;
  std::erase(wanted, 1);
  if (squeezed != wanted) CheckShape(preflight, "output", output, expected);
}

std::string RowsSuffix(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
      return "f32";
    case TensorType::INT8:
      return "i8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return "i16";
    case TensorType::INT64:
      return "i64";
    default:
      return "i32";
  }
}

std::vector<std::string> AxisParams(const std::vector<int32_t>& shape, size_t axis) {
  return {Field("outer", Product(shape, 0, axis)), Field("axis", shape[axis]),
          Field("inner", Product(shape, axis + 1, shape.size()))};
}

Lowering LowerArg(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const size_t axis = *ResolveAxis(IntegerValues(*view.input(1))[0], input.shape.size());
  Lowering lowering;
  lowering.function =
      std::string(view.op().code == BuiltinOperator::ARG_MAX ? "helx_arg_max_" : "helx_arg_min_") +
      RowsSuffix(input.type) + "_" + RowsSuffix(view.output().type);
  lowering.params_type = "helx_axis_params";
  lowering.params = AxisParams(input.shape, axis);
  lowering.arguments = InOut(view);
  return lowering;
}

constexpr int kCumsumLeftShift = 20;

double CumsumRatio(const OperatorView& view) {
  return 2 * static_cast<double>(Scale(*view.input(0))) /
         (static_cast<double>(1 << kCumsumLeftShift) * static_cast<double>(Scale(view.output())));
}

void CheckCumsum(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1) ||
      OptionsOrDefault(preflight, view.op().options.AsCumsumOptions()) == nullptr) {
    return;
  }
  const Tensor& input = *view.input(0);
  if (!CheckType(preflight, "input", input,
                 {TensorType::FLOAT32, TensorType::INT32, TensorType::INT64, TensorType::INT8}) ||
      !CheckLike(preflight, input, view.output())) {
    return;
  }
  const auto axes = ConstantIntegers(preflight, "axis", view.input(1));
  if (!axes) return;
  if (axes->size() != 1 || !ResolveAxis((*axes)[0], input.shape.size())) {
    preflight.Refuse("malformed_model", "the axis must be one of the input's " +
                                            std::to_string(input.shape.size()) + " dimensions");
    return;
  }
  if (input.type != TensorType::INT8) return;
  if (!CheckPerTensor(preflight, "input", input) ||
      !CheckPerTensor(preflight, "output", view.output())) {
    return;
  }
  const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(CumsumRatio(view));
  if (!fixed || fixed->shift > 0) {
    preflight.Refuse("unsupported_quantization", "the output's scale is too small for the input's");
  }
}

Lowering LowerCumsum(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const auto* options = view.op().options.AsCumsumOptions();
  Lowering lowering;
  lowering.function =
      "helx_cumsum_" + (input.type == TensorType::INT8 ? "s8" : RowsSuffix(input.type));
  lowering.params_type = "helx_cumsum_params";
  lowering.params =
      AxisParams(input.shape, *ResolveAxis(IntegerValues(*view.input(1))[0], input.shape.size()));
  lowering.params.push_back(Field("exclusive", options != nullptr && options->exclusive ? 1 : 0));
  lowering.params.push_back(Field("reverse", options != nullptr && options->reverse ? 1 : 0));
  if (input.type == TensorType::INT8) {
    const FixedMultiplier half = *QuantizeMultiplier(0.5);
    const FixedMultiplier fixed = *QuantizeMultiplier(CumsumRatio(view));
    lowering.params.insert(lowering.params.end(),
                           {
                               Field("left_shift", kCumsumLeftShift),
                               Field("input_zero_point", ZeroPoint(input)),
                               Field("input_multiplier", half.multiplier),
                               Field("input_shift", half.shift),
                               Field("output_zero_point", ZeroPoint(view.output())),
                               Field("output_multiplier", fixed.multiplier),
                               Field("output_shift", fixed.shift),
                           });
  }
  lowering.arguments = InOut(view);
  lowering.aliases = {InPlace(view)};
  return lowering;
}

}  // namespace

const OperatorEntry kSoftmax = {BuiltinOperator::SOFTMAX, 3,
                                "float32; int8 → int8 or int16, rows of at most 4095; int16; uint8",
                                CheckSoftmax, LowerSoftmax};
const OperatorEntry kLogSoftmax = {BuiltinOperator::LOG_SOFTMAX, 2, "float32", CheckFloatRows,
                                   LowerFloatRows};
const OperatorEntry kL2Normalization = {BuiltinOperator::L2_NORMALIZATION, 2, "float32",
                                        CheckFloatRows, LowerFloatRows};
const OperatorEntry kArgMax = {BuiltinOperator::ARG_MAX, 3,
                               "float32, int8, uint8, int16, int32 → int32, int64; constant axis",
                               CheckArg, LowerArg};
const OperatorEntry kArgMin = {BuiltinOperator::ARG_MIN, 3,
                               "float32, int8, uint8, int16, int32 → int32, int64; constant axis",
                               CheckArg, LowerArg};
const OperatorEntry kCumsum = {BuiltinOperator::CUMSUM, 1,
                               "float32, int32, int64; int8 per tensor; constant axis", CheckCumsum,
                               LowerCumsum};

}  // namespace helx::engine
