#include "core/ops/simd.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HELX_OPS_AVX2 __attribute__((target("avx2")))
#endif

namespace helx::ops {

#ifdef HELX_OPS_AVX2

namespace {

template <int kRows>
HELX_OPS_AVX2 void SumRows(const uint32_t* pairs, const int64_t* offsets, const uint32_t* weights,
                           int64_t taps, int64_t blocks, int64_t pitch, int32_t* sums) {
  for (int64_t block = 0; block < blocks; ++block) {
    const uint32_t* at = pairs + block * kPairBlock;
    __m256i low[kRows], high[kRows];
    for (int r = 0; r < kRows; ++r) low[r] = high[r] = _mm256_setzero_si256();
    const uint32_t* w = weights;
    for (int64_t t = 0; t < taps; ++t, w += kRows) {
      const auto* x = reinterpret_cast<const __m256i*>(at + offsets[t]);
      const __m256i x0 = _mm256_loadu_si256(x);
      const __m256i x1 = _mm256_loadu_si256(x + 1);
      for (int r = 0; r < kRows; ++r) {
        const __m256i weight = _mm256_set1_epi32(static_cast<int>(w[r]));
        low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(x0, weight));
        high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(x1, weight));
      }
    }
    for (int r = 0; r < kRows; ++r) {
      auto* out = reinterpret_cast<__m256i*>(sums + r * pitch + block * kPairBlock);
      _mm256_storeu_si256(out, low[r]);
      _mm256_storeu_si256(out + 1, high[r]);
    }
  }
}

}  // namespace

bool HavePairs() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}

HELX_OPS_AVX2 void PackPairs(const int64_t* a, const int64_t* b, int64_t count, uint32_t* pairs) {
  if (b == nullptr) {
    for (int64_t i = 0; i < count; ++i) pairs[i] = static_cast<uint32_t>(a[i]) & 0xFFFF;
    return;
  }
  for (int64_t i = 0; i < count; ++i) pairs[i] = PackPair(a[i], b[i]);
}

void SumPairs(const uint32_t* pairs, const int64_t* offsets, const uint32_t* weights, int64_t taps,
              int rows, int64_t blocks, int64_t pitch, int32_t* sums) {
  switch (rows) {
    case 1:
      return SumRows<1>(pairs, offsets, weights, taps, blocks, pitch, sums);
    case 2:
      return SumRows<2>(pairs, offsets, weights, taps, blocks, pitch, sums);
    case 3:
      return SumRows<3>(pairs, offsets, weights, taps, blocks, pitch, sums);
    default:
      return SumRows<kPairRows>(pairs, offsets, weights, taps, blocks, pitch, sums);
  }
}

HELX_OPS_AVX2 void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias,
                                const int64_t* acc, int64_t count, int64_t* y) {
  // There is no arithmetic shift of 64 bits: 2^62 makes every value positive, and the shifted 2^62,
  // an integer, is taken off again.
  const int64_t offset = int64_t{1} << 62;
  const bool away = rounding == Rounding::kHalfAway;
  const int64_t half = rounding == Rounding::kFloor || shift == 0 ? 0 : int64_t{1} << (shift - 1);
  const __m256i before = _mm256_set1_epi64x(away ? half : half + offset);
  const __m256i after = _mm256_set1_epi64x(away ? post_bias : post_bias - (offset >> shift));
  const __m256i multiplier = _mm256_set1_epi64x(mult);
  const __m128i bits = _mm_cvtsi32_si128(shift);
  const __m256i zero = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(acc + i));
    const __m256i p = _mm256_mul_epi32(x, multiplier);
    const __m256i negative = away ? _mm256_cmpgt_epi64(zero, p) : zero;
    const __m256i magnitude = _mm256_sub_epi64(_mm256_xor_si256(p, negative), negative);
    const __m256i shifted = _mm256_srl_epi64(_mm256_add_epi64(magnitude, before), bits);
    const __m256i q = _mm256_sub_epi64(_mm256_xor_si256(shifted, negative), negative);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), _mm256_add_epi64(q, after));
  }
  for (; i < count; ++i) y[i] = RoundShiftIn<int64_t>(rounding, acc[i] * mult, shift) + post_bias;
}

#else

bool HavePairs() { return false; }

void PackPairs(const int64_t* a, const int64_t* b, int64_t count, uint32_t* pairs) {
  for (int64_t i = 0; i < count; ++i) pairs[i] = PackPair(a[i], b == nullptr ? 0 : b[i]);
}

void SumPairs(const uint32_t*, const int64_t*, const uint32_t*, int64_t, int, int64_t, int64_t,
              int32_t*) {}

void RequantPairs(Rounding, int64_t, int, int64_t, const int64_t*, int64_t, int64_t*) {}

#endif

}  // namespace helx::ops
