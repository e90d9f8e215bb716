// SOFTMAX (int8) and LOG_SOFTMAX (float32), over the last dimension.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

int32_t Depth(const Tensor& tensor) { return tensor.shape.empty() ? 1 : tensor.shape.back(); }

void CheckSoftmax(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsSoftmaxOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input, {TensorType::INT8}) ||
      !CheckType(preflight, "output", output, {TensorType::INT8}) ||
      !CheckShape(preflight, "output", output, input.shape) ||
      !CheckPerTensor(preflight, "input", input) || !CheckPerTensor(preflight, "output", output)) {
    return;
  }
  if (Scale(output) != 1.0f / 256 || ZeroPoint(output) != -128) {
    preflight.Refuse("unsupported_quantization",
                     "the output's scale must be 1/256 and its zero point -128");
  }
  if (!SoftmaxExpTable(static_cast<double>(options->beta), static_cast<double>(Scale(input)))) {
    preflight.Refuse("unsupported_quantization",
                     "beta × input scale must be above 2^-26; TFLite's fixed-point exponential is "
                     "not defined below");
  }
  if (Depth(input) > 4095) {
    preflight.Refuse("unsupported_shape",
                     "rows of " + std::to_string(Depth(input)) +
                         " elements; the sum of exponentials holds at most 4095");
  }
}

Lowering LowerSoftmax(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const std::vector<int32_t> table =
      *SoftmaxExpTable(static_cast<double>(view.op().options.AsSoftmaxOptions()->beta),
                       static_cast<double>(Scale(input)));
  Lowering lowering;
  lowering.function = "helx_softmax_s8";
  lowering.params_type = "helx_softmax_s8_params";
  lowering.params = {
      Field("rows", model::ElementCount(input) / Depth(input)),
      Field("depth", Depth(input)),
      Field("table_size", static_cast<int64_t>(table.size())),
      Field("exp_table", context.ConstantArray("int32_t", table)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.aliases = {{Alias::Kind::kInPlace, view.output_number(0), view.input_number(0)}};
  return lowering;
}

void CheckLogSoftmax(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  if (!CheckType(preflight, "input", *view.input(0), {TensorType::FLOAT32}) ||
      !CheckType(preflight, "output", view.output(), {TensorType::FLOAT32})) {
    return;
  }
  CheckShape(preflight, "output", view.output(), view.input(0)->shape);
}

Lowering LowerLogSoftmax(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  Lowering lowering;
  lowering.function = "helx_log_softmax_f32";
  lowering.params_type = "helx_rows_params";
  lowering.params = {
      Field("rows", model::ElementCount(input) / Depth(input)),
      Field("depth", Depth(input)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.aliases = {{Alias::Kind::kInPlace, view.output_number(0), view.input_number(0)}};
  return lowering;
}

}  // namespace

const OperatorEntry kSoftmax = {
    model::BuiltinOperator::SOFTMAX, 3,
    "int8 → int8 with scale 1/256 and zero point -128; rows of at most 4095", CheckSoftmax,
    LowerSoftmax};

const OperatorEntry kLogSoftmax = {model::BuiltinOperator::LOG_SOFTMAX, 2, "float32 → float32",
                                   CheckLogSoftmax, LowerLogSoftmax};

}  // namespace helx::engine
