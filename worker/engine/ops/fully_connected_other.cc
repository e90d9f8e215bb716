// FULLY_CONNECTED beyond int8: float, hybrid, int16 and uint8.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/uint8_channels.h"
#include "worker/engine/ops/wide_channels.h"

namespace helx::engine {
namespace {

const tflite::FullyConnectedOptionsT& FullyConnectedOptions(const OperatorView& view) {
  static const tflite::FullyConnectedOptionsT kDefault;
  const auto* options = view.op().options.AsFullyConnectedOptions();
  return options == nullptr ? kDefault : *options;
}

template <TensorType kInput, TensorType kWeights>
bool Takes(const OperatorView& view) {
  return FirstInputIs<kInput>(view) && view.input(1) != nullptr && view.input(1)->type == kWeights;
}

// Shapes and layout; the matrices' dimensions are what everything else goes by.
bool CheckFullyConnectedShapes(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 3, 1) ||
      OptionsOrDefault(preflight, view.op().options.AsFullyConnectedOptions()) == nullptr) {
    return false;
  }
  const Tensor& input = *view.input(0);
  const Tensor& weights = *view.input(1);
  const Tensor& output = view.output();
  if (FullyConnectedOptions(view).weights_format !=
      tflite::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    return preflight.Refuse("unsupported_tensor",
                            "shuffled weights; only the default layout is read");
  }
  if (!CheckType(preflight, "output", output, {input.type}) ||
      !CheckRank(preflight, "weights", weights, 2)) {
    return false;
  }
  if (view.input(2) != nullptr && model::ElementCount(*view.input(2)) != weights.shape[0]) {
    return preflight.Refuse("malformed_model", Describe(preflight, "bias", *view.input(2)) +
                                                   " must have " +
                                                   std::to_string(weights.shape[0]) + " elements");
  }
  const int64_t rows = model::ElementCount(input) / weights.shape[1];
  if (model::ElementCount(input) % weights.shape[1] != 0 || output.shape.empty() ||
      output.shape.back() != weights.shape[0] ||
      model::ElementCount(output) != rows * weights.shape[0]) {
    return preflight.Refuse("malformed_model", model::TensorText(input) + " × " +
                                                   model::TensorText(weights) + " does not give " +
                                                   model::TensorText(output));
  }
  return true;
}

std::vector<std::string> FullyConnectedShapeParams(const OperatorView& view) {
  const Tensor& weights = *view.input(1);
  return {
      Field("rows", model::ElementCount(*view.input(0)) / weights.shape[1]),
      Field("in_depth", weights.shape[1]),
      Field("out_depth", weights.shape[0]),
  };
}

void AddFloatRange(const OperatorView& view, std::vector<std::string>* params) {
  const FloatRange range =
      *FloatActivationRange(FullyConnectedOptions(view).fused_activation_function);
  params->push_back(FloatField("lowest", range.lowest));
  params->push_back(FloatField("highest", range.highest));
}

int64_t FullyConnectedMacs(const OperatorView& view) {
  return model::ElementCount(*view.input(0)) * view.input(1)->shape[0];
}

void CheckFullyConnectedFloat(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckFullyConnectedShapes(preflight) ||
      !CheckFloatActivation(preflight, FullyConnectedOptions(view).fused_activation_function)) {
    return;
  }
  if (view.input(2) != nullptr) {
    CheckType(preflight, "bias", *view.input(2), {TensorType::FLOAT32});
  }
}

Lowering LowerFullyConnectedFloat(const LowerContext& context) {
  const OperatorView& view = context.view;
  const bool biased = view.input(2) != nullptr;
  Lowering lowering;
  lowering.function = biased ? "helx_fully_connected_f32" : "helx_fully_connected_f32_no_bias";
  lowering.params_type = "helx_fully_connected_f32_params";
  lowering.params = FullyConnectedShapeParams(view);
  AddFloatRange(view, &lowering.params);
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1))};
  if (biased) lowering.arguments.push_back(Argument::Tensor(view.input_number(2)));
  lowering.arguments.push_back(Argument::Tensor(view.output_number(0)));
  lowering.macs = FullyConnectedMacs(view);
  return lowering;
}

bool CheckWeightScales(Preflight& preflight) {
  const Tensor& weights = *preflight.view().input(1);
  const model::Quantization& q = weights.quantization;
  if (!CheckConstant(preflight, "weights", weights)) return false;
  if (!q.present() || (q.per_channel() && q.dimension != 0)) {
    return preflight.Refuse(
        "unsupported_quantization",
        Describe(preflight, "weights", weights) + " must be quantised, per tensor or per output");
  }
  return true;
}

bool CheckSymmetric(Preflight& preflight) {
  for (int64_t zero_point : preflight.view().input(1)->quantization.zero_point) {
    if (zero_point != 0) {
      return preflight.Refuse(
          "unsupported_quantization",
          "weight zero point " + std::to_string(zero_point) + "; int8 weights are symmetric (0)");
    }
  }
  return true;
}

float WeightScale(const OperatorView& view, int32_t output) {
  const model::Quantization& q = view.input(1)->quantization;
  return q.scale[q.per_channel() ? output : 0];
}

void CheckFullyConnectedHybrid(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckFullyConnectedShapes(preflight) || !CheckWeightScales(preflight) ||
      !CheckSymmetric(preflight) ||
      !CheckFloatActivation(preflight, FullyConnectedOptions(view).fused_activation_function)) {
    return;
  }
  const Tensor* bias = view.input(2);
  if (bias != nullptr && CheckType(preflight, "bias", *bias, {TensorType::FLOAT32})) {
    CheckConstant(preflight, "bias", *bias);
  }
}

Lowering LowerFullyConnectedHybrid(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& weights = *view.input(1);
  const std::vector<int8_t> values = Int8Values(weights);
  std::vector<float> scales;
  std::vector<int32_t> sums;
  for (int32_t o = 0; o < weights.shape[0]; ++o) {
    scales.push_back(WeightScale(view, o));
    int32_t sum = 0;
    for (int32_t k = 0; k < weights.shape[1]; ++k) {
      sum += values[static_cast<size_t>(o) * weights.shape[1] + k];
    }
    sums.push_back(sum);
  }
  Lowering lowering;
  lowering.function = "helx_fully_connected_hybrid";
  lowering.params_type = "helx_fully_connected_hybrid_params";
  lowering.params = FullyConnectedShapeParams(view);
  lowering.params.push_back(
      Field("asymmetric", FullyConnectedOptions(view).asymmetric_quantize_inputs ? 1 : 0));
  AddFloatRange(view, &lowering.params);
  lowering.params.push_back(Field("weights", context.ConstantBytes("int8_t", weights.data)));
  lowering.params.push_back(Field("scales", context.ConstantArray("float", scales)));
  lowering.params.push_back(
      Field("bias",
            view.input(2) == nullptr ? "0" : context.ConstantBytes("float", view.input(2)->data)));
  lowering.params.push_back(Field("sums", context.ConstantArray("int32_t", sums)));
  lowering.arguments = {Argument::Tensor(view.input_number(0)), Argument::Scratch(),
                        Argument::Tensor(view.output_number(0))};
  lowering.scratch_bytes = weights.shape[1];
  lowering.macs = FullyConnectedMacs(view);
  return lowering;
}

// Per tensor the scales of input and weights are multiplied in single precision, per channel in
// double.
double FullyConnectedRatio(const OperatorView& view, int32_t output) {
  const float input = Scale(*view.input(0));
  const double scale = static_cast<double>(Scale(view.output()));
  if (!view.input(1)->quantization.per_channel()) {
    return static_cast<double>(input * WeightScale(view, 0)) / scale;
  }
  return static_cast<double>(input) * static_cast<double>(WeightScale(view, output)) / scale;
}

bool IsNarrowFullyConnected(const OperatorView& view) {
  return view.input(2) == nullptr
             ? FullyConnectedOptions(view).quantized_bias_type == TensorType::INT32
             : view.input(2)->type == TensorType::INT32;
}

void CheckFullyConnectedInt16(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckFullyConnectedShapes(preflight) || !CheckWeightScales(preflight) ||
      !CheckSymmetric(preflight) || !CheckPerTensor(preflight, "input", *view.input(0)) ||
      !CheckPerTensor(preflight, "output", view.output()) ||
      !CheckActivation(preflight, FullyConnectedOptions(view).fused_activation_function,
                       view.output())) {
    return;
  }
  if (ZeroPoint(*view.input(0)) != 0 || ZeroPoint(view.output()) != 0) {
    preflight.Refuse("unsupported_quantization", "int16 input and output must have zero point 0");
    return;
  }
  const Tensor* bias = view.input(2);
  if (bias != nullptr &&
      (!CheckType(preflight, "bias", *bias, {TensorType::INT32, TensorType::INT64}) ||
       !CheckConstant(preflight, "bias", *bias))) {
    return;
  }
  for (int32_t o = 0; o < view.input(1)->shape[0]; ++o) {
    if (!CheckWideMultiplier(preflight, FullyConnectedRatio(view, o), IsNarrowFullyConnected(view)))
      return;
  }
}

Lowering LowerFullyConnectedInt16(const LowerContext& context) {
  const OperatorView& view = context.view;
  const IntegerRange range =
      *ActivationRange(FullyConnectedOptions(view).fused_activation_function, view.output());
  std::vector<double> ratios;
  for (int32_t o = 0; o < view.input(1)->shape[0]; ++o)
    ratios.push_back(FullyConnectedRatio(view, o));
  Lowering lowering;
  lowering.function = "helx_fully_connected_s16";
  lowering.params_type = "helx_fully_connected_s16_params";
  lowering.params = FullyConnectedShapeParams(view);
  const std::vector<std::string> more = {
      Field("narrow", IsNarrowFullyConnected(view) ? 1 : 0),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("int8_t", view.input(1)->data)),
      Field("channels", WideChannels(context, view.input(2), ratios, IsNarrowFullyConnected(view))),
  };
  lowering.params.insert(lowering.params.end(), more.begin(), more.end());
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.macs = FullyConnectedMacs(view);
  return lowering;
}

void CheckFullyConnectedUint8(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckFullyConnectedShapes(preflight) ||
      !CheckConstant(preflight, "weights", *view.input(1)) ||
      !CheckPerTensor(preflight, "weights", *view.input(1)) ||
      !CheckPerTensor(preflight, "input", *view.input(0)) ||
      !CheckPerTensor(preflight, "output", view.output()) ||
      !CheckActivation(preflight, FullyConnectedOptions(view).fused_activation_function,
                       view.output()) ||
      !CheckFloatRescaling(preflight, *view.input(0), *view.input(1))) {
    return;
  }
  const Tensor* bias = view.input(2);
  if (bias != nullptr && CheckType(preflight, "bias", *bias, {TensorType::INT32})) {
    CheckConstant(preflight, "bias", *bias);
  }
}

// A convolution with a filter of one position over rows as pixels.
Lowering LowerFullyConnectedUint8(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& weights = *view.input(1);
  const IntegerRange range =
      *ActivationRange(FullyConnectedOptions(view).fused_activation_function, view.output());
  const int64_t rows = model::ElementCount(*view.input(0)) / weights.shape[1];
  const std::string count = std::to_string(rows);
  Lowering lowering;
  lowering.function = "helx_conv_u8";
  lowering.params_type = "helx_conv_u8_params";
  lowering.params = {
      Field("shape", "{.batches = 1, .in_h = 1, .in_w = " + count + ", .in_c = " +
                         std::to_string(weights.shape[1]) + ", .out_h = 1, .out_w = " + count +
                         ", .out_c = " + std::to_string(weights.shape[0]) +
                         ", .filter_h = 1, .filter_w = 1, .stride_h = 1, .stride_w = 1, "
                         ".dilation_h = 1, .dilation_w = 1, .groups = 1, .multiplier = 1}"),
      Field("input_zero_point", ZeroPoint(*view.input(0))),
      Field("filter_zero_point", ZeroPoint(weights)),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
      Field("weights", context.ConstantBytes("uint8_t", weights.data)),
      Field("channels",
            FloatChannels(context, *view.input(0), weights, view.input(2), weights.shape[0])),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.macs = FullyConnectedMacs(view);
  return lowering;
}

}  // namespace

using model::BuiltinOperator;
const OperatorEntry kFullyConnectedFloat = {
    BuiltinOperator::FULLY_CONNECTED,
    14,
    "float32 × float32 weights, optional bias; NONE, RELU, RELU_N1_TO_1, RELU6",
    CheckFullyConnectedFloat,
    LowerFullyConnectedFloat,
    Takes<TensorType::FLOAT32, TensorType::FLOAT32>};
const OperatorEntry kFullyConnectedHybrid = {
    BuiltinOperator::FULLY_CONNECTED,
    14,
    "float32 × int8 constant weights (hybrid: rows are quantised when they arrive); NONE, RELU, "
    "RELU_N1_TO_1, RELU6",
    CheckFullyConnectedHybrid,
    LowerFullyConnectedHybrid,
    Takes<TensorType::FLOAT32, TensorType::INT8>};
const OperatorEntry kFullyConnectedInt16 = {
    BuiltinOperator::FULLY_CONNECTED,
    14,
    "int16 × int8 constant weights (per tensor or per output), int32 or int64 bias → int16; NONE, "
    "RELU, RELU_N1_TO_1, RELU6",
    CheckFullyConnectedInt16,
    LowerFullyConnectedInt16,
    Takes<TensorType::INT16, TensorType::INT8>};
const OperatorEntry kFullyConnectedUint8 = {
    BuiltinOperator::FULLY_CONNECTED,
    14,
    "uint8 × uint8 constant weights (per tensor), int32 bias → uint8; NONE, RELU, RELU_N1_TO_1, "
    "RELU6",
    CheckFullyConnectedUint8,
    LowerFullyConnectedUint8,
    Takes<TensorType::UINT8, TensorType::UINT8>};

}  // namespace helx::engine
