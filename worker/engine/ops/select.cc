// SELECT and SELECT_V2: condition ? a : b.
#include <algorithm>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

constexpr size_t kSelectMaxRank = 6;

// The three operands walked over the output; neighbouring dimensions merged where all three allow
// it.
struct Walk {
  std::vector<int64_t> size;
  std::vector<int64_t> strides[3];
};

// SELECT's condition may be a vector that chooses whole rows.
std::vector<int32_t> ConditionShape(const OperatorView& view) {
  std::vector<int32_t> shape = view.input(0)->shape;
  const size_t rank = view.output().shape.size();
  if (view.op().code == model::BuiltinOperator::SELECT && shape.size() == 1 && rank > 1) {
    shape.resize(rank, 1);
  }
  return shape;
}

std::optional<Walk> WalkOf(const OperatorView& view) {
  const std::vector<int32_t>& output = view.output().shape;
  const std::vector<int32_t> shapes[3] = {ConditionShape(view), view.input(1)->shape,
                                          view.input(2)->shape};
  Walk walk;
  std::vector<int32_t> biggest(output.size(), 1);
  for (int i = 0; i < 3; ++i) {
    if (shapes[i].size() > output.size()) return std::nullopt;
    const std::vector<int64_t> dense = DenseStrides(shapes[i]);
    const size_t lead = output.size() - shapes[i].size();
    for (size_t d = 0; d < output.size(); ++d) {
      const int32_t size = d < lead ? 1 : shapes[i][d - lead];
      if (size != 1 && size != output[d]) return std::nullopt;
      biggest[d] = std::max(biggest[d], size);
      walk.strides[i].push_back(size == 1 ? 0 : dense[d - lead]);
    }
  }
  if (biggest != output) return std::nullopt;
  Walk merged;
  for (size_t d = 0; d < output.size(); ++d) {
    if (output[d] == 1) continue;
    bool joins = !merged.size.empty();
    for (int i = 0; i < 3 && joins; ++i) {
      joins = merged.strides[i].back() == walk.strides[i][d] * output[d];
    }
    if (joins) {
      merged.size.back() *= output[d];
    } else {
      merged.size.push_back(output[d]);
    }
    for (int i = 0; i < 3; ++i) {
      if (!joins) merged.strides[i].push_back(0);
      merged.strides[i].back() = walk.strides[i][d];
    }
  }
  if (merged.size.empty()) {
    merged.size = {1};
    for (auto& strides : merged.strides) strides = {0};
  }
  if (merged.size.size() > kSelectMaxRank) return std::nullopt;
  return merged;
}

void CheckSelect(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1) ||
      !CheckType(preflight, "condition", *view.input(0), {TensorType::BOOL}) ||
      !CheckType(preflight, "input 2", *view.input(2), {view.input(1)->type}) ||
      !CheckType(preflight, "output", view.output(), {view.input(1)->type})) {
    return;
  }
  if (!WalkOf(view)) {
    preflight.Refuse("unsupported_shape", "the operands do not broadcast to " +
                                              model::TensorText(view.output()) +
                                              " within 6 dimensions");
  }
}

Lowering LowerSelect(const LowerContext& context) {
  const OperatorView& view = context.view;
  const Walk walk = *WalkOf(view);
  Lowering lowering;
  lowering.function = "helx_select";
  lowering.params_type = "helx_select_params";
  lowering.params = {
      Field("rank", static_cast<int64_t>(walk.size.size())),
      ArrayField("size", walk.size),
      ArrayField("condition_stride", walk.strides[0]),
      ArrayField("a_stride", walk.strides[1]),
      ArrayField("b_stride", walk.strides[2]),
      Field("bytes", ElementBytes(view.output())),
  };
  lowering.arguments = {
      Argument::Tensor(view.input_number(0)), Argument::Tensor(view.input_number(1)),
      Argument::Tensor(view.input_number(2)), Argument::Tensor(view.output_number(0))};
  return lowering;
}

}  // namespace

const OperatorEntry kSelect = {model::BuiltinOperator::SELECT, 4,
                               "any type of whole bytes; a vector condition chooses rows",
                               CheckSelect, LowerSelect};
const OperatorEntry kSelectV2 = {model::BuiltinOperator::SELECT_V2, 2,
                                 "any type of whole bytes; broadcast within 6 dimensions",
                                 CheckSelect, LowerSelect};

}  // namespace helx::engine
