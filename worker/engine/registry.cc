#include <algorithm>

#include "worker/engine/operator.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

const OperatorEntry* const kEntries[] = {
    &kAdd,     &kAveragePool2d, &kConv2d, &kDepthwiseConv2d, &kDequantize, &kFullyConnected,
    &kReshape, &kSoftmax,       &kMean,   &kLogSoftmax,      &kQuantize,
};

std::string TensorSubject(const OperatorView& view, int32_t number) {
  const model::Tensor& tensor = view.graph().tensors[number];
  return "tensor " + std::to_string(number) + (tensor.name.empty() ? "" : " (" + tensor.name + ")");
}

// What no entry has to think about: sparse, string and empty tensors.
void CheckTensor(Preflight& preflight, int32_t number) {
  const model::Tensor& tensor = preflight.view().graph().tensors[number];
  const std::string subject = TensorSubject(preflight.view(), number);
  if (tensor.is_sparse) {
    preflight.Refuse("unsupported_tensor",
                     subject + " is sparse; only dense tensors can be built");
  }
  if (!model::ElementBits(tensor.type)) {
    preflight.Refuse("unsupported_dtype", subject + " is of type " +
                                              std::string(model::TensorTypeName(tensor.type)) +
                                              ", which no kernel takes");
  }
  if (model::ElementCount(tensor) == 0 && !tensor.is_constant) {
    preflight.Refuse("unsupported_shape", subject + " is " + model::TensorText(tensor) +
                                              "; every dimension must be at least 1");
  }
}

}  // namespace

const OperatorEntry* FindOperator(model::BuiltinOperator code) {
  for (const OperatorEntry* entry : kEntries) {
    if (entry->code == code) return entry;
  }
  return nullptr;
}

std::vector<const OperatorEntry*> AllOperators() {
  std::vector<const OperatorEntry*> entries(std::begin(kEntries), std::end(kEntries));
  std::sort(entries.begin(), entries.end(), [](const OperatorEntry* a, const OperatorEntry* b) {
    return a->code < b->code;
  });
  return entries;
}

bool Preflight::Refuse(std::string code, std::string message) {
  ok_ = false;
  violations_->push_back({std::move(code),
                          "operator " + std::to_string(view_.index()) + " (" +
                              model::OperatorText(view_.op()) + ")",
                          std::move(message)});
  return false;
}

std::string LowerContext::ConstantAt(std::string_view c_type, int64_t offset) {
  return "(const " + std::string(c_type) + "*)(helx_weights + " + std::to_string(offset) + ")";
}

void CheckOperator(const OperatorView& view, std::vector<Violation>* violations) {
  Preflight preflight(view, violations);
  const model::Operator& op = view.op();
  const OperatorEntry* entry = FindOperator(op.code);
  if (entry == nullptr) {
    preflight.Refuse("unsupported_operator",
                     "the builtin engine has no kernel for it; docs/operators.md lists those it has");
    return;
  }
  if (op.version < 1 || op.version > entry->max_version) {
    preflight.Refuse("unsupported_operator", "version " + std::to_string(op.version) +
                                                 " is not known; versions 1 to " +
                                                 std::to_string(entry->max_version) + " are");
  }
  for (int32_t number : op.inputs) {
    if (number >= 0) CheckTensor(preflight, number);
  }
  for (int32_t number : op.outputs) CheckTensor(preflight, number);
  if (preflight.ok()) entry->check(preflight);
}

std::string OperatorsMarkdown() {
  std::string text =
      "# Operators of the builtin engine\n\n"
      "Generated from the operator registry (`worker/engine/ops`). A model that needs anything else is refused when it is\n"
      "frozen, with the operator's index and the reason. Every platform runs every row, with the same integers.\n\n"
      "| operator | versions | dtypes and quantisation |\n|---|---|---|\n";
  for (const OperatorEntry* entry : AllOperators()) {
    text += "| " + std::string(model::OperatorName(entry->code)) + " | 1–" +
            std::to_string(entry->max_version) + " | " + std::string(entry->support) + " |\n";
  }
  return text;
}

target::Isa KernelIsa(const target::Board& board) {
#ifdef HELX_VARIANT_KERNELS
  return board.isa;
#else
  (void)board;
  return target::Isa::kPortable;
#endif
}

}  // namespace helx::engine
