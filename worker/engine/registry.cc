#include <algorithm>

#include "worker/engine/operator.h"
#include "worker/engine/ops/entries.h"

namespace helx::engine {
namespace {

// Entries of one operator in the order in which they are asked; those that take everything come
// last.
const OperatorEntry* const kEntries[] = {
    &kAbs,
    &kAdd,
    &kArgMax,
    &kArgMin,
    &kAssignVariable,
    &kAtan2,
    &kAveragePool2d,
    &kBatchMatmul,
    &kBatchToSpace,
    &kBitwiseXor,
    &kBroadcastTo,
    &kCallOnce,
    &kCast,
    &kCeil,
    &kConcatenation,
    &kConv2dFloat,
    &kConv2dHybrid,
    &kConv2dInt16,
    &kConv2dUint8,
    &kCos,
    &kCumsum,
    &kDepthToSpace,
    &kDepthwiseConv2dFloat,
    &kDepthwiseConv2dHybrid,
    &kDepthwiseConv2dInt16,
    &kDepthwiseConv2dUint8,
    &kDequantize,
    &kDiv,
    &kDynamicUpdateSlice,
    &kElu,
    &kEmbeddingLookup,
    &kEqual,
    &kExp,
    &kExpandDims,
    &kFill,
    &kFloor,
    &kFloorDiv,
    &kFloorMod,
    &kFullyConnectedFloat,
    &kFullyConnectedHybrid,
    &kFullyConnectedInt16,
    &kFullyConnectedUint8,
    &kGather,
    &kGatherNd,
    &kGelu,
    &kGreater,
    &kGreaterEqual,
    &kHardSwish,
    &kIf,
    &kL2Normalization,
    &kL2Pool2d,
    &kLeakyRelu,
    &kLess,
    &kLessEqual,
    &kLog,
    &kLogSoftmax,
    &kLogicalAnd,
    &kLogicalNot,
    &kLogicalOr,
    &kLogistic,
    &kLstm,
    &kLstmFloat,
    &kMaxPool2d,
    &kMaximum,
    &kMean,
    &kMinimum,
    &kMirrorPad,
    &kMul,
    &kNeg,
    &kNotEqual,
    &kOneHot,
    &kPack,
    &kPad,
    &kPadV2,
    &kPow,
    &kPrelu,
    &kQuantize,
    &kReadVariable,
    &kReduceAll,
    &kReduceAny,
    &kReduceMax,
    &kReduceMin,
    &kReduceProd,
    &kRelu,
    &kRelu0To1,
    &kRelu6,
    &kReluN1To1,
    &kReshape,
    &kResizeBilinear,
    &kResizeNearest,
    &kReverse,
    &kReverseSequence,
    &kRightShift,
    &kRound,
    &kRsqrt,
    &kScatterNd,
    &kSelect,
    &kSelectV2,
    &kSequenceLstm,
    &kSequenceLstmFloat,
    &kSign,
    &kSignalAutoScale,
    &kSignalEnergy,
    &kSignalFilterBank,
    &kSignalLog,
    &kSignalPcan,
    &kSignalRfft,
    &kSignalSpectralSubtraction,
    &kSignalSquareRoot,
    &kSignalWindow,
    &kSin,
    &kSlice,
    &kSoftmax,
    &kSpaceToBatch,
    &kSpaceToDepth,
    &kSplit,
    &kSplitV,
    &kSqrt,
    &kSquare,
    &kSquaredDifference,
    &kSqueeze,
    &kStridedSlice,
    &kSub,
    &kSum,
    &kSvdf,
    &kSvdfFloat,
    &kTanh,
    &kTile,
    &kTranspose,
    &kTransposeConvFloat,
    &kTransposeConvInt16,
    &kTransposeConvInt8,
    &kUnpack,
    &kVarHandle,
    &kWhile,
    &kZerosLike,
    &kConv2d,
    &kDepthwiseConv2d,
    &kFullyConnected,
};

// What no entry has to think about: sparse, string and empty tensors.
void CheckTensor(Preflight& preflight, int32_t number, bool takes_resources) {
  const model::Tensor& tensor = preflight.view().graph().tensors[number];
  const std::string subject = TensorSubject(preflight.view().graph(), number);
  if (tensor.is_sparse) {
    preflight.Refuse("unsupported_tensor", subject + " is sparse; only dense tensors can be built");
  }
  if (takes_resources && tensor.type == model::TensorType::RESOURCE) return;
  if (!model::ElementBits(tensor.type)) {
    preflight.Refuse("unsupported_dtype", subject + " is of type " +
                                              std::string(model::TensorTypeName(tensor.type)) +
                                              ", which no kernel takes");
  }
  if (model::ElementBits(tensor.type).value_or(8) % 8 != 0) {
    preflight.Refuse("unsupported_dtype",
                     subject + " is of type " + std::string(model::TensorTypeName(tensor.type)) +
                         "; packed types are only allowed for constants of 4 bits");
  }
  if (model::ElementCount(tensor) == 0 && !tensor.is_constant) {
    preflight.Refuse("unsupported_shape", subject + " is " + model::TensorText(tensor) +
                                              "; every dimension must be at least 1");
  }
}

bool Names(const OperatorEntry& entry, const model::Operator& op) {
  return entry.code == op.code &&
         (op.code != model::BuiltinOperator::CUSTOM || entry.custom_name == op.custom_name);
}

// What the operator's entries take, for a refusal; empty when there is none.
std::string SupportOf(const model::Operator& op) {
  std::string text;
  for (const OperatorEntry* entry : kEntries) {
    if (Names(*entry, op)) text += (text.empty() ? "" : "; ") + std::string(entry->support);
  }
  return text;
}

// "float16, int8 → float32".
std::string OperandTypes(const OperatorView& view) {
  std::string text;
  for (size_t i = 0; i < view.input_count(); ++i) {
    if (view.input(i) == nullptr) continue;
    text += (text.empty() ? "" : ", ") + std::string(model::TensorTypeName(view.input(i)->type));
  }
  text += " → ";
  for (size_t i = 0; i < view.output_count(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(model::TensorTypeName(view.output(i).type));
  }
  return text;
}

}  // namespace

const OperatorEntry* FindOperator(const OperatorView& view) {
  for (const OperatorEntry* entry : kEntries) {
    if (Names(*entry, view.op()) && (entry->takes == nullptr || entry->takes(view))) return entry;
  }
  return nullptr;
}

std::vector<const OperatorEntry*> AllOperators() {
  std::vector<const OperatorEntry*> entries(std::begin(kEntries), std::end(kEntries));
  std::stable_sort(
      entries.begin(), entries.end(), [](const OperatorEntry* a, const OperatorEntry* b) {
        return a->code != b->code ? a->code < b->code : a->custom_name < b->custom_name;
      });
  return entries;
}

std::string OperatorSubject(const OperatorView& view) {
  return (view.subgraph() == 0 ? "" : "subgraph " + std::to_string(view.subgraph()) + ", ") +
         "operator " + std::to_string(view.index()) + " (" + model::OperatorText(view.op()) + ")";
}

bool Preflight::Refuse(std::string code, std::string message) {
  ok_ = false;
  violations_->push_back({std::move(code), OperatorSubject(view_), std::move(message)});
  return false;
}

std::string LowerContext::ConstantAt(std::string_view c_type, int64_t offset) {
  return "(const " + std::string(c_type) + "*)(helx_weights + " + std::to_string(offset) + ")";
}

void CheckOperator(const OperatorView& view, std::vector<Violation>* violations) {
  Preflight preflight(view, violations);
  const model::Operator& op = view.op();
  const OperatorEntry* entry = FindOperator(view);
  if (entry == nullptr) {
    const std::string known = SupportOf(op);
    preflight.Refuse("unsupported_operator",
                     known.empty() ? "the builtin engine has no kernel for it; docs/operators.md "
                                     "lists those it has"
                                   : OperandTypes(view) + " is not supported; these are: " + known);
    return;
  }
  if (op.version < 1 || op.version > entry->max_version) {
    preflight.Refuse("unsupported_operator", "version " + std::to_string(op.version) +
                                                 " is not known; versions 1 to " +
                                                 std::to_string(entry->max_version) + " are");
  }
  for (int32_t number : op.inputs) {
    if (number >= 0) CheckTensor(preflight, number, entry->takes_resources);
  }
  for (int32_t number : op.outputs) CheckTensor(preflight, number, entry->takes_resources);
  if (preflight.ok()) entry->check(preflight);
}

std::string TensorSubject(const model::Subgraph& graph, int32_t number) {
  const std::string& name = graph.tensors[number].name;
  return "tensor " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")");
}

namespace {

// How kernels of an entry are written for the cores: with Helium (corstone-300), with the DSP
// extension (mps2-m33, mps2-m7, mps2-m4), in portable C (mps2-m3).
struct Variants {
  bool helium, dsp;
};

Variants VariantsOf(const OperatorEntry* entry) {
  for (const OperatorEntry* both :
       {&kConv2d, &kDepthwiseConv2d, &kFullyConnected, &kAdd, &kSvdf, &kSequenceLstm, &kLstm}) {
    if (entry == both) return {true, true};
  }
  return {entry == &kAveragePool2d, false};
}

}  // namespace

std::string OperatorsMarkdown() {
  std::string text =
      "# Operators of the builtin engine\n\n"
      "Generated from the operator registry (`worker/engine/ops`). A model that needs anything "
      "else is refused when it is\n"
      "frozen, with the operator's index and the reason. Every platform runs every row, with the "
      "same integers. The last columns\n"
      "say which code runs: *Helium* or *DSP*, kernels of its own for the int8 layers (ADD of "
      "equal "
      "shapes, averages over int8,\n"
      "SVDF and LSTM also with int16 state or activations); *C*, portable kernels.\n\n"
      "| operator | versions | dtypes and quantisation | corstone-300 | mps2-m33, -m7, -m4 | "
      "mps2-m3 "
      "|\n|---|---|---|---|---|---|\n";
  for (const OperatorEntry* entry : AllOperators()) {
    const Variants variants = VariantsOf(entry);
    text += "| " +
            (entry->custom_name.empty() ? std::string(model::OperatorName(entry->code))
                                        : "CUSTOM " + std::string(entry->custom_name)) +
            " | 1–" + std::to_string(entry->max_version) + " | " + std::string(entry->support) +
            (variants.helium ? " | Helium" : " | C") + (variants.dsp ? " | DSP" : " | C") +
            " | C |\n";
  }
  return text;
}

}  // namespace helx::engine
