// Inner loops for processors with a multiply-and-add of 16-bit pairs (AVX2). Callers check
// HavePairs() first and keep a plain loop for other processors; every value is exact, so both give
// the same integers.
#ifndef HELX_CORE_OPS_SIMD_H_
#define HELX_CORE_OPS_SIMD_H_

#include <cstdint>

#include "core/ops/integers.h"

namespace helx::ops {

// Whether this processor runs the functions below that are said to need it.
bool HavePairs();

// Whether every element is in [lo, hi]. On any processor.
bool AllWithin(const int64_t* x, int64_t count, int64_t lo, int64_t hi);
bool AllWithin(const int32_t* x, int64_t count, int64_t lo, int64_t hi);
bool AllWithin(const int16_t* x, int64_t count, int64_t lo, int64_t hi);
bool AllWithin(const int8_t* x, int64_t count, int64_t lo, int64_t hi);

// Positions that SumPairs computes at a time, and the most output channels at once.
inline constexpr int64_t kPairBlock = 16;
inline constexpr int kPairRows = 6;

// Two 16-bit values in one word, `a` in the low half.
inline uint32_t PackPair(int64_t a, int64_t b) {
  return (static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b) << 16;
}

// y[i] = x[i], which fits int16. Needs HavePairs(), as what follows.
void ConvertTo16(const int64_t* x, int64_t count, int16_t* y);
void ConvertTo16(const int32_t* x, int64_t count, int16_t* y);
void ConvertTo16(const int16_t* x, int64_t count, int16_t* y);
void ConvertTo16(const int8_t* x, int64_t count, int16_t* y);

// y[i] = x[i], which fits y's type.
void Narrow(const int64_t* x, int64_t count, int32_t* y);
void Narrow(const int64_t* x, int64_t count, int16_t* y);
void Narrow(const int64_t* x, int64_t count, int8_t* y);

// pairs[i] = PackPair(a[i * stride], b[i * stride]).
void PackPairs(const int16_t* a, const int16_t* b, int64_t stride, int64_t count, uint32_t* pairs);

// What SumPairs adds up for one position: the pairs at these offsets from it.
struct PairTaps {
  const int64_t* offsets;
  int64_t count;
};

// sums[r * pitch + i] = bias[r] + the sum over t of the dot product of the pairs
// weights[t * rows + r] and block[taps.offsets[t] + i % kPairBlock], where `block` is pairs + step *
// (i / kPairBlock); for r < rows <= kPairRows and i < blocks * kPairBlock. Every partial sum must
// fit int32.
void SumPairs(const uint32_t* pairs, int64_t step, const PairTaps& taps, const uint32_t* weights,
              const int32_t* bias, int rows, int64_t blocks, int64_t pitch, int32_t* sums);

// What RequantPairs demands of the products, and RoundShiftIn<int64_t> of them and of the shift.
inline constexpr i128 kPairProduct = static_cast<i128>(1) << 61;
inline constexpr i128 kNarrowProduct = static_cast<i128>(1) << 62;
inline constexpr int kNarrowShift = 62;

// y[i] = R(rounding, acc[i] * mult, shift) + post_bias where acc[i] and mult fit int32, the product
// is within kPairProduct in magnitude, shift <= kNarrowShift and rounding is not kHalfEven; y may
// be acc.
void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias, const int32_t* acc,
                  int64_t count, int64_t* y);
void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias, const int64_t* acc,
                  int64_t count, int64_t* y);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_SIMD_H_
