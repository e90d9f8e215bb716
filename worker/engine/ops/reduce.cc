// MEAN, SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY and REDUCE_ALL.
#include <algorithm>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::BuiltinOperator;

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
  for (int64_t axis : IntegerValues(axes)) {
    const std::optional<size_t> resolved = ResolveAxis(axis, input.shape.size());
    if (!resolved) return std::nullopt;
    reduced[*resolved] = true;
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

// MEAN and SUM of 8 and 16 bits rescale their sums.
bool IsRescaledReduction(const OperatorView& view) {
  return (view.op().code == BuiltinOperator::MEAN || view.op().code == BuiltinOperator::SUM) &&
         StorageRange(view.input(0)->type).has_value();
}

bool CheckInput(Preflight& preflight, const Tensor& input) {
  using T = TensorType;
  switch (preflight.view().op().code) {
    case BuiltinOperator::MEAN:
    case BuiltinOperator::SUM:
      return CheckType(preflight, "input", input,
                       {T::FLOAT32, T::INT8, T::UINT8, T::INT16, T::INT32, T::INT64});
    case BuiltinOperator::REDUCE_PROD:
      return CheckType(preflight, "input", input, {T::FLOAT32, T::INT32, T::INT64});
    case BuiltinOperator::REDUCE_ANY:
    case BuiltinOperator::REDUCE_ALL:
      return CheckType(preflight, "input", input, {T::BOOL});
    default:
      return CheckType(preflight, "input", input,
                       {T::FLOAT32, T::INT8, T::UINT8, T::INT16, T::INT32, T::INT64});
  }
}

void CheckReduce(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const auto* options = OptionsOrDefault(preflight, view.op().options.AsReducerOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckInput(preflight, input) || !CheckType(preflight, "output", output, {input.type}) ||
      !ConstantIntegers(preflight, "axes", view.input(1))) {
    return;
  }
  if (IsRescaledReduction(view) &&
      (!CheckPerTensor(preflight, "input", input) || !CheckPerTensor(preflight, "output", output) ||
       !CheckMultiplier(preflight, "output", ScaleRatio(view)))) {
    return;
  }
  const std::optional<Reduction> r = Reduce(input, *view.input(1));
  if (!r) {
    preflight.Refuse("unsupported_shape",
                     "an axis lies outside the input's " + std::to_string(input.shape.size()) +
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

std::string ReductionSuffix(TensorType type, bool rescaled) {
  switch (type) {
    case TensorType::FLOAT32:
      return "f32";
    case TensorType::INT8:
      return rescaled ? "s8" : "i8";
    case TensorType::UINT8:
      return "u8";
    case TensorType::INT16:
      return rescaled ? "s16" : "i16";
    case TensorType::INT32:
      return "i32";
    default:
      return "i64";
  }
}

std::string ReduceKernelName(const OperatorView& view) {
  const std::string suffix = ReductionSuffix(view.input(0)->type, IsRescaledReduction(view));
  switch (view.op().code) {
    case BuiltinOperator::MEAN:
    case BuiltinOperator::SUM:
      return (IsRescaledReduction(view) ? "helx_mean_" : "helx_sum_") + suffix;
    case BuiltinOperator::REDUCE_PROD:
      return "helx_product_" + suffix;
    case BuiltinOperator::REDUCE_MAX:
      return "helx_reduce_max_" + suffix;
    case BuiltinOperator::REDUCE_MIN:
      return "helx_reduce_min_" + suffix;
    case BuiltinOperator::REDUCE_ANY:
      return "helx_reduce_any";
    default:
      return "helx_reduce_all";
  }
}

Lowering LowerReduce(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Reduction r = *Reduce(*view.input(0), *view.input(1));
  const bool mean = view.op().code == BuiltinOperator::MEAN;
  Lowering lowering;
  lowering.function = ReduceKernelName(view);
  lowering.params = {
      Field("shape", "{" + Field("kept_rank", static_cast<int64_t>(r.kept_size.size())) + ", " +
                         ArrayField("kept_size", r.kept_size) + ", " +
                         ArrayField("kept_stride", r.kept_stride) + ", " +
                         Field("reduced_rank", static_cast<int64_t>(r.reduced_size.size())) + ", " +
                         ArrayField("reduced_size", r.reduced_size) + ", " +
                         ArrayField("reduced_stride", r.reduced_stride) + "}"),
  };
  if (IsRescaledReduction(view)) {
    FixedMultiplier fixed = *QuantizeMultiplier(ScaleRatio(view));
    if (mean) fixed = WithDivision(fixed, r.count);
    lowering.params_type = "helx_mean_params";
    lowering.params.insert(
        lowering.params.end(),
        {
            Field("sum_offset", WrapToInt32(-ZeroPoint(*view.input(0)) * r.count)),
            Field("multiplier", fixed.multiplier),
            Field("shift", fixed.shift),
            Field("output_zero_point", ZeroPoint(view.output())),
        });
  } else {
    lowering.params_type = "helx_reduce_params";
    lowering.params.push_back(Field("divisor", mean ? r.count : 1));
  }
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

#define HELX_REDUCTION(ENTRY, CODE, VERSION, SUPPORT) \
  const OperatorEntry ENTRY = {BuiltinOperator::CODE, VERSION, SUPPORT, CheckReduce, LowerReduce};
HELX_REDUCTION(kMean, MEAN, 4,
               "float32, int32, int64; int8, uint8, int16 per tensor; constant axes")
HELX_REDUCTION(kSum, SUM, 3, "float32, int32, int64; int8, uint8, int16 per tensor; constant axes")
HELX_REDUCTION(kReduceProd, REDUCE_PROD, 2, "float32, int32, int64; constant axes")
HELX_REDUCTION(kReduceMax, REDUCE_MAX, 3,
               "float32, int8, uint8, int16, int32, int64 of one scale; constant axes")
HELX_REDUCTION(kReduceMin, REDUCE_MIN, 3,
               "float32, int8, uint8, int16, int32, int64 of one scale; constant axes")
HELX_REDUCTION(kReduceAny, REDUCE_ANY, 2, "bool; constant axes")
HELX_REDUCTION(kReduceAll, REDUCE_ALL, 2, "bool; constant axes")
#undef HELX_REDUCTION

}  // namespace helx::engine
