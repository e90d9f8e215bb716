#include "core/ops/lower/binary_float.h"

#include "core/ops/integers.h"

namespace helx::ops {
namespace {

constexpr int kPrecision64 = 53;
constexpr int kPrecision32 = 24;
// A binary32 is a multiple of 2^-149 and below 2^128.
constexpr int kLeastExponent32 = -149;
constexpr int kOverflow32 = 128;

int BitLength(u128 v) {
  int length = 0;
  for (; v != 0; v >>= 1) ++length;
  return length;
}

// v * 2^exponent (plus something positive and smaller than one unit of v, if `sticky`) to
// `precision` bits, but never finer than 2^least; to nearest, ties to even.
Real Round(u128 v, int exponent, bool sticky, int precision, int least) {
  int drop = BitLength(v) - precision;
  if (exponent + drop < least) drop = least - exponent;
  if (drop <= 0) return {static_cast<uint64_t>(v), exponent};
  if (drop > 127) return {0, 0};
  const u128 half = static_cast<u128>(1) << (drop - 1);
  const u128 rest = v & (2 * half - 1);
  u128 kept = v >> drop;
  if (rest > half || (rest == half && (sticky || (kept & 1) != 0))) ++kept;
  return {static_cast<uint64_t>(kept), exponent + drop};
}

constexpr int kUnbounded = -100000;

struct Quotient {
  u128 value;
  int exponent;
  bool sticky;
};

// a / b to at least 60 bits.
Quotient Divide(Real a, Real b) {
  const u128 numerator = static_cast<u128>(a.mantissa) << 64;
  const u128 divisor = static_cast<u128>(b.mantissa) << (kPrecision64 - BitLength(b.mantissa));
  // Bring the numerator to 117 bits and the divisor to 53: the quotient has 64 or 65 bits.
  const int up = 64 + kPrecision64 - BitLength(numerator);
  const u128 dividend = numerator << up;
  return {dividend / divisor,
          a.exponent - 64 - up - (b.exponent - (kPrecision64 - BitLength(b.mantissa))),
          dividend % divisor != 0};
}

std::optional<Real> IfFinite32(Real value) {
  if (BitLength(value.mantissa) + value.exponent > kOverflow32) return std::nullopt;
  return value;
}

}  // namespace

bool IsPositiveNormal(uint32_t bits) {
  const uint32_t exponent = bits >> 23;
  return exponent >= 1 && exponent <= 254;
}

Real FromBinary32(uint32_t bits) {
  return {(bits & 0x7FFFFF) | 0x800000, static_cast<int>(bits >> 23) - 150};
}

Real Scaled(Real value, int power) { return {value.mantissa, value.exponent + power}; }

Real Larger(Real a, Real b) {
  const int length_a = BitLength(a.mantissa) + a.exponent;
  const int length_b = BitLength(b.mantissa) + b.exponent;
  if (length_a != length_b) return length_a > length_b ? a : b;
  // Equal leading bits: compare the mantissas aligned to the same length.
  const uint64_t aligned_a = a.mantissa << (kPrecision64 - BitLength(a.mantissa));
  const uint64_t aligned_b = b.mantissa << (kPrecision64 - BitLength(b.mantissa));
  return aligned_a >= aligned_b ? a : b;
}

Real Multiply64(Real a, Real b) {
  return Round(static_cast<u128>(a.mantissa) * b.mantissa, a.exponent + b.exponent, false,
               kPrecision64, kUnbounded);
}

Real Divide64(Real a, Real b) {
  if (a.mantissa == 0) return {};
  const Quotient q = Divide(a, b);
  return Round(q.value, q.exponent, q.sticky, kPrecision64, kUnbounded);
}

std::optional<Real> Multiply32(Real a, Real b) {
  return IfFinite32(Round(static_cast<u128>(a.mantissa) * b.mantissa, a.exponent + b.exponent,
                          false, kPrecision32, kLeastExponent32));
}

std::optional<Real> Divide32(Real a, Real b) {
  const Quotient q = Divide(a, b);
  return IfFinite32(Round(q.value, q.exponent, q.sticky, kPrecision32, kLeastExponent32));
}

int64_t RoundToInteger(Real value, int64_t limit) {
  if (value.mantissa == 0) return 0;
  if (BitLength(value.mantissa) + value.exponent > 62) return limit;
  if (value.exponent < -62) return 0;
  const i128 scaled = value.exponent >= 0
                          ? static_cast<i128>(value.mantissa) << value.exponent
                          : RoundShift(Rounding::kHalfAway, value.mantissa, -value.exponent);
  return scaled > limit ? limit : static_cast<int64_t>(scaled);
}

QuantizedMultiplier QuantizeMultiplier(Real value, bool single_rounding) {
  if (value.mantissa == 0) return {0, 0};
  // value = g * 2^e with g = significand / 2^length in [1/2, 1).
  const int length = BitLength(value.mantissa);
  int e = value.exponent + length;
  const i128 significand = static_cast<i128>(value.mantissa) << (kPrecision64 - length);
  int64_t q = static_cast<int64_t>(RoundShift(Rounding::kHalfAway, significand, kPrecision64 - 31));
  if (q == int64_t{1} << 31) {
    q /= 2;
    ++e;
  }
  if (e < -31) return {0, 0};
  if (single_rounding && e > 30) return {kI32Max, 30};
  return {q, e};
}

}  // namespace helx::ops
