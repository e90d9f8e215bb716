// CAST, FILL and ZEROS_LIKE.
#include <algorithm>
#include <utility>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

std::string CastSuffix(TensorType type, bool target) {
  switch (type) {
    case TensorType::FLOAT32: return "f32";
    case TensorType::INT8: return "i8";
    case TensorType::UINT8: return "u8";
    case TensorType::BOOL: return target ? "bool" : "u8";
    case TensorType::INT16: return "i16";
    case TensorType::UINT16: return "u16";
    case TensorType::INT32: return "i32";
    case TensorType::UINT32: return "u32";
    case TensorType::INT64: return "i64";
    case TensorType::UINT64: return "u64";
    default: return "";
  }
}

void CheckCast(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 1, 1)) return;
  for (const auto& [role, tensor] : {std::pair<const char*, const Tensor*>{"input", view.input(0)},
                                     {"output", &view.output()}}) {
    if (!CheckType(preflight, role, *tensor,
                   {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::BOOL,
                    TensorType::INT16, TensorType::UINT16, TensorType::INT32, TensorType::UINT32,
                    TensorType::INT64, TensorType::UINT64})) {
      return;
    }
  }
  CheckShape(preflight, "output", view.output(), view.input(0)->shape);
}

Lowering LowerCast(const LowerContext& context) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = "helx_cast_" + CastSuffix(view.input(0)->type, false) + "_" +
                      CastSuffix(view.output().type, true);
  lowering.params_type = "helx_count_params";
  lowering.params = {Field("count", model::ElementCount(view.output()))};
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  if (ElementBytes(*view.input(0)) == ElementBytes(view.output())) {
    lowering.aliases = {InPlace(view)};
  }
  return lowering;
}

// FILL(dimensions, value): the dimensions have become the output's shape.
void CheckFill(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 2, 2, 1)) return;
  const Tensor& value = *view.input(1);
  if (!CheckType(preflight, "output", view.output(), {value.type})) return;
  if (model::ElementCount(value) != 1) {
    preflight.Refuse("malformed_model", "the value must be a single element");
    return;
  }
  const Tensor& dimensions = *view.input(0);
  if (!dimensions.is_constant) return;
  const std::vector<int64_t> sizes = IntegerValues(dimensions);
  if (!std::equal(sizes.begin(), sizes.end(), view.output().shape.begin(),
                  view.output().shape.end())) {
    preflight.Refuse("malformed_model",
                     "the dimensions are not those of " + model::TensorText(view.output()));
  }
}

Lowering LowerFill(const LowerContext& context) {
  const OperatorView& view = context.view;
  Call fill = FillCall(view.output(), 0, Argument::Tensor(view.output_number(0)));
  fill.function = "helx_fill_from";
  fill.arguments = {Argument::Tensor(view.input_number(1)),
                    Argument::Tensor(view.output_number(0))};
  return InOrder({fill});
}

void CheckZerosLike(Preflight& preflight) {
  if (CheckArity(preflight, 1, 1, 1)) {
    CheckLike(preflight, *preflight.view().input(0), preflight.view().output());
  }
}

Lowering LowerZerosLike(const LowerContext& context) {
  return InOrder({FillCall(context.view.output(), 0,
                           Argument::Tensor(context.view.output_number(0)))});
}

}  // namespace

const OperatorEntry kCast = {model::BuiltinOperator::CAST, 7,
                             "float32, bool, int8, uint8, int16, uint16, int32, uint32, int64, "
                             "uint64, each to each",
                             CheckCast, LowerCast};
const OperatorEntry kFill = {model::BuiltinOperator::FILL, 4,
                             "any type of whole bytes; output shape known", CheckFill, LowerFill};
const OperatorEntry kZerosLike = {model::BuiltinOperator::ZEROS_LIKE, 1, "any type of whole bytes",
                                  CheckZerosLike, LowerZerosLike};

}  // namespace helx::engine
