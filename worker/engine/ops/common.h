// What the checks and lowerings of several operators share.
#ifndef HELX_WORKER_ENGINE_OPS_COMMON_H_
#define HELX_WORKER_ENGINE_OPS_COMMON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/engine/fixed_point.h"
#include "worker/engine/operator.h"

namespace helx::engine {

using model::Tensor;
using model::TensorType;

// ".name = value".
std::string Field(std::string_view name, int64_t value);
std::string Field(std::string_view name, const std::string& expression);
// A float that reads back as itself: hexadecimal, "0x1.8p+1f".
std::string FloatField(std::string_view name, float value);
std::string ArrayField(std::string_view name, const std::vector<int64_t>& values);

// "input 1 (conv1/kernel) int8[8, 3, 3, 1]", for messages.
std::string Describe(const Preflight& preflight, std::string_view role, const Tensor& tensor);

// The checks below refuse through `preflight` and return whether all is well.

// Between `least` and `most` inputs, the first `least` of them present, and `outputs` outputs.
bool CheckArity(Preflight& preflight, size_t least, size_t most, size_t outputs);
bool CheckType(Preflight& preflight, std::string_view role, const Tensor& tensor,
               std::initializer_list<TensorType> allowed);
bool CheckRank(Preflight& preflight, std::string_view role, const Tensor& tensor, size_t rank);
bool CheckShape(Preflight& preflight, std::string_view role, const Tensor& tensor,
                const std::vector<int32_t>& expected);
bool CheckConstant(Preflight& preflight, std::string_view role, const Tensor& tensor);
// Quantised, with one scale.
bool CheckPerTensor(Preflight& preflight, std::string_view role, const Tensor& tensor);
bool CheckSameQuantization(Preflight& preflight, const Tensor& input, const Tensor& output);
// The fused activation is a range that the output's integers can express.
bool CheckActivation(Preflight& preflight, tflite::ActivationFunctionType activation,
                     const Tensor& output);
// QuantizeMultiplier succeeds.
bool CheckMultiplier(Preflight& preflight, std::string_view role, double real);

// The options of type T, or nullptr after a refusal.
template <typename T>
const T* CheckOptions(Preflight& preflight, const T* options) {
  if (options == nullptr) {
    preflight.Refuse("malformed_model", "its options are missing or of another operator");
  }
  return options;
}

// The options of type T; a default T when the operator has none at all; nullptr after a refusal.
template <typename T>
const T* OptionsOrDefault(Preflight& preflight, const T* options) {
  static const T kDefault;
  if (options != nullptr) return options;
  if (preflight.view().op().options.type == tflite::BuiltinOptions::NONE) return &kDefault;
  preflight.Refuse("malformed_model", "its options are of another operator");
  return nullptr;
}

// For `takes` of an OperatorEntry.
template <TensorType kType>
bool FirstInputIs(const OperatorView& view) {
  return view.input(0) != nullptr && view.input(0)->type == kType;
}

// A constant of an integer type, or nullopt after a refusal.
std::optional<std::vector<int64_t>> ConstantIntegers(Preflight& preflight, std::string_view role,
                                                     const Tensor* tensor);
// Elements of a constant of type int8, int16, int32 or int64.
std::vector<int64_t> IntegerValues(const Tensor& tensor);
// A shape's sizes as int64, for products and offsets.
std::vector<int64_t> Widen(const std::vector<int32_t>& shape);
std::vector<float> FloatValues(const Tensor& tensor);

// `axis` counted from the front, or nullopt when it lies outside the rank.
std::optional<size_t> ResolveAxis(int64_t axis, size_t rank);

// Bytes of an element; 0 for types that are packed or have no size.
int64_t ElementBytes(const Tensor& tensor);

// The product of dimensions [from, to).
int64_t Product(const std::vector<int32_t>& shape, size_t from, size_t to);
// Elements from one position to the next, per dimension of a dense tensor.
std::vector<int64_t> DenseStrides(const std::vector<int32_t>& shape);

struct FloatRange {
  float lowest;
  float highest;
};
// The range of a fused activation (CalculateActivationRange in kernel_util.h); empty for those that
// are not ranges.
std::optional<FloatRange> FloatActivationRange(tflite::ActivationFunctionType activation);
bool CheckFloatActivation(Preflight& preflight, tflite::ActivationFunctionType activation);

// Same type and shape as the input.
bool CheckLike(Preflight& preflight, const Tensor& input, const Tensor& output);
// Whether a tensor of this type carries quantised values.
bool IsQuantized(const Tensor& tensor);

// An output with one element per element of input `input`, which may therefore take its place.
Alias InPlace(const OperatorView& view, size_t input = 0, size_t output = 0);

float Scale(const Tensor& tensor);
// The first input's scale / the output's, in double.
double ScaleRatio(const OperatorView& view);
int32_t ZeroPoint(const Tensor& tensor);

// Elements of a constant tensor.
std::vector<int8_t> Int8Values(const Tensor& tensor);
std::vector<int32_t> Int32Values(const Tensor& tensor);

// Modulo 2^32, as the kernels compute.
int32_t WrapToInt32(int64_t value);

// A sliding window over one dimension.
struct Window {
  int32_t input;
  int32_t taps;
  int32_t stride;
  int32_t dilation;
  int32_t output;   // positions
  int32_t padding;  // before the first element
};

// Output size and padding for SAME or VALID (padding.h: ComputeOutSize, ComputePadding). Empty when
// no position exists, a parameter is below 1, or a position leaves 31 bits.
std::optional<Window> MakeWindow(tflite::Padding padding, int32_t input, int32_t taps,
                                 int32_t stride, int32_t dilation);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_COMMON_H_
