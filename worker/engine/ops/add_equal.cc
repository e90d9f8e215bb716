#include "worker/engine/ops/add_equal.h"

namespace helx::engine {
namespace {

bool IsExactHalf(const FixedMultiplier& scale) {
  return scale.multiplier == 1 << 30 && scale.shift == 0;
}

// A shift that leaves the sign of a number, or nothing when the result is not shifted afterwards.
int32_t SignShift(const FixedMultiplier& scale) { return scale.shift < 0 ? -31 : 32; }

}  // namespace

std::optional<Lowering> LowerAddEqual(const LowerContext& context, const AddScales& scales,
                                      const IntegerRange& range) {
  const OperatorView& view = context.view;
  const bool mve = context.board.isa == target::Isa::kMve;
  const bool dsp = context.board.isa == target::Isa::kDsp && scales.output.shift >= -21;
  // The operand with the larger scale comes first.
  const size_t first = IsExactHalf(scales.a) ? 0 : 1;
  if ((!mve && !dsp) || view.input(0)->shape != view.input(1)->shape ||
      !IsExactHalf(first == 0 ? scales.a : scales.b)) {
    return std::nullopt;
  }
  const FixedMultiplier& other = first == 0 ? scales.b : scales.a;
  Lowering lowering;
  lowering.function = mve ? "helx_mve_add_s8" : "helx_dsp_add_s8";
  lowering.params_type = "helx_add_equal_s8_params";
  lowering.params = {
      Field("count", model::ElementCount(view.output())),
      Field("a_zero_point", ZeroPoint(*view.input(first))),
      Field("b_zero_point", ZeroPoint(*view.input(1 - first))),
      Field("b_multiplier", other.multiplier),
      Field("b_shift", other.shift),
      Field("b_sign", SignShift(other)),
      Field("output_zero_point", ZeroPoint(view.output())),
      Field("output_multiplier", scales.output.multiplier),
      Field("output_shift", scales.output.shift),
      Field("output_sign", SignShift(scales.output)),
      Field("lowest", range.lowest),
      Field("highest", range.highest),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(first)),
                        Argument::Tensor(view.input_number(1 - first)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace helx::engine
