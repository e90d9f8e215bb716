// One operator as the engine sees it: the question "can this be built?" and the answer "this is the
// code".
//
// To add an operator: write its kernel in worker/kernels/, declare its parameter block in
// helx_kernels.h, write an OperatorEntry with a check and a lowering in worker/engine/ops/, and
// name it in ops/entries.h and registry.cc. Planning, code generation, the memory report and
// docs/operators.md follow from the entry. An operator may have several entries, one per family of
// dtypes.
#ifndef HELX_WORKER_ENGINE_OPERATOR_H_
#define HELX_WORKER_ENGINE_OPERATOR_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"
#include "worker/engine/constants.h"
#include "worker/engine/engine.h"
#include "worker/engine/resources.h"
#include "worker/target/board.h"

namespace helx::engine {

// An operator together with its tensors.
class OperatorView {
 public:
  OperatorView(const model::Model& model, size_t subgraph, size_t index,
               const Resources* resources = nullptr)
      : model_(&model), subgraph_(subgraph), index_(index), resources_(resources) {}

  const model::Model& model() const { return *model_; }
  const model::Subgraph& graph() const { return model_->subgraphs[subgraph_]; }
  const model::Operator& op() const { return graph().operators[index_]; }
  size_t subgraph() const { return subgraph_; }
  size_t index() const { return index_; }

  size_t input_count() const { return op().inputs.size(); }
  size_t output_count() const { return op().outputs.size(); }
  // Tensor numbers; -1 for an absent input.
  int32_t input_number(size_t i) const { return i < input_count() ? op().inputs[i] : -1; }
  int32_t output_number(size_t i) const { return op().outputs[i]; }
  // nullptr when the optional input is absent.
  const model::Tensor* input(size_t i) const {
    return input_number(i) < 0 ? nullptr : &graph().tensors[input_number(i)];
  }
  const model::Tensor& output(size_t i = 0) const { return graph().tensors[output_number(i)]; }
  // The resource that a tensor of this subgraph stands for, or nullptr.
  const Resource* resource(int32_t tensor) const {
    return resources_ == nullptr ? nullptr : resources_->Find(subgraph_, tensor);
  }

 private:
  const model::Model* model_;
  size_t subgraph_;
  size_t index_;
  const Resources* resources_;
};

// Collects what stands against building an operator. A check may go on after a refusal, as long as
// it touches nothing that the refusal was about.
class Preflight {
 public:
  Preflight(const OperatorView& view, std::vector<Violation>* violations)
      : view_(view), violations_(violations) {}

  const OperatorView& view() const { return view_; }
  bool ok() const { return ok_; }
  // Records the violation; returns false, so that a check can end with it.
  bool Refuse(std::string code, std::string message);

 private:
  const OperatorView& view_;
  std::vector<Violation>* violations_;
  bool ok_ = true;
};

// "tensor 7 (conv1/kernel)", for messages.
std::string TensorSubject(const model::Subgraph& graph, int32_t number);

// An argument of a kernel call.
struct Argument {
  enum class Kind {
    kTensor,    // by tensor number
    kScratch,   // `offset` bytes into the operator's scratch memory
    kState,     // `offset` bytes into the operator's own state, which outlives invocations
    kResource,  // the bytes of the resource that a tensor stands for
  };
  Kind kind = Kind::kTensor;
  int32_t tensor = -1;
  int64_t offset = 0;
  static Argument Tensor(int32_t number) { return {Kind::kTensor, number, 0}; }
  static Argument Scratch(int64_t offset = 0) { return {Kind::kScratch, -1, offset}; }
  static Argument State(int64_t offset = 0) { return {Kind::kState, -1, offset}; }
  static Argument OfResource(int32_t number) { return {Kind::kResource, number, 0}; }
};

// One call of a kernel.
struct Call {
  std::string function;             // "helx_conv_s8"
  std::string params_type;          // "helx_conv_s8_params"; empty: the call has no parameter block
  std::vector<std::string> params;  // designated initialisers, ".in_h = 49"
  std::vector<Argument> arguments;  // after the parameter block
  // The kernel returns whether it could go on (0: it could not); its operator ends the invocation
  // otherwise.
  bool may_fail = false;
};

// An output that may, or does, lie where an input lies.
struct Alias {
  enum class Kind {
    kView,     // the output is the input's bytes; when both can share storage, no code is needed at
               // all
    kInPlace,  // the kernel may overwrite the input, if nobody needs it afterwards
  };
  Kind kind = Kind::kInPlace;
  int32_t output = 0;  // tensor number
  int32_t input = 0;   // tensor number
};

// Operators that run other subgraphs. `arguments` of the lowering are the operator's inputs then.
enum class Control {
  kNone,
  kIf,        // callees: then, else
  kWhile,     // callees: condition, body
  kCallOnce,  // callees: the subgraph; the first 4 bytes of state say whether it ran
};

// What one operator becomes: a call, and possibly more after it; without a function, nothing.
struct Lowering : Call {
  std::vector<Call> then;
  int64_t scratch_bytes = 0;  // alive during this operator only
  int64_t state_bytes = 0;    // kept between invocations, initially 0
  std::vector<Alias> aliases;
  int64_t macs = 0;  // multiply-accumulates of the definition, padding taps included
  Control control = Control::kNone;
  std::vector<size_t> callees;  // subgraph numbers
};

// What a lowering may draw on.
struct LowerContext {
  const OperatorView& view;
  const target::Board& board;
  ConstantPool* constants;

  // The C expression of a constant in the weights section: "(const int8_t*)(helx_weights + 64)".
  template <typename T>
  std::string ConstantArray(std::string_view c_type, const std::vector<T>& values) const {
    return ConstantAt(c_type, constants->AddArray(values));
  }
  std::string ConstantBytes(std::string_view c_type, std::span<const uint8_t> bytes) const {
    return ConstantAt(c_type, constants->Add(bytes));
  }
  static std::string ConstantAt(std::string_view c_type, int64_t offset);
};

struct OperatorEntry {
  model::BuiltinOperator code;
  int32_t max_version;       // of the operator in the model: a later one may mean something else
  std::string_view support;  // for docs/operators.md: dtypes, quantisation and limits, one line
  // Refuses through `preflight` whatever `lower` cannot do. Tensors are never sparse, never
  // strings, never empty here.
  void (*check)(Preflight& preflight);
  // REQUIRES: `check` passed.
  Lowering (*lower)(const LowerContext& context);
  // Where an operator has several entries, the first that takes it is asked; nullptr takes
  // everything.
  bool (*takes)(const OperatorView& view) = nullptr;
  std::string_view custom_name = {};  // of a CUSTOM operator
  bool takes_resources = false;       // tensors may stand for resources
};

// The entry that an operator is checked and lowered by, or nullptr.
const OperatorEntry* FindOperator(const OperatorView& view);
// All entries, by operator number.
std::vector<const OperatorEntry*> AllOperators();

// "operator 7 (GATHER_ND)"; operators of other subgraphs than the primary one begin with "subgraph
// 2, ".
std::string OperatorSubject(const OperatorView& view);

// Everything `entry->check` may rely on, then `entry->check` itself.
void CheckOperator(const OperatorView& view, std::vector<Violation>* violations);

// The text of docs/operators.md.
std::string OperatorsMarkdown();

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPERATOR_H_
