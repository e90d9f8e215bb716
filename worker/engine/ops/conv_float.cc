// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV of floats, with float or, hybrid, int8 filters.
#include "worker/engine/ops/conv_shape.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

const Tensor* FloatConvImageOf(const OperatorView& view) {
  return view.input(view.op().code == BuiltinOperator::TRANSPOSE_CONV ? 2 : 0);
}

bool TakesFloat(const OperatorView& view) {
  const Tensor* image = FloatConvImageOf(view);
  return image != nullptr && image->type == TensorType::FLOAT32 && view.input(1) != nullptr &&
         view.input(1)->type == TensorType::FLOAT32;
}

bool TakesHybrid(const OperatorView& view) {
  const Tensor* image = FloatConvImageOf(view);
  return image != nullptr && image->type == TensorType::FLOAT32 && view.input(1) != nullptr &&
         view.input(1)->type == TensorType::INT8;
}

void CheckFloatConv(Preflight& preflight) {
  const std::optional<ConvGeometry> g = CheckConv(preflight);
  if (!g || !CheckType(preflight, "output", preflight.view().output(), {TensorType::FLOAT32}) ||
      !CheckFloatActivation(preflight, g->activation)) {
    return;
  }
  if (g->bias != nullptr) CheckType(preflight, "bias", *g->bias, {TensorType::FLOAT32});
}

std::string FloatConvStem(const OperatorView& view) {
  switch (view.op().code) {
    case BuiltinOperator::CONV_2D:
      return "helx_conv_";
    case BuiltinOperator::DEPTHWISE_CONV_2D:
      return "helx_depthwise_conv_";
    default:
      return "helx_transpose_conv_";
  }
}

Lowering LowerFloatConv(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const FloatRange range = *FloatActivationRange(g.activation);
  Lowering lowering;
  lowering.function = FloatConvStem(view) + "f32" + (g.bias == nullptr ? "_no_bias" : "");
  lowering.params_type = "helx_conv_f32_params";
  lowering.params = {
      Field("shape", ConvShapeInitialiser(view, g)),
      FloatField("lowest", range.lowest),
      FloatField("highest", range.highest),
  };
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Tensor(g.filter_number)};
  if (g.bias != nullptr) lowering.arguments.push_back(Argument::Tensor(g.bias_number));
  lowering.arguments.push_back(Argument::Tensor(view.output_number(0)));
  lowering.macs = g.macs(view.output());
  return lowering;
}

void CheckHybridConv(Preflight& preflight) {
  const std::optional<ConvGeometry> g = CheckConv(preflight);
  if (!g || !CheckType(preflight, "output", preflight.view().output(), {TensorType::FLOAT32}) ||
      !CheckConstant(preflight, "filter", *g->filter) ||
      !CheckFilterQuantization(preflight, *g, true) ||
      !CheckFloatActivation(preflight, g->activation)) {
    return;
  }
  if (g->bias != nullptr && CheckType(preflight, "bias", *g->bias, {TensorType::FLOAT32})) {
    CheckConstant(preflight, "bias", *g->bias);
  }
}

Lowering LowerHybridConv(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const FloatRange range = *FloatActivationRange(g.activation);
  std::vector<float> scales;
  for (int32_t c = 0; c < g.out_channels; ++c) scales.push_back(FilterScale(*g.filter, c));
  Lowering lowering;
  lowering.function = FloatConvStem(view) + "hybrid";
  lowering.params_type = "helx_conv_hybrid_params";
  lowering.params = {
      Field("shape", ConvShapeInitialiser(view, g)),
      // TFLite quantises symmetrically for one scale, asymmetrically for a scale per channel.
      Field("asymmetric", g.filter->quantization.per_channel() ? 1 : 0),
      FloatField("lowest", range.lowest),
      FloatField("highest", range.highest),
      Field("weights", context.ConstantBytes("int8_t", g.filter->data)),
      Field("scales", context.ConstantArray("float", scales)),
      Field("bias", g.bias == nullptr ? "0" : context.ConstantBytes("float", g.bias->data)),
  };
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Scratch(),
                        Argument::Tensor(view.output_number(0))};
  lowering.scratch_bytes = model::ElementCount(*g.input);
  lowering.macs = g.macs(view.output());
  return lowering;
}

}  // namespace

#define HELX_FLOAT_RANGES "; any padding, strides, dilations; NONE, RELU, RELU_N1_TO_1, RELU6"
const OperatorEntry kConv2dFloat = {BuiltinOperator::CONV_2D,
                                    8,
                                    "float32 × float32, optional bias, groups" HELX_FLOAT_RANGES,
                                    CheckFloatConv,
                                    LowerFloatConv,
                                    TakesFloat};
const OperatorEntry kDepthwiseConv2dFloat = {
    BuiltinOperator::DEPTHWISE_CONV_2D,
    7,
    "float32 × float32, optional bias, any channel multiplier" HELX_FLOAT_RANGES,
    CheckFloatConv,
    LowerFloatConv,
    TakesFloat};
const OperatorEntry kTransposeConvFloat = {
    BuiltinOperator::TRANSPOSE_CONV,
    5,
    "float32 × float32, optional bias; output shape known" HELX_FLOAT_RANGES,
    CheckFloatConv,
    LowerFloatConv,
    TakesFloat};
const OperatorEntry kConv2dHybrid = {
    BuiltinOperator::CONV_2D,
    8,
    "float32 × int8 constant filter (hybrid: the input is quantised when it "
    "arrives)" HELX_FLOAT_RANGES,
    CheckHybridConv,
    LowerHybridConv,
    TakesHybrid};
const OperatorEntry kDepthwiseConv2dHybrid = {
    BuiltinOperator::DEPTHWISE_CONV_2D,
    7,
    "float32 × int8 constant filter (hybrid: the input is quantised when it "
    "arrives)" HELX_FLOAT_RANGES,
    CheckHybridConv,
    LowerHybridConv,
    TakesHybrid};
#undef HELX_FLOAT_RANGES

}  // namespace helx::engine
