// MEAN, int8.
#include <algorithm>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

// The dimensions that are kept and those that are reduced, neighbours of one kind merged.
struct Reduction {
  std::vector<int64_t> kept_size, kept_stride, reduced_size, reduced_stride;
  std::vector<int32_t> output;  // without the reduced dimensions
  int64_t count = 1;            // reduced elements per output
};

// Empty when an axis is out of range or the merged dimensions are too many for helx_reduction.
std::optional<Reduction> Reduce(const Tensor& input, const Tensor& axes) {
  const int32_t rank = static_cast<int32_t>(input.shape.size());
  std::vector<bool> reduced(rank, false);
  for (int32_t axis : Int32Values(axes)) {
    if (axis < -rank || axis >= rank) return std::nullopt;
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  Reduction r;
  int64_t stride = 1;
  // From the innermost dimension outwards, so that a neighbour already holds the smaller stride.
  for (int32_t d = rank - 1; d >= 0; --d) {
    std::vector<int64_t>& sizes = reduced[d] ? r.reduced_size : r.kept_size;
    std::vector<int64_t>& strides = reduced[d] ? r.reduced_stride : r.kept_stride;
    const bool neighbour = d + 1 < rank && reduced[d + 1] == reduced[d];
    if (neighbour) {
      sizes.front() *= input.shape[d];
    } else {
      sizes.insert(sizes.begin(), input.shape[d]);
      strides.insert(strides.begin(), stride);
    }
    if (reduced[d]) {
      r.count *= input.shape[d];
    } else {
      r.output.insert(r.output.begin(), input.shape[d]);
    }
    stride *= input.shape[d];
  }
  if (r.kept_size.size() > 4 || r.reduced_size.size() > 4) return std::nullopt;
  return r;
}

// The mean's factor 1/count joins the multiplier (reduce.h, QuantizedMeanOrSum).
FixedMultiplier WithDivision(FixedMultiplier fixed, int64_t count) {
  int32_t shift = 0;
  while ((count >> shift) > 1) ++shift;
  shift = std::min({shift, 32, 31 + fixed.shift});
  return {static_cast<int32_t>((static_cast<int64_t>(fixed.multiplier) << shift) / count),
          fixed.shift - shift};
}

double Ratio(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0))) / static_cast<double>(Scale(view.output()));
}

void Check(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsReducerOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& axes = *view.input(1);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "input", input, {TensorType::INT8}) ||
      !CheckType(preflight, "axes", axes, {TensorType::INT32}) ||
      !CheckType(preflight, "output", output, {TensorType::INT8}) ||
      !CheckConstant(preflight, "axes", axes) || !CheckPerTensor(preflight, "input", input) ||
      !CheckPerTensor(preflight, "output", output) ||
      !CheckMultiplier(preflight, "output", Ratio(view))) {
    return;
  }
  const std::optional<Reduction> r = Reduce(input, axes);
  if (!r) {
    preflight.Refuse("unsupported_shape", "an axis lies outside the input's " +
                                              std::to_string(input.shape.size()) +
                                              " dimensions, or more than 4 separate ones alternate");
    return;
  }
  // keep_dims leaves a 1 for each reduced dimension; the elements are the same.
  std::vector<int32_t> squeezed = output.shape;
  std::vector<int32_t> expected = r->output;
  std::erase(squeezed, 1);
  std::erase(expected, 1);
  if (squeezed != expected) {
    preflight.Refuse("malformed_model", "output " + model::TensorText(output) +
                                            " does not have the kept dimensions of " +
                                            model::TensorText(input));
  }
}

Lowering Lower(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Reduction r = *Reduce(*view.input(0), *view.input(1));
  const FixedMultiplier fixed = WithDivision(*QuantizeMultiplier(Ratio(view)), r.count);
  Lowering lowering;
  lowering.function = "helx_mean_s8";
  lowering.params_type = "helx_mean_s8_params";
  lowering.params = {
      Field("shape", "{" + Field("kept_rank", static_cast<int64_t>(r.kept_size.size())) + ", " +
                         ArrayField("kept_size", r.kept_size) + ", " +
                         ArrayField("kept_stride", r.kept_stride) + ", " +
                         Field("reduced_rank", static_cast<int64_t>(r.reduced_size.size())) + ", " +
                         ArrayField("reduced_size", r.reduced_size) + ", " +
                         ArrayField("reduced_stride", r.reduced_stride) + "}"),
      Field("sum_offset", WrapToInt32(-ZeroPoint(*view.input(0)) * r.count)),
      Field("multiplier", fixed.multiplier),
      Field("shift", fixed.shift),
      Field("output_zero_point", ZeroPoint(view.output())),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

const OperatorEntry kMean = {model::BuiltinOperator::MEAN, 3,
                             "int8 → int8, constant axes, any dimensions", Check, Lower};

}  // namespace helx::engine
