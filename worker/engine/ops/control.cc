// Operators that run other subgraphs (IF, WHILE, CALL_ONCE) and resource variables (VAR_HANDLE, READ_VARIABLE,
// ASSIGN_VARIABLE).
#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

using model::Subgraph;

const Subgraph* CheckCallee(Preflight& preflight, const char* role, int32_t number) {
  const model::Model& model = preflight.view().model();
  if (number > 0 && static_cast<size_t>(number) < model.subgraphs.size()) {
    return &model.subgraphs[number];
  }
  preflight.Refuse("malformed_model", std::string(role) + " is subgraph " +
                                          std::to_string(number) + "; 1 to " +
                                          std::to_string(model.subgraphs.size() - 1) +
                                          " are allowed");
  return nullptr;
}

// The callee's tensors take what the operator's tensors hold.
bool CheckHandOver(Preflight& preflight, const std::string& role, const Tensor& own,
                   const Tensor& other) {
  if (own.type == other.type && own.shape == other.shape) return true;
  return preflight.Refuse("unsupported_shape", role + " is " + model::TensorText(other) +
                                                   " in the subgraph, but " +
                                                   model::TensorText(own) + " here");
}

// Inputs from `first` on, and all outputs, agree with the subgraph's.
bool CheckInterface(Preflight& preflight, const Subgraph& callee, size_t first) {
  const OperatorView& view = preflight.view();
  if (callee.inputs.size() + first != view.input_count() ||
      callee.outputs.size() != view.output_count()) {
    return preflight.Refuse("malformed_model",
                            "the subgraph has " + std::to_string(callee.inputs.size()) +
                                " inputs and " + std::to_string(callee.outputs.size()) +
                                " outputs; the operator hands over " +
                                std::to_string(view.input_count() - first) + " and takes " +
                                std::to_string(view.output_count()));
  }
  for (size_t i = 0; i < callee.inputs.size(); ++i) {
    if (!CheckHandOver(preflight, "input " + std::to_string(first + i), *view.input(first + i),
                       callee.tensors[callee.inputs[i]])) {
      return false;
    }
  }
  for (size_t o = 0; o < callee.outputs.size(); ++o) {
    if (!CheckHandOver(preflight, "output " + std::to_string(o), view.output(o),
                       callee.tensors[callee.outputs[o]])) {
      return false;
    }
  }
  return true;
}

bool CheckPresent(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  return CheckArity(preflight, view.input_count(), view.input_count(), view.output_count());
}

bool CheckFlag(Preflight& preflight, const char* role, const Tensor& tensor) {
  if (!CheckType(preflight, role, tensor, {TensorType::BOOL})) return false;
  if (model::ElementCount(tensor) == 1) return true;
  return preflight.Refuse("malformed_model", Describe(preflight, role, tensor) + " must be a single element");
}

void CheckIf(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const auto* options = CheckOptions(preflight, view.op().options.AsIfOptions());
  if (options == nullptr || !CheckPresent(preflight)) return;
  if (view.input_count() == 0) {
    preflight.Refuse("malformed_model", "the condition is absent");
    return;
  }
  const Subgraph* then = CheckCallee(preflight, "then", options->then_subgraph_index);
  const Subgraph* other = CheckCallee(preflight, "else", options->else_subgraph_index);
  if (then != nullptr && other != nullptr &&
      CheckFlag(preflight, "the condition", *view.input(0)) &&
      CheckInterface(preflight, *then, 1)) {
    CheckInterface(preflight, *other, 1);
  }
}

std::vector<Argument> AllInputs(const OperatorView& view) {
  std::vector<Argument> arguments;
  for (size_t i = 0; i < view.input_count(); ++i) {
    arguments.push_back(Argument::Tensor(view.input_number(i)));
  }
  return arguments;
}

Lowering LowerIf(const LowerContext& context) {
  const auto* options = context.view.op().options.AsIfOptions();
  Lowering lowering;
  lowering.control = Control::kIf;
  lowering.callees = {static_cast<size_t>(options->then_subgraph_index),
                      static_cast<size_t>(options->else_subgraph_index)};
  lowering.arguments = AllInputs(context.view);
  return lowering;
}

void CheckWhile(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const auto* options = CheckOptions(preflight, view.op().options.AsWhileOptions());
  if (options == nullptr || !CheckPresent(preflight)) return;
  const Subgraph* condition = CheckCallee(preflight, "condition", options->cond_subgraph_index);
  const Subgraph* body = CheckCallee(preflight, "body", options->body_subgraph_index);
  if (condition == nullptr || body == nullptr) return;
  if (view.input_count() != view.output_count() || !CheckInterface(preflight, *body, 0)) {
    if (preflight.ok()) {
      preflight.Refuse("malformed_model", "a loop has as many outputs as inputs");
    }
    return;
  }
  if (condition->inputs.size() != view.input_count() || condition->outputs.size() != 1) {
    preflight.Refuse("malformed_model",
                     "the condition must take what the body takes and give one value");
    return;
  }
  for (size_t i = 0; i < view.input_count(); ++i) {
    const std::string role = "loop variable " + std::to_string(i);
    if (!CheckHandOver(preflight, role, *view.input(i), view.output(i)) ||
        !CheckHandOver(preflight, role, *view.input(i),
                       condition->tensors[condition->inputs[i]])) {
      return;
    }
  }
  CheckFlag(preflight, "the condition", condition->tensors[condition->outputs[0]]);
}

Lowering LowerWhile(const LowerContext& context) {
  const OperatorView& view = context.view;
  const auto* options = view.op().options.AsWhileOptions();
  Lowering lowering;
  lowering.control = Control::kWhile;
  lowering.callees = {static_cast<size_t>(options->cond_subgraph_index),
                      static_cast<size_t>(options->body_subgraph_index)};
  lowering.arguments = AllInputs(view);
  for (size_t i = 0; i < view.input_count(); ++i) lowering.aliases.push_back(InPlace(view, i, i));
  return lowering;
}

void CheckCallOnce(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const auto* options = CheckOptions(preflight, view.op().options.AsCallOnceOptions());
  if (options == nullptr || !CheckArity(preflight, 0, 0, 0)) return;
  const Subgraph* callee = CheckCallee(preflight, "init", options->init_subgraph_index);
  if (callee != nullptr && !(callee->inputs.empty() && callee->outputs.empty())) {
    preflight.Refuse("malformed_model", "the subgraph must have no inputs and no outputs");
  }
}

Lowering LowerCallOnce(const LowerContext& context) {
  Lowering lowering;
  lowering.control = Control::kCallOnce;
  lowering.callees = {static_cast<size_t>(
      context.view.op().options.AsCallOnceOptions()->init_subgraph_index)};
  lowering.state_bytes = 4;
  return lowering;
}

void CheckVarHandle(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (CheckOptions(preflight, view.op().options.AsVarHandleOptions()) != nullptr &&
      CheckArity(preflight, 0, 0, 1)) {
    CheckType(preflight, "output", view.output(), {TensorType::RESOURCE});
  }
}

Lowering LowerVarHandle(const LowerContext&) { return {}; }

const Resource* CheckResource(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckType(preflight, "input 0", *view.input(0), {TensorType::RESOURCE})) return nullptr;
  const Resource* resource = view.resource(view.input_number(0));
  if (resource == nullptr) {
    preflight.Refuse("unsupported_tensor",
                     "input 0 does not stand for one and the same variable at every call");
    return nullptr;
  }
  if (resource->uneven) {
    preflight.Refuse("unsupported_shape",
                     "values of different sizes are kept in variable " + resource->name);
    return nullptr;
  }
  return resource;
}

// A value of whole bytes that is kept in a variable.
bool CheckValue(Preflight& preflight, const char* role, const Tensor& tensor) {
  if (ElementBytes(tensor) > 0) return true;
  return preflight.Refuse("unsupported_dtype",
                          Describe(preflight, role, tensor) + " cannot be kept in a variable");
}

void CheckRead(Preflight& preflight) {
  if (CheckArity(preflight, 1, 1, 1) && CheckResource(preflight) != nullptr) {
    CheckValue(preflight, "output", preflight.view().output());
  }
}

void CheckAssign(Preflight& preflight) {
  if (CheckArity(preflight, 2, 2, 0) && CheckResource(preflight) != nullptr) {
    CheckValue(preflight, "value", *preflight.view().input(1));
  }
}

Lowering CopyOf(int64_t bytes, Argument from, Argument to) {
  Lowering lowering;
  lowering.function = "helx_copy";
  lowering.params_type = "helx_copy_params";
  lowering.params = {Field("bytes", bytes)};
  lowering.arguments = {from, to};
  return lowering;
}

Lowering LowerRead(const LowerContext& context) {
  const OperatorView& view = context.view;
  return CopyOf(model::ByteSize(view.output()), Argument::OfResource(view.input_number(0)),
                Argument::Tensor(view.output_number(0)));
}

Lowering LowerAssign(const LowerContext& context) {
  const OperatorView& view = context.view;
  return CopyOf(model::ByteSize(*view.input(1)), Argument::Tensor(view.input_number(1)),
                Argument::OfResource(view.input_number(0)));
}

}  // namespace

using model::BuiltinOperator;
const OperatorEntry kIf = {BuiltinOperator::IF, 1, "subgraphs with the operator's shapes", CheckIf,
                           LowerIf, nullptr, {}, true};
const OperatorEntry kWhile = {BuiltinOperator::WHILE, 1, "loop variables of constant shape",
                              CheckWhile, LowerWhile, nullptr, {}, true};
const OperatorEntry kCallOnce = {BuiltinOperator::CALL_ONCE, 1,
                                 "runs at the first invocation after a reset", CheckCallOnce,
                                 LowerCallOnce, nullptr, {}, true};
const OperatorEntry kVarHandle = {BuiltinOperator::VAR_HANDLE, 1, "any container and name",
                                  CheckVarHandle, LowerVarHandle, nullptr, {}, true};
const OperatorEntry kReadVariable = {BuiltinOperator::READ_VARIABLE, 1,
                                     "any type of whole bytes, one size per variable", CheckRead,
                                     LowerRead, nullptr, {}, true};
const OperatorEntry kAssignVariable = {BuiltinOperator::ASSIGN_VARIABLE, 1,
                                       "any type of whole bytes, one size per variable",
                                       CheckAssign, LowerAssign, nullptr, {}, true};

}  // namespace helx::engine
