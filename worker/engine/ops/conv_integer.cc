// Convolutions of int16 and uint8, and TRANSPOSE_CONV of int8.

#include "worker/engine/ops/conv_shape.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/uint8_channels.h"
#include "worker/engine/ops/wide_channels.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

const Tensor* IntegerConvImageOf(const OperatorView& view) {
  return view.input(view.op().code == BuiltinOperator::TRANSPOSE_CONV ? 2 : 0);
}

template <TensorType kType>
bool ImageIs(const OperatorView& view) {
  return IntegerConvImageOf(view) != nullptr && IntegerConvImageOf(view)->type == kType;
}

std::string IntegerConvStem(const OperatorView& view) {
  switch (view.op().code) {
    case BuiltinOperator::CONV_2D:
      return "helx_conv_";
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      return "helx_depthwise_conv_";
    default:
      return "helx_transpose_conv_";
  }
}

// The parts that int16 and 8-bit convolutions share.
std::optional<ConvGeometry> CheckQuantized(Preflight& preflight, TensorType filter,
                                           bool symmetric) {
  const OperatorView& view = preflight.view();
  std::optional<ConvGeometry> g = CheckConv(preflight);
  if (!g || !CheckType(preflight, "output", view.output(), {g->input->type}) ||
      !CheckType(preflight, "filter", *g->filter, {filter}) ||
      !CheckConstant(preflight, "filter", *g->filter) ||
      !CheckPerTensor(preflight, "input", *g->input) ||
      !CheckPerTensor(preflight, "output", view.output()) ||
      !CheckFilterQuantization(preflight, *g, symmetric) ||
      !CheckActivation(preflight, g->activation, view.output())) {
    return std::nullopt;
  }
  if (g->bias != nullptr && !CheckConstant(preflight, "bias", *g->bias)) return std::nullopt;
  return g;
}

tflite::TensorType BiasType(const OperatorView& view) {
  const tflite::BuiltinOptionsUnion& options = view.op().options;
  if (const auto* o = options.AsConv2DOptions(); o != nullptr) return o->quantized_bias_type;
  if (const auto* o = options.AsTransposeConvOptions(); o != nullptr) {
    return o->quantized_bias_type;
  }
  return TensorType::FLOAT32;
}

// CONV_2D sums in 32 bits with an int32 bias; the other two always sum in 64.
bool IsNarrowConv(const OperatorView& view, const ConvGeometry& g) {
  if (view.op().code != BuiltinOperator::CONV_2D) return false;
  return g.bias == nullptr ? BiasType(view) == TensorType::INT32
                           : g.bias->type == TensorType::INT32;
}

void CheckInt16Conv(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const std::optional<ConvGeometry> g = CheckQuantized(preflight, TensorType::INT8, true);
  if (!g) return;
  if (ZeroPoint(*g->input) != 0 || ZeroPoint(view.output()) != 0) {
    preflight.Refuse("unsupported_quantization", "int16 input and output must have zero point 0");
    return;
  }
  if (g->bias != nullptr && !CheckType(preflight, "bias", *g->bias,
                                       {TensorType::INT16, TensorType::INT32, TensorType::INT64})) {
    return;
  }
  for (int32_t c = 0; c < g->out_channels; ++c) {
    if (!CheckWideMultiplier(preflight, ChannelRatio(view, *g, c), IsNarrowConv(view, *g))) return;
  }
}

Lowering LowerInt16Conv(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const IntegerRange range = *ActivationRange(g.activation, view.output());
  std::vector<double> ratios;
  for (int32_t c = 0; c < g.out_channels; ++c) ratios.push_back(ChannelRatio(view, g, c));
  Lowering lowering;
  lowering.function = IntegerConvStem(view) + "s16";
  lowering.params_type = "helx_conv_s16_params";
  lowering.params = {
      Field("shape", ConvShapeInitialiser(view, g)),
      Field("narrow", IsNarrowConv(view, g) ? 1 : 0),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("int8_t", g.filter->data)),
      Field("channels", WideChannels(context, g.bias, ratios, IsNarrowConv(view, g))),
  };
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Tensor(view.output_number(0))};
  lowering.macs = g.macs(view.output());
  return lowering;
}

void CheckInt8Conv(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const std::optional<ConvGeometry> g = CheckQuantized(preflight, TensorType::INT8, true);
  if (!g) return;
  if (g->bias != nullptr && !CheckType(preflight, "bias", *g->bias, {TensorType::INT32})) return;
  for (int32_t c = 0; c < g->out_channels; ++c) {
    if (!CheckMultiplier(preflight, "output channel " + std::to_string(c),
                         ChannelRatio(view, *g, c))) {
      return;
    }
  }
}

Lowering LowerInt8Conv(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const IntegerRange range = *ActivationRange(g.activation, view.output());
  const std::vector<int32_t> bias =
      g.bias == nullptr ? std::vector<int32_t>(g.out_channels, 0) : Int32Values(*g.bias);
  std::vector<int32_t> channels;
  for (int32_t c = 0; c < g.out_channels; ++c) {
    const FixedMultiplier fixed = *QuantizeMultiplier(ChannelRatio(view, g, c));
    channels.insert(channels.end(), {bias[c], fixed.multiplier, fixed.shift});
  }
  Lowering lowering;
  lowering.function = IntegerConvStem(view) + "s8";
  lowering.params_type = "helx_transpose_conv_s8_params";
  lowering.params = {
      Field("shape", ConvShapeInitialiser(view, g)),
      Field("input_zero_point", ZeroPoint(*g.input)),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("int8_t", g.filter->data)),
      Field("channels", context.ConstantArray("helx_channel_s8", channels)),
  };
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Tensor(view.output_number(0))};
  lowering.macs = g.macs(view.output());
  return lowering;
}

void CheckUint8Conv(Preflight& preflight) {
  const std::optional<ConvGeometry> g = CheckQuantized(preflight, TensorType::UINT8, false);
  if (!g || !CheckPerTensor(preflight, "filter", *g->filter)) return;
  if (g->bias != nullptr && !CheckType(preflight, "bias", *g->bias, {TensorType::INT32})) return;
  CheckFloatRescaling(preflight, *g->input, *g->filter);
}

Lowering LowerUint8Conv(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const IntegerRange range = *ActivationRange(g.activation, view.output());
  Lowering lowering;
  lowering.function = IntegerConvStem(view) + "u8";
  lowering.params_type = "helx_conv_u8_params";
  lowering.params = {
      Field("shape", ConvShapeInitialiser(view, g)),
      Field("input_zero_point", ZeroPoint(*g.input)),
      Field("filter_zero_point", ZeroPoint(*g.filter)),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("uint8_t", g.filter->data)),
      Field("channels", FloatChannels(context, *g.input, *g.filter, g.bias, g.out_channels)),
  };
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Tensor(view.output_number(0))};
  lowering.macs = g.macs(view.output());
  return lowering;
}

}  // namespace

#define HELX_INT16                                                                                 \
  "int16 × int8 constant filter (per tensor or per channel), int32 or int64 bias → int16; any " \
  "padding, strides, dilations; NONE, RELU, RELU_N1_TO_1, RELU6"
#define HELX_UINT8                                                                            \
  "uint8 × uint8 constant filter (per tensor), int32 bias → uint8; any padding, strides, " \
  "dilations; NONE, RELU, RELU_N1_TO_1, RELU6"
const OperatorEntry kConv2dInt16 = {
    BuiltinOperator::CONV_2D,  8, HELX_INT16, CheckInt16Conv, LowerInt16Conv,
    ImageIs<TensorType::INT16>};
const OperatorEntry kDepthwiseConv2dInt16 = {
    BuiltinOperator::DEPTHWISE_CONV_2D, 7, HELX_INT16, CheckInt16Conv, LowerInt16Conv,
    ImageIs<TensorType::INT16>};
const OperatorEntry kTransposeConvInt16 = {
    BuiltinOperator::TRANSPOSE_CONV, 5, HELX_INT16, CheckInt16Conv, LowerInt16Conv,
    ImageIs<TensorType::INT16>};
const OperatorEntry kConv2dUint8 = {
    BuiltinOperator::CONV_2D,  8, HELX_UINT8, CheckUint8Conv, LowerUint8Conv,
    ImageIs<TensorType::UINT8>};
const OperatorEntry kDepthwiseConv2dUint8 = {
    BuiltinOperator::DEPTHWISE_CONV_2D, 7, HELX_UINT8, CheckUint8Conv, LowerUint8Conv,
    ImageIs<TensorType::UINT8>};
const OperatorEntry kTransposeConvInt8 = {
    BuiltinOperator::TRANSPOSE_CONV,
    5,
    "int8 × int8 constant filter (per tensor or per channel, symmetric), int32 bias → int8; output "
    "shape known; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckInt8Conv,
    LowerInt8Conv,
    ImageIs<TensorType::INT8>};
#undef HELX_INT16
#undef HELX_UINT8

}  // namespace helx::engine
