// CONV_2D and DEPTHWISE_CONV_2D, int8 with int8 filters.
#include "worker/engine/ops/conv_shape.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/int8_kernels.h"

namespace helx::engine {
namespace {

bool IsDepthwise(const OperatorView& view) {
  return view.op().code == model::BuiltinOperator::DEPTHWISE_CONV_2D;
}

void CheckInt8Filters(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const std::optional<ConvGeometry> g = CheckConv(preflight);
  if (!g || !CheckType(preflight, "input", *g->input, {TensorType::INT8}) ||
      !CheckType(preflight, "filter", *g->filter, {TensorType::INT8}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::INT8}) ||
      !CheckConstant(preflight, "filter", *g->filter) ||
      !CheckPerTensor(preflight, "input", *g->input) ||
      !CheckPerTensor(preflight, "output", view.output()) ||
      !CheckFilterQuantization(preflight, *g, true) ||
      !CheckActivation(preflight, g->activation, view.output())) {
    return;
  }
  if (g->bias != nullptr && (!CheckType(preflight, "bias", *g->bias, {TensorType::INT32}) ||
                             !CheckConstant(preflight, "bias", *g->bias))) {
    return;
  }
  for (int32_t c = 0; c < g->out_channels; ++c) {
    if (!CheckMultiplier(preflight, "channel " + std::to_string(c), ChannelRatio(view, *g, c))) {
      return;
    }
  }
}

// What the filters are made of, in the order of the definition of Int8Convolution.
Int8Filters Filters(const OperatorView& view, const ConvGeometry& g) {
  const std::vector<int8_t> stored = Int8Values(*g.filter);
  Int8Filters f;
  f.count = g.out_channels;
  f.depth = static_cast<int32_t>(stored.size()) / f.count;
  f.weights = stored;
  if (IsDepthwise(view)) {
    for (size_t i = 0; i < stored.size(); ++i) {
      f.weights[i % f.count * f.depth + i / f.count] = stored[i];
    }
  }
  f.bias = g.bias == nullptr ? std::vector<int32_t>(f.count, 0) : Int32Values(*g.bias);
  for (int32_t filter = 0; filter < f.count; ++filter) {
    int64_t sum = 0;
    for (int32_t k = 0; k < f.depth; ++k) sum += f.weights[int64_t{filter} * f.depth + k];
    f.bias[filter] = WrapToInt32(f.bias[filter] - ZeroPoint(*g.input) * sum);
    f.scales.push_back(*QuantizeMultiplier(ChannelRatio(view, g, filter)));
  }
  f.output_zero_point = ZeroPoint(view.output());
  f.range = *ActivationRange(g.activation, view.output());
  return f;
}

Int8Convolution DescribeConv(const OperatorView& view, const ConvGeometry& g) {
  Int8Convolution conv;
  conv.batches = g.input->shape[0];
  conv.rows = g.rows;
  conv.columns = g.columns;
  conv.in_c = g.input->shape[3];
  conv.groups = g.groups;
  conv.depthwise = IsDepthwise(view);
  conv.input_zero_point = ZeroPoint(*g.input);
  conv.filters = Filters(view, g);
  return conv;
}

// helx_channel of helx_kernels.h, one after another.
std::vector<int32_t> FilterChannels(const ConvGeometry& g, const Int8Filters& filters) {
  const std::vector<int32_t> bias =
      g.bias == nullptr ? std::vector<int32_t>(filters.count, 0) : Int32Values(*g.bias);
  std::vector<int32_t> channels;
  for (int32_t channel = 0; channel < filters.count; ++channel) {
    channels.push_back(filters.bias[channel]);
    channels.push_back(bias[channel]);
    channels.push_back(filters.scales[channel].multiplier);
    channels.push_back(filters.scales[channel].shift);
  }
  return channels;
}

// For every core: kernels that take the tensors as they are.
Lowering LowerPortableConv(const ConvGeometry& g, const Int8Convolution& conv,
                           const LowerContext& context) {
  Lowering lowering;
  lowering.function = conv.depthwise ? "helx_depthwise_conv_s8" : "helx_conv_s8";
  lowering.params_type = "helx_conv_s8_params";
  lowering.params = ConvShapeFields(context.view, g);
  lowering.params.insert(
      lowering.params.end(),
      {
          Field("input_zero_point", conv.input_zero_point),
          Field("output_zero_point", conv.filters.output_zero_point),
          Field("lowest", conv.filters.range.lowest),
          Field("highest", conv.filters.range.highest),
          Field("weights", context.ConstantBytes("int8_t", g.filter->data)),
          Field("channels", context.ConstantArray("helx_channel", FilterChannels(g, conv.filters))),
      });
  return lowering;
}

Lowering LowerInt8Filters(const LowerContext& context) {
  const OperatorView& view = context.view;
  const ConvGeometry g = GeometryOf(view);
  const Int8Convolution conv = DescribeConv(view, g);
  std::optional<Lowering> special = LowerForIsa(conv, context);
  Lowering lowering = special ? *std::move(special) : LowerPortableConv(g, conv, context);
  lowering.arguments = {Argument::Tensor(g.input_number), Argument::Tensor(view.output_number(0))};
  if (lowering.scratch_bytes > 0) lowering.arguments.push_back(Argument::Scratch());
  lowering.macs = g.macs(view.output());
  return lowering;
}

}  // namespace

const OperatorEntry kConv2d = {
    model::BuiltinOperator::CONV_2D, 8,
    "int8 × int8 constant filter (per tensor or per output channel, symmetric), int32 bias → int8; "
    "SAME, VALID, strides, dilations, groups; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckInt8Filters, LowerInt8Filters};

const OperatorEntry kDepthwiseConv2d = {
    model::BuiltinOperator::DEPTHWISE_CONV_2D, 7,
    "int8 × int8 constant filter (per tensor or per channel, symmetric), int32 bias → int8; any "
    "channel multiplier; SAME, VALID, strides, dilations; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckInt8Filters, LowerInt8Filters};

}  // namespace helx::engine
