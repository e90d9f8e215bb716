#include "core/model/model.h"

namespace helx::model {

std::string_view OperatorName(BuiltinOperator code) {
  const char* name = tflite::EnumNameBuiltinOperator(code);
  return name[0] == '\0' ? "CUSTOM" : name;
}

std::string OperatorText(const Operator& op) {
  std::string text(OperatorName(op.code));
  if (op.code == BuiltinOperator::CUSTOM && !op.custom_name.empty()) text += " " + op.custom_name;
  return text;
}

std::string_view TensorTypeName(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32: return "float32";
    case TensorType::FLOAT16: return "float16";
    case TensorType::INT32: return "int32";
    case TensorType::UINT8: return "uint8";
    case TensorType::INT64: return "int64";
    case TensorType::STRING: return "string";
    case TensorType::BOOL: return "bool";
    case TensorType::INT16: return "int16";
    case TensorType::COMPLEX64: return "complex64";
    case TensorType::INT8: return "int8";
    case TensorType::FLOAT64: return "float64";
    case TensorType::COMPLEX128: return "complex128";
    case TensorType::UINT64: return "uint64";
    case TensorType::RESOURCE: return "resource";
    case TensorType::VARIANT: return "variant";
    case TensorType::UINT32: return "uint32";
    case TensorType::UINT16: return "uint16";
    case TensorType::INT4: return "int4";
    case TensorType::BFLOAT16: return "bfloat16";
    case TensorType::INT2: return "int2";
    case TensorType::UINT4: return "uint4";
    case TensorType::FLOAT8_E4M3FN: return "float8_e4m3fn";
    case TensorType::FLOAT8_E5M2: return "float8_e5m2";
  }
  return "unknown";
}

std::optional<DType> StorageType(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32: return DType::kFloat32;
    case TensorType::FLOAT16: return DType::kFloat16;
    case TensorType::INT32: return DType::kInt32;
    case TensorType::UINT8: return DType::kUint8;
    case TensorType::INT64: return DType::kInt64;
    case TensorType::BOOL: return DType::kBool;
    case TensorType::INT16: return DType::kInt16;
    case TensorType::INT8: return DType::kInt8;
    default: return std::nullopt;
  }
}

std::optional<int> ElementBits(TensorType type) {
  switch (type) {
    case TensorType::COMPLEX128: return 128;
    case TensorType::INT64:
    case TensorType::UINT64:
    case TensorType::FLOAT64:
    case TensorType::COMPLEX64: return 64;
    case TensorType::FLOAT32:
    case TensorType::INT32:
    case TensorType::UINT32: return 32;
    case TensorType::FLOAT16:
    case TensorType::BFLOAT16:
    case TensorType::INT16:
    case TensorType::UINT16: return 16;
    case TensorType::INT8:
    case TensorType::UINT8:
    case TensorType::BOOL:
    case TensorType::FLOAT8_E4M3FN:
    case TensorType::FLOAT8_E5M2: return 8;
    case TensorType::INT4:
    case TensorType::UINT4: return 4;
    case TensorType::INT2: return 2;
    case TensorType::STRING:
    case TensorType::RESOURCE:
    case TensorType::VARIANT: return std::nullopt;
  }
  return std::nullopt;
}

int64_t ElementCount(const Tensor& tensor) {
  int64_t count = 1;
  for (int32_t dimension : tensor.shape) count *= dimension;
  return count;
}

int64_t ByteSize(const Tensor& tensor) {
  return (ElementCount(tensor) * ElementBits(tensor.type).value_or(0) + 7) / 8;
}

std::string TensorText(const Tensor& tensor) {
  std::string text(TensorTypeName(tensor.type));
  text += "[";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(tensor.shape[i]);
  }
  return text + "]";
}

}  // namespace helx::model
