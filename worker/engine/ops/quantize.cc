// QUANTIZE and DEQUANTIZE: between floats and quantised integers, and between scales.
#include <algorithm>
#include <utility>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/lookup.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

std::string QuantizeSuffix(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
      return "f32";
    case TensorType::FLOAT16:
      return "f16";
    case TensorType::INT8:
      return "s8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return "s16";
    default:
      return "s32";
  }
}

// The pairs of integer types that a tensor may be rescaled between.
bool IsRequantization(TensorType from, TensorType to) {
  using T = TensorType;
  constexpr std::pair<T, T> kPairs[] = {
      {T::INT8, T::INT8},   {T::INT8, T::UINT8}, {T::UINT8, T::INT8}, {T::UINT8, T::UINT8},
      {T::INT8, T::INT16},  {T::INT8, T::INT32}, {T::INT16, T::INT8}, {T::INT16, T::INT16},
      {T::INT16, T::INT32}, {T::INT32, T::INT8}, {T::INT32, T::INT16}};
  return std::find(std::begin(kPairs), std::end(kPairs), std::pair(from, to)) != std::end(kPairs);
}

void CheckQuantize(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckShape(preflight, "output", output, input.shape)) return;
  if (input.type == TensorType::FLOAT32) {
    if (!CheckType(preflight, "output", output,
                   {TensorType::INT8, TensorType::UINT8, TensorType::INT16})) {
      return;
    }
    if (output.type == TensorType::INT8 && output.quantization.per_channel()) return;
    CheckPerTensor(preflight, "output", output);
    return;
  }
  if (!IsRequantization(input.type, output.type)) {
    preflight.Refuse("unsupported_dtype", std::string(model::TensorTypeName(input.type)) + " to " +
                                              std::string(model::TensorTypeName(output.type)) +
                                              " is not supported");
    return;
  }
  if (CheckPerTensor(preflight, "input", input) && CheckPerTensor(preflight, "output", output)) {
    CheckMultiplier(preflight, "output", ScaleRatio(view));
  }
}

// requantize.h.
int32_t Requantized(const OperatorView& view, FixedMultiplier fixed, int32_t x) {
  const IntegerRange range = *StorageRange(view.output().type);
  const int32_t y = Requantize(x - ZeroPoint(*view.input(0)), fixed);
  return std::clamp(y + ZeroPoint(view.output()), range.lowest, range.highest);
}

// The scales and zero points of a tensor that is quantised per channel, as constants.
std::vector<std::string> ChannelParams(const LowerContext& context, const Tensor& tensor) {
  const size_t axis = static_cast<size_t>(tensor.quantization.dimension);
  std::vector<int32_t> zero_points(tensor.quantization.zero_point.begin(),
                                   tensor.quantization.zero_point.end());
  return {
      Field("outer", Product(tensor.shape, 0, axis)),
      Field("channels", tensor.shape[axis]),
      Field("inner", Product(tensor.shape, axis + 1, tensor.shape.size())),
      Field("scales", context.ConstantArray("float", tensor.quantization.scale)),
      Field("zero_points", context.ConstantArray("int32_t", zero_points)),
  };
}

std::vector<std::string> AffineParams(const Tensor& tensor) {
  return {
      Field("count", model::ElementCount(tensor)),
      FloatField("scale", tensor.quantization.present() ? Scale(tensor) : 1.0f),
      Field("zero_point", tensor.quantization.present() ? ZeroPoint(tensor) : 0),
  };
}

Lowering LowerQuantize(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const Argument from = Argument::Tensor(view.input_number(0));
  const Argument to = Argument::Tensor(view.output_number(0));
  Call call;
  if (input.type == TensorType::FLOAT32) {
    const bool channels = output.quantization.per_channel();
    call.function = channels ? "helx_quantize_channels_f32_s8"
                             : "helx_quantize_f32_" + QuantizeSuffix(output.type);
    call.params_type = channels ? "helx_channel_affine_params" : "helx_affine_params";
    call.params = channels ? ChannelParams(context, output) : AffineParams(output);
  } else {
    const FixedMultiplier fixed = *QuantizeMultiplier(ScaleRatio(view));
    if (ElementBytes(input) == 1 && ElementBytes(output) == 1) {
      call = LookupCall(
          context, input, [&](int32_t x) { return Requantized(view, fixed, x); }, from, to);
    } else {
      const std::optional<IntegerRange> range = StorageRange(output.type);
      call.function =
          "helx_requantize_" + QuantizeSuffix(input.type) + "_" + QuantizeSuffix(output.type);
      call.params_type = "helx_slopes_params";
      call.params = {
          Field("count", model::ElementCount(output)),
          Field("input_zero_point", ZeroPoint(input)),
          Field("output_zero_point", ZeroPoint(output)),
          Field("multiplier", fixed.multiplier),
          Field("shift", fixed.shift),
          Field("lowest", range ? std::to_string(range->lowest) : "-0x7fffffff - 1"),
          Field("highest", range ? std::to_string(range->highest) : "0x7fffffff"),
      };
    }
  }
  call.arguments = {from, to};
  Lowering lowering = InOrder({call});
  if (ElementBytes(input) == ElementBytes(output)) lowering.aliases = {InPlace(view)};
  return lowering;
}

void CheckDequantize(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const Tensor& input = *view.input(0);
  if (!CheckType(preflight, "input", input,
                 {TensorType::INT8, TensorType::UINT8, TensorType::INT16, TensorType::INT32,
                  TensorType::FLOAT16}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::FLOAT32}) ||
      !CheckShape(preflight, "output", view.output(), input.shape)) {
    return;
  }
  if (input.type == TensorType::FLOAT16) return;
  if (input.type == TensorType::INT8 && input.quantization.per_channel()) return;
  CheckPerTensor(preflight, "input", input);
}

Lowering LowerDequantize(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const bool channels = input.type == TensorType::INT8 && input.quantization.per_channel();
  Call call;
  call.function = channels ? "helx_dequantize_channels_s8_f32"
                           : "helx_dequantize_" + QuantizeSuffix(input.type) + "_f32";
  call.params_type = channels ? "helx_channel_affine_params" : "helx_affine_params";
  call.params = channels ? ChannelParams(context, input) : AffineParams(input);
  call.arguments = {Argument::Tensor(view.input_number(0)),
                    Argument::Tensor(view.output_number(0))};
  return InOrder({call});
}

}  // namespace

const OperatorEntry kQuantize = {
    model::BuiltinOperator::QUANTIZE, 4,
    "float32 → int8 (also per channel), uint8, int16; int8 ↔ int8, uint8, int16; uint8 → uint8; "
    "int16 → int16; int8, int16 → int32; int32 → int8, int16",
    CheckQuantize, LowerQuantize};

const OperatorEntry kDequantize = {
    model::BuiltinOperator::DEQUANTIZE, 6,
    "int8 (also per channel), uint8, int16, int32, float16 → float32", CheckDequantize,
    LowerDequantize};

}  // namespace helx::engine
