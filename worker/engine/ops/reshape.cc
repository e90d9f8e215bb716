// RESHAPE: the same bytes under another shape.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

void Check(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "output", output, {input.type})) return;
  if (view.input(1) != nullptr && !CheckConstant(preflight, "shape", *view.input(1))) return;
  // The converter has resolved the shape operand into the output's shape; only the count can still disagree.
  if (model::ElementCount(input) != model::ElementCount(output)) {
    preflight.Refuse("malformed_model", model::TensorText(input) + " and " +
                                            model::TensorText(output) +
                                            " differ in their number of elements");
  }
}

Lowering Lower(const LowerContext& context) {
  const OperatorView& view = context.view;
  Lowering lowering;
  lowering.function = "helx_copy";
  lowering.params_type = "helx_copy_params";
  lowering.params = {Field("bytes", model::ByteSize(view.output()))};
  lowering.arguments = {Argument::Tensor(view.input_number(0)),
                        Argument::Tensor(view.output_number(0))};
  lowering.aliases = {{Alias::Kind::kView, view.output_number(0), view.input_number(0)}};
  return lowering;
}

}  // namespace

const OperatorEntry kReshape = {model::BuiltinOperator::RESHAPE, 1,
                                "any type of fixed size, constant shape; costs nothing unless the "
                                "input is a constant",
                                Check, Lower};

}  // namespace helx::engine
