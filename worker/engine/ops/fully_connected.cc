// FULLY_CONNECTED, int8 with int8 weights.
#include <cmath>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/int8_kernels.h"

namespace helx::engine {
namespace {

const tflite::FullyConnectedOptionsT* Int8FullyConnectedOptions(const OperatorView& view) {
  return view.op().options.AsFullyConnectedOptions();
}

// With one scale TFLite multiplies input and weight scale in single precision first
// (GetQuantizedConvolutionMultipler); with a scale per channel everything is in double precision.
double RealMultiplier(const OperatorView& view, int32_t channel) {
  const Tensor& input = *view.input(0);
  const Tensor& weights = *view.input(1);
  const double output = static_cast<double>(Scale(view.output()));
  if (!weights.quantization.per_channel()) {
    const float product = Scale(input) * Scale(weights);
    return static_cast<double>(product) / output;
  }
  return static_cast<double>(Scale(input)) *
         static_cast<double>(weights.quantization.scale[channel]) / output;
}

bool CheckWeights(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const Tensor& weights = *view.input(1);
  const model::Quantization& q = weights.quantization;
  if (!q.present()) {
    return preflight.Refuse("unsupported_quantization", Describe(preflight, "weights", weights) +
                                                            " have no quantisation parameters");
  }
  if (q.per_channel() && q.dimension != 0) {
    return preflight.Refuse("unsupported_quantization",
                            "weights quantised along dimension " + std::to_string(q.dimension) +
                                "; only outputs (dimension 0) may have their own scales");
  }
  for (int64_t zero_point : q.zero_point) {
    if (zero_point != 0) {
      return preflight.Refuse(
          "unsupported_quantization",
          "weight zero point " + std::to_string(zero_point) + "; int8 weights are symmetric (0)");
    }
  }
  const int32_t channels = q.per_channel() ? weights.shape[0] : 1;
  for (int32_t channel = 0; channel < channels; ++channel) {
    if (!CheckMultiplier(preflight, "output " + std::to_string(channel),
                         RealMultiplier(view, channel))) {
      return false;
    }
  }
  return true;
}

// TFLite refuses a per-tensor bias whose scale is not that of the products (kernel_util.cc).
bool CheckBias(Preflight& preflight, const Tensor& bias) {
  const OperatorView& view = preflight.view();
  const Tensor& weights = *view.input(1);
  if (!CheckType(preflight, "bias", bias, {TensorType::INT32}) ||
      !CheckConstant(preflight, "bias", bias)) {
    return false;
  }
  if (model::ElementCount(bias) != weights.shape[0]) {
    return preflight.Refuse("malformed_model", Describe(preflight, "bias", bias) + " must have " +
                                                   std::to_string(weights.shape[0]) + " elements");
  }
  if (!weights.quantization.per_channel() && bias.quantization.present()) {
    const double product =
        static_cast<double>(Scale(*view.input(0))) * static_cast<double>(Scale(weights));
    const double difference = std::fabs(product - static_cast<double>(Scale(bias)));
    if (difference / static_cast<double>(Scale(view.output())) > 0.02) {
      return preflight.Refuse("unsupported_quantization",
                              "bias scale differs from input scale × weight scale by more than 2% "
                              "of the output scale");
    }
  }
  return true;
}

void CheckInt8FullyConnected(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 3, 1)) return;
  const auto* options = CheckOptions(preflight, Int8FullyConnectedOptions(view));
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& weights = *view.input(1);
  const Tensor& output = view.output();
  if (options->weights_format != tflite::FullyConnectedOptionsWeightsFormat::DEFAULT) {
    preflight.Refuse("unsupported_tensor", "shuffled weights; only the default layout is read");
    return;
  }
  if (!CheckType(preflight, "input", input, {TensorType::INT8}) ||
      !CheckType(preflight, "weights", weights, {TensorType::INT8}) ||
      !CheckType(preflight, "output", output, {TensorType::INT8}) ||
      !CheckRank(preflight, "weights", weights, 2) ||
      !CheckConstant(preflight, "weights", weights) || !CheckPerTensor(preflight, "input", input) ||
      !CheckPerTensor(preflight, "output", output) || !CheckWeights(preflight) ||
      !CheckActivation(preflight, options->fused_activation_function, output)) {
    return;
  }
  if (view.input(2) != nullptr && !CheckBias(preflight, *view.input(2))) return;
  const int64_t rows = model::ElementCount(input) / weights.shape[1];
  if (model::ElementCount(input) % weights.shape[1] != 0 || output.shape.empty() ||
      output.shape.back() != weights.shape[0] ||
      model::ElementCount(output) != rows * weights.shape[0]) {
    preflight.Refuse("malformed_model", model::TensorText(input) + " × " +
                                            model::TensorText(weights) + " does not give " +
                                            model::TensorText(output));
  }
}

// The bias with -zero_point * sum(weights of the output) folded in.
std::vector<int32_t> Int8FullyConnectedFoldedBias(const OperatorView& view) {
  const Tensor& weights = *view.input(1);
  const std::vector<int8_t> values = Int8Values(weights);
  std::vector<int32_t> bias = view.input(2) == nullptr ? std::vector<int32_t>(weights.shape[0], 0)
                                                       : Int32Values(*view.input(2));
  for (size_t out = 0; out < bias.size(); ++out) {
    int64_t sum = 0;
    for (int32_t k = 0; k < weights.shape[1]; ++k) sum += values[out * weights.shape[1] + k];
    bias[out] = WrapToInt32(bias[out] - ZeroPoint(*view.input(0)) * sum);
  }
  return bias;
}

Int8FullyConnected DescribeFullyConnected(const OperatorView& view) {
  const Tensor& weights = *view.input(1);
  Int8FullyConnected f;
  f.rows = static_cast<int32_t>(model::ElementCount(*view.input(0)) / weights.shape[1]);
  f.filters.count = weights.shape[0];
  f.filters.depth = weights.shape[1];
  f.filters.weights = Int8Values(weights);
  f.filters.bias = Int8FullyConnectedFoldedBias(view);
  for (int32_t channel = 0; channel < weights.shape[0]; ++channel) {
    f.filters.scales.push_back(*QuantizeMultiplier(RealMultiplier(view, channel)));
  }
  f.filters.output_zero_point = ZeroPoint(view.output());
  f.filters.range =
      *ActivationRange(Int8FullyConnectedOptions(view)->fused_activation_function, view.output());
  return f;
}

// For every core: a kernel that takes the weights as they are.
Lowering LowerPortableFullyConnected(const Int8FullyConnected& f, const LowerContext& context) {
  const Tensor& weights = *context.view.input(1);
  FixedMultiplier fixed;
  std::string scales = "0";
  if (weights.quantization.per_channel()) {
    std::vector<int32_t> values;
    for (const FixedMultiplier& own : f.filters.scales) {
      values.push_back(own.multiplier);
      values.push_back(own.shift);
    }
    scales = context.ConstantArray("helx_scale", values);
  } else {
    fixed = f.filters.scales[0];
  }
  Lowering lowering;
  lowering.function = "helx_fully_connected_s8";
  lowering.params_type = "helx_fully_connected_s8_params";
  lowering.params = {
      Field("rows", f.rows),
      Field("in_depth", f.filters.depth),
      Field("out_depth", f.filters.count),
      Field("multiplier", fixed.multiplier),
      Field("shift", fixed.shift),
      Field("output_zero_point", f.filters.output_zero_point),
      Field("lowest", f.filters.range.lowest),
      Field("highest", f.filters.range.highest),
      Field("weights", context.ConstantBytes("int8_t", weights.data)),
      Field("bias", context.ConstantArray("int32_t", f.filters.bias)),
      Field("scales", scales),
  };
  return lowering;
}

Lowering LowerInt8FullyConnected(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Int8FullyConnected f = DescribeFullyConnected(view);
  std::optional<Lowering> special = LowerForIsa(f, context);
  Lowering lowering = special ? *std::move(special) : LowerPortableFullyConnected(f, context);
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  if (lowering.scratch_bytes > 0) lowering.arguments.push_back(Argument::Scratch());
  lowering.macs = model::ElementCount(*view.input(0)) * view.input(1)->shape[0];
  return lowering;
}

}  // namespace

const OperatorEntry kFullyConnected = {
    model::BuiltinOperator::FULLY_CONNECTED, 12,
    "int8 × int8 constant weights (per tensor or per output, symmetric), int32 bias → int8; NONE, "
    "RELU, RELU_N1_TO_1, RELU6",
    CheckInt8FullyConnected, LowerInt8FullyConnected};

}  // namespace helx::engine
