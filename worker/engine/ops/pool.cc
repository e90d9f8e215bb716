// AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

struct Pool {
  const Tensor& input;
  const tflite::Pool2DOptionsT& options;
  std::optional<Window> rows() const {
    return MakeWindow(options.padding, input.shape[1], options.filter_height, options.stride_h, 1);
  }
  std::optional<Window> columns() const {
    return MakeWindow(options.padding, input.shape[2], options.filter_width, options.stride_w, 1);
  }
};

bool CheckPoolScaling(Preflight& preflight, const tflite::Pool2DOptionsT& options) {
  const OperatorView& view = preflight.view();
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (input.type == TensorType::FLOAT32) {
    return CheckFloatActivation(preflight, options.fused_activation_function);
  }
  return CheckPerTensor(preflight, "input", input) && CheckPerTensor(preflight, "output", output) &&
         CheckSameQuantization(preflight, input, output) &&
         CheckActivation(preflight, options.fused_activation_function, output);
}

void CheckPool(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsPool2DOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const bool typed = view.op().code == BuiltinOperator::L2_POOL_2D
                         ? CheckType(preflight, "input", input, {TensorType::FLOAT32})
                         : CheckType(preflight, "input", input,
                                     {TensorType::INT8, TensorType::UINT8, TensorType::INT16,
                                      TensorType::FLOAT32});
  if (!typed || !CheckType(preflight, "output", output, {input.type}) ||
      !CheckRank(preflight, "input", input, 4) || !CheckPoolScaling(preflight, *options)) {
    return;
  }
  const Pool pool{input, *options};
  const std::optional<Window> rows = pool.rows();
  const std::optional<Window> columns = pool.columns();
  if (!rows || !columns) {
    preflight.Refuse("malformed_model", "strides and a window of " +
                                            std::to_string(options->filter_height) + "x" +
                                            std::to_string(options->filter_width) +
                                            " leave no output position over the input");
    return;
  }
  CheckShape(preflight, "output", output,
             {input.shape[0], rows->output, columns->output, input.shape[3]});
}

std::string PoolKernelName(const OperatorView& view) {
  if (view.op().code == BuiltinOperator::L2_POOL_2D) return "helx_l2_pool_f32";
  const std::string stem =
      view.op().code == BuiltinOperator::MAX_POOL_2D ? "helx_max_pool_" : "helx_average_pool_";
  switch (view.input(0)->type) {
    case TensorType::FLOAT32:
      return stem + "f32";
    case TensorType::UINT8:
      return stem + "u8";
    case TensorType::INT16:
      return stem + "s16";
    default:
      return stem + "s8";
  }
}

Lowering LowerPool(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const auto& options = *view.op().options.AsPool2DOptions();
  const Pool pool{input, options};
  const Window rows = *pool.rows();
  const Window columns = *pool.columns();
  Lowering lowering;
  // Helium adds in 16 bits.
  const bool helium = context.board.isa == target::Isa::kMve &&
                      view.op().code == BuiltinOperator::AVERAGE_POOL_2D &&
                      input.type == TensorType::INT8 && rows.taps * columns.taps <= 256;
  lowering.function = helium ? "helx_mve_average_pool_s8" : PoolKernelName(view);
  lowering.params_type = "helx_pool_params";
  lowering.params = {
      Field("batches", input.shape[0]), Field("in_h", rows.input),
      Field("in_w", columns.input),     Field("channels", input.shape[3]),
      Field("out_h", rows.output),      Field("out_w", columns.output),
      Field("filter_h", rows.taps),     Field("filter_w", columns.taps),
      Field("stride_h", rows.stride),   Field("stride_w", columns.stride),
      Field("pad_h", rows.padding),     Field("pad_w", columns.padding),
  };
  if (input.type == TensorType::FLOAT32) {
    const FloatRange range = *FloatActivationRange(options.fused_activation_function);
    lowering.params.push_back(FloatField("lowest_f32", range.lowest));
    lowering.params.push_back(FloatField("highest_f32", range.highest));
  } else {
    const IntegerRange range = *ActivationRange(options.fused_activation_function, view.output());
    lowering.params.push_back(Field("lowest", range.lowest));
    lowering.params.push_back(Field("highest", range.highest));
  }
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

#define HELX_POOL_SUPPORT                                                              \
  "float32; int8, uint8, int16 of one scale and zero point; SAME, VALID; NONE, RELU, " \
  "RELU_N1_TO_1, RELU6"
const OperatorEntry kAveragePool2d = {BuiltinOperator::AVERAGE_POOL_2D, 3, HELX_POOL_SUPPORT,
                                      CheckPool, LowerPool};
const OperatorEntry kMaxPool2d = {BuiltinOperator::MAX_POOL_2D, 3, HELX_POOL_SUPPORT, CheckPool,
                                  LowerPool};
const OperatorEntry kL2Pool2d = {BuiltinOperator::L2_POOL_2D, 1,
                                 "float32; SAME, VALID; NONE, RELU, RELU_N1_TO_1, RELU6", CheckPool,
                                 LowerPool};
#undef HELX_POOL_SUPPORT

}  // namespace helx::engine
