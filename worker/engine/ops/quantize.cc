// QUANTIZE (float32 to int8) and DEQUANTIZE (int8 to float32).
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

void Check(Preflight& preflight, TensorType from, TensorType to, bool quantised_output) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input, {from}) ||
      !CheckType(preflight, "output", output, {to}) ||
      !CheckShape(preflight, "output", output, input.shape)) {
    return;
  }
  CheckPerTensor(preflight, quantised_output ? "output" : "input",
                 quantised_output ? output : input);
}

Lowering Lower(const LowerContext& context, const char* function, const Tensor& quantised) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = function;
  lowering.params_type = "helx_affine_params";
  lowering.params = {
      Field("count", model::ElementCount(view.output())),
      FloatField("scale", Scale(quantised)),
      Field("zero_point", ZeroPoint(quantised)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

void CheckQuantize(Preflight& preflight) {
  Check(preflight, TensorType::FLOAT32, TensorType::INT8, true);
}
void CheckDequantize(Preflight& preflight) {
  Check(preflight, TensorType::INT8, TensorType::FLOAT32, false);
}
Lowering LowerQuantize(const LowerContext& context) {
  return Lower(context, "helx_quantize_f32_s8", context.view.output());
}
Lowering LowerDequantize(const LowerContext& context) {
  return Lower(context, "helx_dequantize_s8_f32", *context.view.input(0));
}

}  // namespace

const OperatorEntry kQuantize = {model::BuiltinOperator::QUANTIZE, 3,
                                 "float32 → int8 (per tensor)", CheckQuantize, LowerQuantize};

const OperatorEntry kDequantize = {model::BuiltinOperator::DEQUANTIZE, 6,
                                   "int8 (per tensor) → float32", CheckDequantize,
                                   LowerDequantize};

}  // namespace helx::engine
