#include "worker/engine/ops/common.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace helx::engine {

std::string Field(std::string_view name, int64_t value) {
  return "." + std::string(name) + " = " + std::to_string(value);
}

std::string Field(std::string_view name, const std::string& expression) {
  return "." + std::string(name) + " = " + expression;
}

std::string FloatField(std::string_view name, float value) {
  char text[64];
  std::snprintf(text, sizeof text, "%af", static_cast<double>(value));
  return Field(name, std::string(text));
}

std::string ArrayField(std::string_view name, const std::vector<int64_t>& values) {
  std::string text = "{";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(values[i]);
  }
  return Field(name, values.empty() ? "{0}" : text + "}");
}

std::string Describe(const Preflight& preflight, std::string_view role, const Tensor& tensor) {
  const auto number = &tensor - preflight.view().graph().tensors.data();
  return std::string(role) + " (tensor " + std::to_string(number) +
         (tensor.name.empty() ? "" : ", " + tensor.name) + ") " + model::TensorText(tensor);
}

bool CheckArity(Preflight& preflight, size_t least, size_t most, size_t outputs) {
  const OperatorView& view = preflight.view();
  if (view.input_count() < least || view.input_count() > most) {
    return preflight.Refuse(
        "malformed_model", std::to_string(view.input_count()) + " inputs; " +
                               std::to_string(least) +
                               (most > least ? " to " + std::to_string(most) : "") + " are needed");
  }
  if (view.output_count() != outputs) {
    return preflight.Refuse("malformed_model", std::to_string(view.output_count()) + " outputs; " +
                                                   std::to_string(outputs) + " are needed");
  }
  for (size_t i = 0; i < least; ++i) {
    if (view.input(i) == nullptr) {
      return preflight.Refuse("malformed_model", "input " + std::to_string(i) +
                                                     " is absent (-1), but the operator needs it");
    }
  }
  return true;
}

bool CheckType(Preflight& preflight, std::string_view role, const Tensor& tensor,
               std::initializer_list<TensorType> allowed) {
  std::string names;
  for (TensorType type : allowed) {
    if (type == tensor.type) return true;
    names += (names.empty() ? "" : ", ") + std::string(model::TensorTypeName(type));
  }
  return preflight.Refuse("unsupported_dtype", Describe(preflight, role, tensor) +
                                                   " is not supported; " + names + " is");
}

bool CheckRank(Preflight& preflight, std::string_view role, const Tensor& tensor, size_t rank) {
  if (tensor.shape.size() == rank) return true;
  return preflight.Refuse("unsupported_shape", Describe(preflight, role, tensor) +
                                                   " must have rank " + std::to_string(rank));
}

bool CheckShape(Preflight& preflight, std::string_view role, const Tensor& tensor,
                const std::vector<int32_t>& expected) {
  if (tensor.shape == expected) return true;
  Tensor wanted;
  wanted.type = tensor.type;
  wanted.shape = expected;
  return preflight.Refuse("malformed_model", Describe(preflight, role, tensor) + " must be " +
                                                 model::TensorText(wanted));
}

bool CheckConstant(Preflight& preflight, std::string_view role, const Tensor& tensor) {
  if (tensor.is_constant) return true;
  return preflight.Refuse("unsupported_tensor",
                          Describe(preflight, role, tensor) + " must be a constant of the model");
}

bool CheckPerTensor(Preflight& preflight, std::string_view role, const Tensor& tensor) {
  if (tensor.quantization.scale.size() == 1) return true;
  return preflight.Refuse(
      "unsupported_quantization",
      Describe(preflight, role, tensor) + (tensor.quantization.present()
                                               ? " is quantised per channel; one scale is allowed"
                                               : " has no quantisation parameters"));
}

bool CheckSameQuantization(Preflight& preflight, const Tensor& input, const Tensor& output) {
  // The difference that TFLite's kernels still take for equal.
  const float difference = Scale(input) - Scale(output);
  if (difference <= 1e-6f && difference >= -1e-6f && ZeroPoint(input) == ZeroPoint(output)) {
    return true;
  }
  return preflight.Refuse("unsupported_quantization",
                          "input and output must have the same scale and zero point");
}

bool CheckActivation(Preflight& preflight, tflite::ActivationFunctionType activation,
                     const Tensor& output) {
  if (ActivationRange(activation, output)) return true;
  return preflight.Refuse(
      "unsupported_activation",
      "fused activation " + std::to_string(static_cast<int>(activation)) +
          " cannot be expressed in the output's integers; NONE, RELU, RELU_N1_TO_1 and RELU6 "
          "over a scale that fits are allowed");
}

bool CheckMultiplier(Preflight& preflight, std::string_view role, double real) {
  if (QuantizeMultiplier(real)) return true;
  return preflight.Refuse("unsupported_quantization",
                          std::string(role) + ": the ratio of scales " + std::to_string(real) +
                              " is beyond 2^30, the largest that 32-bit arithmetic can apply");
}

std::optional<std::vector<int64_t>> ConstantIntegers(Preflight& preflight, std::string_view role,
                                                     const Tensor* tensor) {
  if (tensor == nullptr) {
    preflight.Refuse("malformed_model", std::string(role) + " is absent (-1)");
    return std::nullopt;
  }
  if (!CheckType(preflight, role, *tensor,
                 {TensorType::INT8, TensorType::INT16, TensorType::INT32, TensorType::INT64}) ||
      !CheckConstant(preflight, role, *tensor)) {
    return std::nullopt;
  }
  return IntegerValues(*tensor);
}

namespace {

template <typename T>
std::vector<T> TypedValues(const Tensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}

template <typename T>
std::vector<int64_t> Widened(const Tensor& tensor) {
  const std::vector<T> values = TypedValues<T>(tensor);
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace

std::vector<int64_t> IntegerValues(const Tensor& tensor) {
  switch (tensor.type) {
    case TensorType::INT8:
      return Widened<int8_t>(tensor);
    case TensorType::INT16:
      return Widened<int16_t>(tensor);
    case TensorType::INT32:
      return Widened<int32_t>(tensor);
    case TensorType::INT64:
      return TypedValues<int64_t>(tensor);
    default:
      return {};
  }
}

std::vector<float> FloatValues(const Tensor& tensor) { return TypedValues<float>(tensor); }

std::optional<size_t> ResolveAxis(int64_t axis, size_t rank) {
  const int64_t count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

int64_t ElementBytes(const Tensor& tensor) {
  const int bits = model::ElementBits(tensor.type).value_or(0);
  return bits % 8 == 0 ? bits / 8 : 0;
}

int64_t Product(const std::vector<int32_t>& shape, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= shape[d];
  return product;
}

std::vector<int64_t> DenseStrides(const std::vector<int32_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

std::optional<FloatRange> FloatActivationRange(tflite::ActivationFunctionType activation) {
  constexpr float kHighest = std::numeric_limits<float>::max();
  switch (activation) {
    case tflite::ActivationFunctionType::NONE:
      return FloatRange{-kHighest, kHighest};
    case tflite::ActivationFunctionType::RELU:
      return FloatRange{0.0f, kHighest};
    case tflite::ActivationFunctionType::RELU6:
      return FloatRange{0.0f, 6.0f};
    case tflite::ActivationFunctionType::RELU_N1_TO_1:
      return FloatRange{-1.0f, 1.0f};
    default:
      return std::nullopt;
  }
}

bool CheckFloatActivation(Preflight& preflight, tflite::ActivationFunctionType activation) {
  if (FloatActivationRange(activation)) return true;
  return preflight.Refuse("unsupported_activation",
                          "fused activation " + std::to_string(static_cast<int>(activation)) +
                              "; NONE, RELU, RELU_N1_TO_1 and RELU6 are allowed");
}

bool CheckLike(Preflight& preflight, const Tensor& input, const Tensor& output) {
  return CheckType(preflight, "output", output, {input.type}) &&
         CheckShape(preflight, "output", output, input.shape);
}

bool IsQuantized(const Tensor& tensor) {
  return tensor.quantization.present() && StorageRange(tensor.type).has_value();
}

Alias InPlace(const OperatorView& view, size_t input, size_t output) {
  return {Alias::Kind::kInPlace, view.output_number(output), view.input_number(input)};
}

float Scale(const Tensor& tensor) { return tensor.quantization.scale[0]; }

int32_t ZeroPoint(const Tensor& tensor) {
  return static_cast<int32_t>(tensor.quantization.zero_point[0]);
}

std::vector<int8_t> Int8Values(const Tensor& tensor) {
  std::vector<int8_t> values(tensor.data.size());
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size());
  return values;
}

std::vector<int32_t> Int32Values(const Tensor& tensor) {
  std::vector<int32_t> values(tensor.data.size() / sizeof(int32_t));
  if (!values.empty()) {
    std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(int32_t));
  }
  return values;
}

int32_t WrapToInt32(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
}

std::optional<Window> MakeWindow(tflite::Padding padding, int32_t input, int32_t taps,
                                 int32_t stride, int32_t dilation) {
  if (input < 1 || taps < 1 || stride < 1 || dilation < 1) return std::nullopt;
  const int64_t span = (static_cast<int64_t>(taps) - 1) * dilation + 1;
  int64_t output = 0;
  if (padding == tflite::Padding::SAME) {
    output = (static_cast<int64_t>(input) + stride - 1) / stride;
  } else if (padding == tflite::Padding::VALID) {
    output = (static_cast<int64_t>(input) - span + stride) / stride;
  }
  if (output < 1) return std::nullopt;
  const int64_t reach = (output - 1) * stride + span;
  if (reach > (int64_t{1} << 30)) return std::nullopt;
  const int64_t total = std::max<int64_t>(reach - input, 0);
  return Window{
      input, taps, stride, dilation, static_cast<int32_t>(output), static_cast<int32_t>(total / 2)};
}

double ScaleRatio(const OperatorView& view) {
  return static_cast<double>(Scale(*view.input(0))) / static_cast<double>(Scale(view.output()));
}

std::vector<int64_t> Widen(const std::vector<int32_t>& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

}  // namespace helx::engine
