// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR. The size operand has become the output's shape.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

struct Corners {
  bool align;
  bool half_pixel;
};

Corners CornersOf(const OperatorView& view) {
  if (const auto* o = view.op().options.AsResizeBilinearOptions(); o != nullptr) {
    return {o->align_corners, o->half_pixel_centers};
  }
  if (const auto* o = view.op().options.AsResizeNearestNeighborOptions(); o != nullptr) {
    return {o->align_corners, o->half_pixel_centers};
  }
  return {false, false};
}

void CheckResize(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& size = *view.input(1);
  const Tensor& output = view.output();
  if (view.op().code == BuiltinOperator::RESIZE_BILINEAR &&
      !CheckType(preflight, "input", input,
                 {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16})) {
    return;
  }
  if (!CheckType(preflight, "output", output, {input.type}) ||
      !CheckType(preflight, "size", size, {TensorType::INT32}) ||
      !CheckRank(preflight, "input", input, 4) || !CheckRank(preflight, "output", output, 4) ||
      !CheckShape(preflight, "output", output,
                  {input.shape[0], output.shape[1], output.shape[2], input.shape[3]})) {
    return;
  }
  if (size.is_constant &&
      IntegerValues(size) != std::vector<int64_t>{output.shape[1], output.shape[2]}) {
    preflight.Refuse("malformed_model", "the size is not that of " + model::TensorText(output));
    return;
  }
  const Corners corners = CornersOf(view);
  if (corners.align && corners.half_pixel) {
    preflight.Refuse("malformed_model", "align_corners and half_pixel_centers exclude each other");
    return;
  }
  if (input.shape[1] > (1 << 20) || input.shape[2] > (1 << 20) || output.shape[1] > (1 << 20) ||
      output.shape[2] > (1 << 20)) {
    preflight.Refuse("unsupported_shape", "heights and widths may be at most 2^20");
  }
}

bool AlignsCorners(bool align, int32_t out) { return align && out > 1; }

float ResizeRatio(bool align, int32_t in, int32_t out) {
  return AlignsCorners(align, out) ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                   : static_cast<float>(in) / static_cast<float>(out);
}

// The ratio in 1024ths, rounded (ResizeBilinearInteger).
int32_t FixedRatio(bool align, int32_t in, int32_t out) {
  const int64_t steps = AlignsCorners(align, out) ? in - 1 : in;
  const int64_t over = AlignsCorners(align, out) ? out - 1 : out;
  return static_cast<int32_t>((1024 * steps + over / 2) / over);
}

Lowering LowerResize(const LowerContext& context) {
  const OperatorView& view = context.view;
  const std::vector<int32_t>& in = view.input(0)->shape;
  const std::vector<int32_t>& out = view.output().shape;
  const Corners corners = CornersOf(view);
  Lowering lowering;
  lowering.function = "helx_resize_nearest";
  if (view.op().code == BuiltinOperator::RESIZE_BILINEAR) {
    switch (view.input(0)->type) {
      case TensorType::INT8:
        lowering.function = "helx_resize_bilinear_s8";
        break;
      case TensorType::UINT8:
        lowering.function = "helx_resize_bilinear_u8";
        break;
      case TensorType::INT16:
        lowering.function = "helx_resize_bilinear_s16";
        break;
      default:
        lowering.function = "helx_resize_bilinear_f32";
    }
  }
  lowering.params_type = "helx_resize_params";
  lowering.params = {
      Field("batches", in[0]),
      Field("in_h", in[1]),
      Field("in_w", in[2]),
      Field("channels", in[3]),
      Field("out_h", out[1]),
      Field("out_w", out[2]),
      Field("align_corners", corners.align ? 1 : 0),
      Field("half_pixel_centers", corners.half_pixel ? 1 : 0),
      Field("scale_h", FixedRatio(corners.align, in[1], out[1])),
      Field("scale_w", FixedRatio(corners.align, in[2], out[2])),
      FloatField("ratio_h", ResizeRatio(corners.align, in[1], out[1])),
      FloatField("ratio_w", ResizeRatio(corners.align, in[2], out[2])),
      Field("bytes", ElementBytes(*view.input(0))),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

const OperatorEntry kResizeBilinear = {BuiltinOperator::RESIZE_BILINEAR, 4,
                                       "float32, int8, uint8, int16; output shape known",
                                       CheckResize, LowerResize};
const OperatorEntry kResizeNearest = {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, 4,
                                      "any type of whole bytes; output shape known", CheckResize,
                                      LowerResize};

}  // namespace helx::engine
