// IEEE 754 binary16 -> binary32, exactly: every binary16 value is a binary32 value.
#ifndef HELX_CORE_TENSOR_FLOAT16_H_
#define HELX_CORE_TENSOR_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace helx {

inline float Float16ToFloat(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {
    // Zero or subnormal: fraction x 2^-24.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  // An all-ones exponent (infinity, NaN) stays all ones; any other moves from bias 15 to bias 127.
  const uint32_t moved = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | moved << 23 | fraction << 13);
}

}  // namespace helx

#endif  // HELX_CORE_TENSOR_FLOAT16_H_
