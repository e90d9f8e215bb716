// IEEE 754 arithmetic on integers, for the multipliers of tflite_int8/1
// (docs/integer-operators.md, section 13.6). Only positive values appear, and every binary64 result
// lies far inside the normal range, so an unbounded exponent loses nothing there.
#ifndef HELX_CORE_OPS_LOWER_BINARY_FLOAT_H_
#define HELX_CORE_OPS_LOWER_BINARY_FLOAT_H_

#include <cstdint>
#include <optional>

namespace helx::ops {

// mantissa * 2^exponent; mantissa < 2^53, 0 for zero.
struct Real {
  uint64_t mantissa = 0;
  int exponent = 0;
};

// True for the bits of a finite, normal, positive binary32.
bool IsPositiveNormal(uint32_t bits);
// REQUIRES: IsPositiveNormal(bits).
Real FromBinary32(uint32_t bits);

// value * 2^power, exact.
Real Scaled(Real value, int power);
// The larger value.
Real Larger(Real a, Real b);
// a * b rounded to binary64 (exact for two binary32 values).
Real Multiply64(Real a, Real b);
// a / b rounded to binary64, to nearest, ties to even; b is not zero.
Real Divide64(Real a, Real b);
// The product rounded to binary32, subnormals and zero included; empty when it overflows.
std::optional<Real> Multiply32(Real a, Real b);
// a / b rounded to binary32; empty when it overflows. REQUIRES: the quotient is normal.
std::optional<Real> Divide32(Real a, Real b);
// Rounded to an integer, half away from zero, at most `limit`.
int64_t RoundToInteger(Real value, int64_t limit);

// QuantizeMultiplier of section 13.6: value ~ q * 2^(e - 31).
struct QuantizedMultiplier {
  int64_t q = 0;
  int e = 0;
};
QuantizedMultiplier QuantizeMultiplier(Real value, bool single_rounding);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_LOWER_BINARY_FLOAT_H_
