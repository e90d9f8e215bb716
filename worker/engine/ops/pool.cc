// AVERAGE_POOL_2D, int8.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

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

void Check(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsPool2DOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input, {TensorType::INT8}) ||
      !CheckType(preflight, "output", output, {TensorType::INT8}) ||
      !CheckRank(preflight, "input", input, 4) || !CheckPerTensor(preflight, "input", input) ||
      !CheckPerTensor(preflight, "output", output) ||
      !CheckSameQuantization(preflight, input, output) ||
      !CheckActivation(preflight, options->fused_activation_function, output)) {
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

Lowering Lower(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const auto& options = *view.op().options.AsPool2DOptions();
  const Pool pool{input, options};
  const Window rows = *pool.rows();
  const Window columns = *pool.columns();
  const IntegerRange range = *ActivationRange(options.fused_activation_function, view.output());
  Lowering lowering;
  // Helium adds in 16 bits.
  const bool helium = KernelIsa(context.board) == target::Isa::kMve && rows.taps * columns.taps <= 256;
  lowering.function = helium ? "helx_mve_average_pool_s8" : "helx_average_pool_s8";
  lowering.params_type = "helx_pool_s8_params";
  lowering.params = {
      Field("batches", input.shape[0]),   Field("in_h", rows.input),
      Field("in_w", columns.input),       Field("channels", input.shape[3]),
      Field("out_h", rows.output),        Field("out_w", columns.output),
      Field("filter_h", rows.taps),       Field("filter_w", columns.taps),
      Field("stride_h", rows.stride),     Field("stride_w", columns.stride),
      Field("pad_h", rows.padding),       Field("pad_w", columns.padding),
      Field("lowest", range.lowest),      Field("highest", range.highest),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

const OperatorEntry kAveragePool2d = {
    model::BuiltinOperator::AVERAGE_POOL_2D, 3,
    "int8 → int8 of the same scale and zero point; SAME, VALID; NONE, RELU, RELU_N1_TO_1, RELU6",
    Check, Lower};

}  // namespace helx::engine
