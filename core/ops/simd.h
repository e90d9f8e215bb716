// Inner loops for processors with a multiply-and-add of 16-bit pairs (AVX2). Callers check
// HavePairs() first and keep a plain loop for other processors; every value is exact, so both give
// the same integers.
#ifndef HELX_CORE_OPS_SIMD_H_
#define HELX_CORE_OPS_SIMD_H_

#include <cstdint>

#include "core/ops/integers.h"

namespace helx::ops {

// Whether this processor runs the functions below.
bool HavePairs();

// Positions that SumPairs computes at a time, and the most output channels at once.
inline constexpr int64_t kPairBlock = 16;
inline constexpr int kPairRows = 4;

// Two 16-bit values in one word, `a` in the low half.
inline uint32_t PackPair(int64_t a, int64_t b) {
  return (static_cast<uint32_t>(a) & 0xFFFF) | static_cast<uint32_t>(b) << 16;
}

// pairs[i] = PackPair(a[i], b[i]), with 0 for a null `b`.
void PackPairs(const int64_t* a, const int64_t* b, int64_t count, uint32_t* pairs);

// sums[r * pitch + i] = sum over t of the dot product of the pairs weights[t * rows + r] and
// pairs[offsets[t] + i], for r < rows <= kPairRows and i < blocks * kPairBlock. Every partial sum
// must fit int32.
void SumPairs(const uint32_t* pairs, const int64_t* offsets, const uint32_t* weights, int64_t taps,
              int rows, int64_t blocks, int64_t pitch, int32_t* sums);

// y[i] = R(rounding, acc[i] * mult, shift) + post_bias where acc[i] and mult fit int32, the product
// is within 2^61 in magnitude, shift <= 62 and rounding is not kHalfEven; y may be acc.
void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias, const int64_t* acc,
                  int64_t count, int64_t* y);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_SIMD_H_
