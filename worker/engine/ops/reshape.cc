// RESHAPE, EXPAND_DIMS, SQUEEZE: the same bytes under another shape.
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

void CheckReshape(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 1, 2, 1)) return;
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (!CheckType(preflight, "output", output, {input.type})) return;
  // The shape operand has been resolved into the output's shape; only the count can still disagree.
  if (model::ElementCount(input) != model::ElementCount(output)) {
    preflight.Refuse("malformed_model", model::TensorText(input) + " and " +
                                            model::TensorText(output) +
                                            " differ in their number of elements");
  }
}

Lowering LowerReshape(const LowerContext& context) {
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

#define HELX_VIEW(ENTRY, CODE, VERSION)                                                        \
  const OperatorEntry ENTRY = {model::BuiltinOperator::CODE, VERSION,                          \
                               "any type of whole bytes; costs nothing unless the input is a " \
                               "constant or a variable",                                       \
                               CheckReshape, LowerReshape};
HELX_VIEW(kReshape, RESHAPE, 2)
HELX_VIEW(kExpandDims, EXPAND_DIMS, 2)
HELX_VIEW(kSqueeze, SQUEEZE, 2)
#undef HELX_VIEW

}  // namespace helx::engine
