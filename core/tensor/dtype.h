// Storage types of tensors: little-endian, row-major, no padding.
#ifndef HELX_CORE_TENSOR_DTYPE_H_
#define HELX_CORE_TENSOR_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace helx {

// float16 and float32 are IEEE 754 binary16 and binary32; bool is one byte, 0 or 1.
enum class DType : uint8_t { kBool, kInt8, kUint8, kInt16, kInt32, kInt64, kFloat16, kFloat32 };

// "bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32".
std::string_view DTypeName(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);

// Bytes per element.
size_t DTypeSize(DType dtype);

inline constexpr std::string_view kDTypeNames =
    "bool, int8, uint8, int16, int32, int64, float16, float32";

}  // namespace helx

#endif  // HELX_CORE_TENSOR_DTYPE_H_
