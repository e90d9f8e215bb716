// GATHER, GATHER_ND, SCATTER_ND, EMBEDDING_LOOKUP, REVERSE_SEQUENCE, ONE_HOT: positions that are known at run time only.
#include <algorithm>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

// "i16", "i32", "i64" of a tensor of indices.
std::string IndexSuffix(const Tensor& indices) {
  switch (indices.type) {
    case TensorType::INT16: return "i16";
    case TensorType::INT64: return "i64";
    default: return "i32";
  }
}

// Constants need no look at run time.
bool CheckIndices(Preflight& preflight, const Tensor& indices, int64_t limit) {
  if (!indices.is_constant) return true;
  for (int64_t index : IntegerValues(indices)) {
    if (index < 0 || index >= limit) {
      return preflight.Refuse("malformed_model", "index " + std::to_string(index) +
                                                     " lies outside [0, " + std::to_string(limit) +
                                                     ")");
    }
  }
  return true;
}

std::vector<int32_t> Join(const std::vector<int32_t>& a, size_t a_from, size_t a_to,
                          const std::vector<int32_t>& b, size_t b_from) {
  std::vector<int32_t> joined(a.begin() + static_cast<ptrdiff_t>(a_from),
                              a.begin() + static_cast<ptrdiff_t>(a_to));
  joined.insert(joined.end(), b.begin() + static_cast<ptrdiff_t>(b_from), b.end());
  return joined;
}

struct GatherAxes {
  size_t axis;
  size_t batch;
};

std::optional<GatherAxes> ReadAxes(const OperatorView& view) {
  const auto* options = view.op().options.AsGatherOptions();
  const size_t rank = view.input(0)->shape.size();
  const size_t indices_rank = view.input(1)->shape.size();
  const int64_t batch = options == nullptr ? 0 : options->batch_dims;
  const auto axis = ResolveAxis(options == nullptr ? 0 : options->axis, rank);
  const int64_t resolved = batch < 0 ? batch + static_cast<int64_t>(indices_rank) : batch;
  if (!axis || resolved < 0 || resolved > static_cast<int64_t>(*axis) ||
      resolved > static_cast<int64_t>(indices_rank)) {
    return std::nullopt;
  }
  return GatherAxes{*axis, static_cast<size_t>(resolved)};
}

void CheckGather(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1) ||
      OptionsOrDefault(preflight, view.op().options.AsGatherOptions()) == nullptr) {
    return;
  }
  const Tensor& input = *view.input(0);
  const Tensor& indices = *view.input(1);
  if (!CheckType(preflight, "output", view.output(), {input.type}) ||
      !CheckType(preflight, "indices", indices,
                 {TensorType::INT16, TensorType::INT32, TensorType::INT64})) {
    return;
  }
  const std::optional<GatherAxes> axes = ReadAxes(view);
  if (!axes) {
    preflight.Refuse("malformed_model", "axis or batch_dims lie outside the operands' ranks");
    return;
  }
  for (size_t d = 0; d < axes->batch; ++d) {
    if (indices.shape[d] != input.shape[d]) {
      preflight.Refuse("malformed_model", "input and indices differ in batch dimension " +
                                              std::to_string(d));
      return;
    }
  }
  std::vector<int32_t> expected =
      Join(input.shape, 0, axes->axis, indices.shape, axes->batch);
  expected.insert(expected.end(), input.shape.begin() + static_cast<ptrdiff_t>(axes->axis) + 1,
                  input.shape.end());
  if (CheckShape(preflight, "output", view.output(), expected)) {
    CheckIndices(preflight, indices, input.shape[axes->axis]);
  }
}

Lowering LowerGather(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& input = *view.input(0);
  const Tensor& indices = *view.input(1);
  const GatherAxes axes = *ReadAxes(view);
  Lowering lowering;
  lowering.function = "helx_gather_" + IndexSuffix(indices);
  lowering.params_type = "helx_gather_params";
  lowering.params = {
      Field("batches", Product(input.shape, 0, axes.batch)),
      Field("outer", Product(input.shape, axes.batch, axes.axis)),
      Field("axis", input.shape[axes.axis]),
      Field("indices", Product(indices.shape, axes.batch, indices.shape.size())),
      Field("run", Product(input.shape, axes.axis + 1, input.shape.size()) * ElementBytes(input)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.may_fail = true;
  return lowering;
}

// EMBEDDING_LOOKUP(ids, values) is GATHER(values, ids) along the first dimension.
void CheckEmbedding(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& ids = *view.input(0);
  const Tensor& values = *view.input(1);
  if (!CheckType(preflight, "ids", ids, {TensorType::INT32}) || !CheckRank(preflight, "ids", ids, 1) ||
      !CheckType(preflight, "output", view.output(), {values.type})) {
    return;
  }
  if (values.shape.size() < 2) {
    preflight.Refuse("malformed_model", "values must have at least 2 dimensions");
    return;
  }
  if (CheckShape(preflight, "output", view.output(), Join(ids.shape, 0, 1, values.shape, 1))) {
    CheckIndices(preflight, ids, values.shape[0]);
  }
}

Lowering LowerEmbedding(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& values = *view.input(1);
  Lowering lowering;
  lowering.function = "helx_gather_i32";
  lowering.params_type = "helx_gather_params";
  lowering.params = {
      Field("batches", 1),
      Field("outer", 1),
      Field("axis", values.shape[0]),
      Field("indices", view.input(0)->shape[0]),
      Field("run", Product(values.shape, 1, values.shape.size()) * ElementBytes(values)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.may_fail = true;
  return lowering;
}

// The parameter block of both ND operators: `whole` is the tensor that indices point into.
std::vector<std::string> NdParams(const Tensor& indices, const Tensor& whole) {
  const size_t depth = static_cast<size_t>(indices.shape.back());
  std::vector<int64_t> size, stride;
  const std::vector<int64_t> strides = DenseStrides(whole.shape);
  for (size_t d = 0; d < depth; ++d) {
    size.push_back(whole.shape[d]);
    stride.push_back(strides[d] * ElementBytes(whole));
  }
  return {
      Field("rows", model::ElementCount(indices) / indices.shape.back()),
      Field("depth", static_cast<int64_t>(depth)),
      Field("run", Product(whole.shape, depth, whole.shape.size()) * ElementBytes(whole)),
      ArrayField("size", size),
      ArrayField("stride", stride),
  };
}

bool CheckDepth(Preflight& preflight, const Tensor& indices, const Tensor& whole) {
  if (!indices.shape.empty() &&
      static_cast<size_t>(indices.shape.back()) <= whole.shape.size()) {
    return true;
  }
  return preflight.Refuse("malformed_model", "the rows of " + model::TensorText(indices) +
                                                 " do not point into " + model::TensorText(whole));
}

void CheckGatherNd(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& indices = *view.input(1);
  if (!CheckType(preflight, "output", view.output(), {input.type}) ||
      !CheckType(preflight, "indices", indices,
                 {TensorType::INT16, TensorType::INT32, TensorType::INT64}) ||
      !CheckDepth(preflight, indices, input)) {
    return;
  }
  CheckShape(preflight, "output", view.output(),
             Join(indices.shape, 0, indices.shape.size() - 1, input.shape,
                  static_cast<size_t>(indices.shape.back())));
}

Lowering LowerGatherNd(const LowerContext& context) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = "helx_gather_nd_" + IndexSuffix(*view.input(1));
  lowering.params_type = "helx_gather_nd_params";
  lowering.params = NdParams(*view.input(1), *view.input(0));
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.may_fail = true;
  return lowering;
}

void CheckScatterNd(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1)) return;
  const Tensor& indices = *view.input(0);
  const Tensor& updates = *view.input(1);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "indices", indices, {TensorType::INT32}) ||
      !CheckType(preflight, "updates", updates,
                 {TensorType::FLOAT32, TensorType::INT32, TensorType::INT8, TensorType::UINT8}) ||
      !CheckType(preflight, "output", output, {updates.type}) ||
      !CheckDepth(preflight, indices, output)) {
    return;
  }
  CheckShape(preflight, "updates", updates,
             Join(indices.shape, 0, indices.shape.size() - 1, output.shape,
                  static_cast<size_t>(indices.shape.back())));
}

Lowering LowerScatterNd(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Tensor& updates = *view.input(1);
  Call scatter;
  scatter.function = updates.type == TensorType::FLOAT32 ? "helx_scatter_nd_f32"
                     : updates.type == TensorType::INT32 ? "helx_scatter_nd_i32"
                                                         : "helx_scatter_nd_8";
  scatter.params_type = "helx_gather_nd_params";
  scatter.params = NdParams(*view.input(0), view.output());
  scatter.arguments = {Argument::Tensor(view.input_number(0)),
                       Argument::Tensor(view.input_number(1)),
                       Argument::Tensor(view.output_number(0))};
  scatter.may_fail = true;
  return InOrder({FillCall(view.output(), 0, Argument::Tensor(view.output_number(0))), scatter});
}

void CheckReverseSequence(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const auto* options = CheckOptions(preflight, view.op().options.AsReverseSequenceOptions());
  if (options == nullptr) return;
  const Tensor& input = *view.input(0);
  const Tensor& lengths = *view.input(1);
  if (!CheckLike(preflight, input, view.output()) ||
      !CheckType(preflight, "lengths", lengths, {TensorType::INT32, TensorType::INT64})) {
    return;
  }
  const auto sequence = ResolveAxis(options->seq_dim, input.shape.size());
  const auto batch = ResolveAxis(options->batch_dim, input.shape.size());
  if (!sequence || !batch || *sequence == *batch ||
      model::ElementCount(lengths) != input.shape[*batch]) {
    preflight.Refuse("malformed_model",
                     "seq_dim and batch_dim must be two dimensions of the input, with one length "
                     "per batch");
  }
}

Lowering LowerReverseSequence(const LowerContext& context) {
  const OperatorView& view = context.view;
  const auto* options = view.op().options.AsReverseSequenceOptions();
  const Tensor& input = *view.input(0);
  const size_t rank = input.shape.size();
  const size_t sequence = *ResolveAxis(options->seq_dim, rank);
  const size_t batch = *ResolveAxis(options->batch_dim, rank);
  const size_t first = std::min(sequence, batch), second = std::max(sequence, batch);
  // Strides in entries of the innermost run, that is of the dimensions behind both.
  const int64_t second_stride = 1;
  const int64_t middle_stride = input.shape[second];
  const int64_t middles = Product(input.shape, first + 1, second);
  const int64_t first_stride = middle_stride * middles;
  const int64_t other_stride = first_stride * input.shape[first];
  const bool batch_first = batch < sequence;
  Lowering lowering;
  lowering.function = "helx_reverse_sequence_" + IndexSuffix(*view.input(1));
  lowering.params_type = "helx_reverse_sequence_params";
  lowering.params = {
      Field("batches", input.shape[batch]),
      Field("batch_stride", batch_first ? first_stride : second_stride),
      Field("entries", input.shape[sequence]),
      Field("entry_stride", batch_first ? second_stride : first_stride),
      Field("others", Product(input.shape, 0, first)),
      Field("other_stride", other_stride),
      Field("middles", middles),
      Field("middle_stride", middle_stride),
      Field("run", Product(input.shape, second + 1, rank) * ElementBytes(input)),
  };
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.input_number(1)),
                        Argument::Tensor(view.output_number(0))};
  lowering.may_fail = true;
  return lowering;
}

// ONE_HOT(indices, depth, on, off).
std::optional<size_t> OneHotAxis(const OperatorView& view) {
  const auto* options = view.op().options.AsOneHotOptions();
  return ResolveAxis(options == nullptr ? -1 : options->axis, view.output().shape.size());
}

void CheckOneHot(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 4, 4, 1)) return;
  const Tensor& indices = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "indices", indices, {TensorType::INT32, TensorType::INT64}) ||
      !CheckType(preflight, "on value", *view.input(2), {output.type}) ||
      !CheckType(preflight, "off value", *view.input(3), {output.type})) {
    return;
  }
  const std::optional<size_t> axis = OneHotAxis(view);
  std::vector<int32_t> expected = indices.shape;
  if (axis && *axis <= expected.size()) {
    expected.insert(expected.begin() + static_cast<ptrdiff_t>(*axis), output.shape[*axis]);
  }
  if (!axis || expected != output.shape || model::ElementCount(*view.input(2)) != 1 ||
      model::ElementCount(*view.input(3)) != 1) {
    preflight.Refuse("malformed_model", model::TensorText(indices) + " does not spread into " +
                                            model::TensorText(output));
  }
}

Lowering LowerOneHot(const LowerContext& context) {
  const OperatorView& view = context.view;
  const std::vector<int32_t>& shape = view.output().shape;
  const size_t axis = *OneHotAxis(view);
  Lowering lowering;
  lowering.function = "helx_one_hot_" + IndexSuffix(*view.input(0));
  lowering.params_type = "helx_one_hot_params";
  lowering.params = {
      Field("outer", Product(shape, 0, axis)),
      Field("depth", shape[axis]),
      Field("inner", Product(shape, axis + 1, shape.size())),
      Field("bytes", ElementBytes(view.output())),
  };
  lowering.arguments = {
      Argument::Tensor(view.input_number(0)), Argument::Tensor(view.input_number(2)),
      Argument::Tensor(view.input_number(3)), Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

const OperatorEntry kGather = {model::BuiltinOperator::GATHER, 7,
                               "any type of whole bytes; int16, int32, int64 indices; an index out "
                               "of range ends the invocation",
                               CheckGather, LowerGather};
const OperatorEntry kGatherNd = {model::BuiltinOperator::GATHER_ND, 5,
                                 "any type of whole bytes; int16, int32, int64 indices; an index "
                                 "out of range ends the invocation",
                                 CheckGatherNd, LowerGatherNd};
const OperatorEntry kScatterNd = {model::BuiltinOperator::SCATTER_ND, 1,
                                  "float32, int32, int8, uint8; int32 indices; output shape known",
                                  CheckScatterNd, LowerScatterNd};
const OperatorEntry kEmbeddingLookup = {model::BuiltinOperator::EMBEDDING_LOOKUP, 4,
                                        "any type of whole bytes; int32 ids", CheckEmbedding,
                                        LowerEmbedding};
const OperatorEntry kReverseSequence = {model::BuiltinOperator::REVERSE_SEQUENCE, 1,
                                        "any type of whole bytes; int32, int64 lengths",
                                        CheckReverseSequence, LowerReverseSequence};
const OperatorEntry kOneHot = {model::BuiltinOperator::ONE_HOT, 1,
                               "any type of whole bytes; int32, int64 indices; output shape known",
                               CheckOneHot, LowerOneHot};

}  // namespace helx::engine
