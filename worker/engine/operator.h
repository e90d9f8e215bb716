// One operator as the engine sees it: the question "can this be built?" and the answer "this is the code".
//
// To add an operator: write its kernel in worker/kernels/, declare its parameter block in helx_kernels.h, write an
// OperatorEntry with a check and a lowering in worker/engine/ops/, and name it in ops/entries.h and registry.cc. Planning,
// code generation, the memory report and docs/operators.md follow from the entry.
#ifndef HELX_WORKER_ENGINE_OPERATOR_H_
#define HELX_WORKER_ENGINE_OPERATOR_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"
#include "worker/engine/constants.h"
#include "worker/engine/engine.h"
#include "worker/target/board.h"

namespace helx::engine {

// An operator together with its tensors.
class OperatorView {
 public:
  OperatorView(const model::Model& model, size_t subgraph, size_t index)
      : model_(&model), subgraph_(subgraph), index_(index) {}

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

 private:
  const model::Model* model_;
  size_t subgraph_;
  size_t index_;
};

// Collects what stands against building an operator. A check may go on after a refusal, as long as it touches nothing that
// the refusal was about.
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

// An argument of a kernel call.
struct Argument {
  enum class Kind { kTensor, kScratch };
  Kind kind = Kind::kTensor;
  int32_t tensor = -1;
  static Argument Tensor(int32_t number) { return {Kind::kTensor, number}; }
  static Argument Scratch() { return {Kind::kScratch, -1}; }
};

// An output that may, or does, lie where an input lies.
struct Alias {
  enum class Kind {
    kView,     // the output is the input's bytes; when both can share storage, no code is needed at all
    kInPlace,  // the kernel may overwrite the input, if nobody needs it afterwards
  };
  Kind kind = Kind::kInPlace;
  int32_t output = 0;  // tensor number
  int32_t input = 0;   // tensor number
};

// What one operator becomes.
struct Lowering {
  std::string function;     // "helx_conv_s8"
  std::string params_type;  // "helx_conv_s8_params"; empty: the call has no parameter block
  std::vector<std::string> params;  // designated initialisers, ".in_h = 49"
  std::vector<Argument> arguments;  // after the parameter block
  int64_t scratch_bytes = 0;        // alive during this operator only
  std::vector<Alias> aliases;
  int64_t macs = 0;  // multiply-accumulates of the definition, padding taps included
};

// Which kernels a board's code calls: those of its core with the CMake option HELX_VARIANT_KERNELS, else the portable ones.
target::Isa KernelIsa(const target::Board& board);

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
  // Refuses through `preflight` whatever `lower` cannot do. Tensors are never sparse, never strings, never empty here.
  void (*check)(Preflight& preflight);
  // REQUIRES: `check` passed.
  Lowering (*lower)(const LowerContext& context);
};

// The entry of an operator, or nullptr.
const OperatorEntry* FindOperator(model::BuiltinOperator code);
// All entries, by operator number.
std::vector<const OperatorEntry*> AllOperators();

// Everything `entry->check` may rely on, then `entry->check` itself.
void CheckOperator(const OperatorView& view, std::vector<Violation>* violations);

// The text of docs/operators.md.
std::string OperatorsMarkdown();

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPERATOR_H_
