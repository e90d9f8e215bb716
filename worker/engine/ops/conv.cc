// CONV_2D and DEPTHWISE_CONV_2D, int8 with int8 filters.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/int8_kernels.h"

namespace helx::engine {
namespace {

// Both operators in one shape: what their options and tensors say.
struct Convolution {
  const Tensor* input;
  const Tensor* filter;
  const Tensor* bias;  // or nullptr
  const Tensor* output;
  bool depthwise;
  tflite::Padding padding;
  tflite::ActivationFunctionType activation;
  int32_t stride_h, stride_w, dilation_h, dilation_w;

  int32_t in_channels() const { return input->shape[3]; }
  int32_t out_channels() const { return filter->shape[depthwise ? 3 : 0]; }
  std::optional<Window> rows() const {
    return MakeWindow(padding, input->shape[1], filter->shape[1], stride_h, dilation_h);
  }
  std::optional<Window> columns() const {
    return MakeWindow(padding, input->shape[2], filter->shape[2], stride_w, dilation_w);
  }
  float filter_scale(int32_t channel) const {
    const std::vector<float>& scale = filter->quantization.scale;
    return scale.size() == 1 ? scale[0] : scale[channel];
  }
  // kernel_util.cc, PopulateConvolutionQuantizationParams.
  double real_multiplier(int32_t channel) const {
    return static_cast<double>(Scale(*input)) * static_cast<double>(filter_scale(channel)) /
           static_cast<double>(Scale(*output));
  }
};

Convolution View(const OperatorView& view) {
  Convolution c{};
  c.input = view.input(0);
  c.filter = view.input(1);
  c.bias = view.input(2);
  c.output = &view.output();
  auto take = [&](const auto& options) {
    c.padding = options.padding;
    c.activation = options.fused_activation_function;
    c.stride_h = options.stride_h;
    c.stride_w = options.stride_w;
    c.dilation_h = options.dilation_h_factor;
    c.dilation_w = options.dilation_w_factor;
  };
  if (const auto* options = view.op().options.AsConv2DOptions()) take(*options);
  if (const auto* options = view.op().options.AsDepthwiseConv2DOptions()) {
    take(*options);
    c.depthwise = true;
  }
  return c;
}

bool CheckFilterQuantization(Preflight& preflight, const Convolution& c) {
  const model::Quantization& q = c.filter->quantization;
  if (!q.present()) {
    return preflight.Refuse("unsupported_quantization",
                            Describe(preflight, "filter", *c.filter) +
                                " has no quantisation parameters");
  }
  const int32_t expected = c.depthwise ? 3 : 0;
  if (q.per_channel() && q.dimension != expected) {
    return preflight.Refuse("unsupported_quantization",
                            "filter quantised along dimension " + std::to_string(q.dimension) +
                                "; only output channels (dimension " + std::to_string(expected) +
                                ") may have their own scales");
  }
  for (int64_t zero_point : q.zero_point) {
    if (zero_point != 0) {
      return preflight.Refuse("unsupported_quantization",
                              "filter zero point " + std::to_string(zero_point) +
                                  "; int8 filters are symmetric (0)");
    }
  }
  for (int32_t channel = 0; channel < c.out_channels(); ++channel) {
    if (!CheckMultiplier(preflight, "channel " + std::to_string(channel),
                         c.real_multiplier(channel))) {
      return false;
    }
  }
  return true;
}

bool CheckChannels(Preflight& preflight, const Convolution& c) {
  const int32_t in = c.in_channels();
  const int32_t out = c.out_channels();
  if (c.depthwise) {
    if (c.filter->shape[0] != 1 || out % in != 0) {
      return preflight.Refuse("malformed_model",
                              Describe(preflight, "filter", *c.filter) +
                                  " must be [1, height, width, a multiple of the input's " +
                                  std::to_string(in) + " channels]");
    }
    return true;
  }
  const int32_t depth = c.filter->shape[3];
  if (in % depth != 0 || out % (in / depth) != 0) {
    return preflight.Refuse("malformed_model",
                            Describe(preflight, "filter", *c.filter) +
                                " does not divide the input's " + std::to_string(in) +
                                " channels into equal groups");
  }
  return true;
}

void CheckConvolution(Preflight& preflight, const Convolution& c) {
  if (!CheckType(preflight, "input", *c.input, {TensorType::INT8}) ||
      !CheckType(preflight, "filter", *c.filter, {TensorType::INT8}) ||
      !CheckType(preflight, "output", *c.output, {TensorType::INT8}) ||
      !CheckRank(preflight, "input", *c.input, 4) ||
      !CheckRank(preflight, "filter", *c.filter, 4) ||
      !CheckConstant(preflight, "filter", *c.filter) ||
      !CheckPerTensor(preflight, "input", *c.input) ||
      !CheckPerTensor(preflight, "output", *c.output) || !CheckChannels(preflight, c) ||
      !CheckFilterQuantization(preflight, c) ||
      !CheckActivation(preflight, c.activation, *c.output)) {
    return;
  }
  if (c.bias != nullptr && (!CheckType(preflight, "bias", *c.bias, {TensorType::INT32}) ||
                            !CheckConstant(preflight, "bias", *c.bias) ||
                            !CheckShape(preflight, "bias", *c.bias, {c.out_channels()}))) {
    return;
  }
  const std::optional<Window> rows = c.rows();
  const std::optional<Window> columns = c.columns();
  if (!rows || !columns) {
    preflight.Refuse("malformed_model", "strides, dilations and a filter of " +
                                            std::to_string(c.filter->shape[1]) + "x" +
                                            std::to_string(c.filter->shape[2]) +
                                            " leave no output position over the input");
    return;
  }
  CheckShape(preflight, "output", *c.output,
             {c.input->shape[0], rows->output, columns->output, c.out_channels()});
}

void CheckConv2d(Preflight& preflight) {
  if (!CheckArity(preflight, 2, 3, 1) ||
      !CheckOptions(preflight, preflight.view().op().options.AsConv2DOptions())) {
    return;
  }
  CheckConvolution(preflight, View(preflight.view()));
}

void CheckDepthwise(Preflight& preflight) {
  if (!CheckArity(preflight, 2, 3, 1) ||
      !CheckOptions(preflight, preflight.view().op().options.AsDepthwiseConv2DOptions())) {
    return;
  }
  CheckConvolution(preflight, View(preflight.view()));
}

// What the filters are made of, in the order of the definition of Int8Convolution.
Int8Filters Filters(const Convolution& c) {
  const std::vector<int8_t> stored = Int8Values(*c.filter);
  Int8Filters f;
  f.count = c.out_channels();
  f.depth = static_cast<int32_t>(stored.size()) / f.count;
  f.weights = stored;
  if (c.depthwise) {
    for (size_t i = 0; i < stored.size(); ++i) {
      f.weights[i % f.count * f.depth + i / f.count] = stored[i];
    }
  }
  f.bias = c.bias == nullptr ? std::vector<int32_t>(f.count, 0) : Int32Values(*c.bias);
  for (int32_t filter = 0; filter < f.count; ++filter) {
    int64_t sum = 0;
    for (int32_t k = 0; k < f.depth; ++k) sum += f.weights[int64_t{filter} * f.depth + k];
    f.bias[filter] = WrapToInt32(f.bias[filter] - ZeroPoint(*c.input) * sum);
    f.scales.push_back(*QuantizeMultiplier(c.real_multiplier(filter)));
  }
  f.output_zero_point = ZeroPoint(*c.output);
  f.range = *ActivationRange(c.activation, *c.output);
  return f;
}

Int8Convolution Describe(const Convolution& c) {
  Int8Convolution conv;
  conv.batches = c.input->shape[0];
  conv.rows = *c.rows();
  conv.columns = *c.columns();
  conv.in_c = c.in_channels();
  conv.groups = c.depthwise ? 1 : c.in_channels() / c.filter->shape[3];
  conv.depthwise = c.depthwise;
  conv.input_zero_point = ZeroPoint(*c.input);
  conv.filters = Filters(c);
  return conv;
}

// helx_channel of helx_kernels.h, one after another.
std::vector<int32_t> Channels(const Convolution& c, const Int8Filters& filters) {
  const std::vector<int32_t> bias =
      c.bias == nullptr ? std::vector<int32_t>(filters.count, 0) : Int32Values(*c.bias);
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
Lowering LowerPortable(const Convolution& c, const Int8Convolution& conv,
                       const LowerContext& context) {
  const Window& rows = conv.rows;
  const Window& columns = conv.columns;
  const IntegerRange range = conv.filters.range;
  Lowering lowering;
  lowering.function = c.depthwise ? "helx_depthwise_conv_s8" : "helx_conv_s8";
  lowering.params_type = "helx_conv_s8_params";
  lowering.params = {
      Field("batches", c.input->shape[0]),
      Field("in_h", rows.input),
      Field("in_w", columns.input),
      Field("in_c", c.in_channels()),
      Field("out_h", rows.output),
      Field("out_w", columns.output),
      Field("out_c", c.out_channels()),
      Field("filter_h", rows.taps),
      Field("filter_w", columns.taps),
      Field("stride_h", rows.stride),
      Field("stride_w", columns.stride),
      Field("dilation_h", rows.dilation),
      Field("dilation_w", columns.dilation),
      Field("pad_h", rows.padding),
      Field("pad_w", columns.padding),
      Field("groups", conv.groups),
      Field("multiplier", c.depthwise ? c.out_channels() / c.in_channels() : 1),
      Field("input_zero_point", ZeroPoint(*c.input)),
      Field("output_zero_point", ZeroPoint(*c.output)),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("int8_t", c.filter->data)),
      Field("channels", context.ConstantArray("helx_channel", Channels(c, conv.filters))),
  };
  return lowering;
}

Lowering LowerConvolution(const LowerContext& context) {
  const Convolution c = View(context.view);
  const Int8Convolution conv = Describe(c);
  std::optional<Lowering> special = LowerForIsa(conv, context);
  Lowering lowering = special ? *std::move(special) : LowerPortable(c, conv, context);
  lowering.arguments = {Argument::Tensor(context.view.input_number(0)),
                        Argument::Tensor(context.view.output_number(0))};
  if (lowering.scratch_bytes > 0) lowering.arguments.push_back(Argument::Scratch());
  lowering.macs = model::ElementCount(*c.output) * conv.rows.taps * conv.columns.taps *
                  (c.depthwise ? 1 : c.filter->shape[3]);
  return lowering;
}

}  // namespace

const OperatorEntry kConv2d = {
    model::BuiltinOperator::CONV_2D, 8,
    "int8 × int8 constant filter (per tensor or per output channel, symmetric), int32 bias → int8; "
    "SAME, VALID, strides, dilations, groups; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckConv2d, LowerConvolution};

const OperatorEntry kDepthwiseConv2d = {
    model::BuiltinOperator::DEPTHWISE_CONV_2D, 7,
    "int8 × int8 constant filter (per tensor or per channel, symmetric), int32 bias → int8; any "
    "channel multiplier; SAME, VALID, strides, dilations; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckDepthwise, LowerConvolution};

}  // namespace helx::engine
