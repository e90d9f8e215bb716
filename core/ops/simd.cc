#include "core/ops/simd.h"

#include <algorithm>
#include <limits>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HELX_OPS_AVX2 __attribute__((target("avx2")))
#endif

namespace helx::ops {
namespace {

template <typename T>
bool PlainWithin(const T* x, int64_t count, int64_t lo, int64_t hi) {
  return std::all_of(x, x + count, [&](int64_t v) { return v >= lo && v <= hi; });
}

}  // namespace

#ifdef HELX_OPS_AVX2

namespace {

HELX_OPS_AVX2 inline __m256i Load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

HELX_OPS_AVX2 inline void Store(__m256i v, void* at) {
  _mm256_storeu_si256(static_cast<__m256i*>(at), v);
}

HELX_OPS_AVX2 bool VectorWithin(const int64_t* x, int64_t count, int64_t lo, int64_t hi) {
  const __m256i low = _mm256_set1_epi64x(lo);
  const __m256i high = _mm256_set1_epi64x(hi);
  __m256i outside = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256i a = Load(x + i);
    const __m256i b = Load(x + i + 4);
    outside = _mm256_or_si256(outside, _mm256_or_si256(_mm256_cmpgt_epi64(low, a),
                                                       _mm256_cmpgt_epi64(a, high)));
    outside = _mm256_or_si256(outside, _mm256_or_si256(_mm256_cmpgt_epi64(low, b),
                                                       _mm256_cmpgt_epi64(b, high)));
  }
  return _mm256_testz_si256(outside, outside) != 0 && PlainWithin(x + i, count - i, lo, hi);
}

// For T narrower than int64_t.
template <typename T>
HELX_OPS_AVX2 bool NarrowWithin(const T* x, int64_t count, int64_t lo, int64_t hi) {
  constexpr int64_t kMin = std::numeric_limits<T>::min();
  constexpr int64_t kMax = std::numeric_limits<T>::max();
  if (lo <= kMin && hi >= kMax) return true;
  if (lo > kMax || hi < kMin) return count == 0;
  const T low = static_cast<T>(std::max(lo, kMin));
  const T high = static_cast<T>(std::min(hi, kMax));
  T outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    outside = static_cast<T>(outside | static_cast<T>((x[i] < low) | (x[i] > high)));
  }
  return outside == 0;
}

template <typename T>
HELX_OPS_AVX2 void Truncate(const int64_t* x, int64_t count, T* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(x[i]);
}

template <int kRows>
HELX_OPS_AVX2 void SumRows(const uint32_t* pairs, int64_t step, const PairTaps& taps,
                           const uint32_t* weights, const int32_t* bias, int64_t blocks,
                           int64_t pitch, int32_t* sums) {
  for (int64_t block = 0; block < blocks; ++block, pairs += step, sums += kPairBlock) {
    __m256i low[kRows], high[kRows];
    for (int r = 0; r < kRows; ++r) low[r] = high[r] = _mm256_set1_epi32(bias[r]);
    const uint32_t* w = weights;
    for (int64_t t = 0; t < taps.count; ++t, w += kRows) {
      const uint32_t* x = pairs + taps.offsets[t];
      const __m256i x0 = Load(x);
      const __m256i x1 = Load(x + 8);
      for (int r = 0; r < kRows; ++r) {
        const __m256i weight = _mm256_set1_epi32(static_cast<int>(w[r]));
        low[r] = _mm256_add_epi32(low[r], _mm256_madd_epi16(x0, weight));
        high[r] = _mm256_add_epi32(high[r], _mm256_madd_epi16(x1, weight));
      }
    }
    for (int r = 0; r < kRows; ++r) {
      Store(low[r], sums + r * pitch);
      Store(high[r], sums + r * pitch + 8);
    }
  }
}

HELX_OPS_AVX2 inline __m256i LoadFour(const int64_t* at) { return Load(at); }
HELX_OPS_AVX2 inline __m256i LoadFour(const int32_t* at) {
  return _mm256_cvtepi32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

template <typename Acc>
HELX_OPS_AVX2 void RequantFours(Rounding rounding, int64_t mult, int shift, int64_t post_bias,
                                const Acc* acc, int64_t count, int64_t* y) {
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
    const __m256i p = _mm256_mul_epi32(LoadFour(acc + i), multiplier);
    const __m256i negative = away ? _mm256_cmpgt_epi64(zero, p) : zero;
    const __m256i magnitude = _mm256_sub_epi64(_mm256_xor_si256(p, negative), negative);
    const __m256i shifted = _mm256_srl_epi64(_mm256_add_epi64(magnitude, before), bits);
    const __m256i q = _mm256_sub_epi64(_mm256_xor_si256(shifted, negative), negative);
    Store(_mm256_add_epi64(q, after), y + i);
  }
  for (; i < count; ++i) y[i] = RoundShiftIn<int64_t>(rounding, acc[i] * mult, shift) + post_bias;
}

}  // namespace

bool HavePairs() {
  static const bool have = __builtin_cpu_supports("avx2") != 0;
  return have;
}

bool AllWithin(const int64_t* x, int64_t count, int64_t lo, int64_t hi) {
  return HavePairs() ? VectorWithin(x, count, lo, hi) : PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int32_t* x, int64_t count, int64_t lo, int64_t hi) {
  return HavePairs() ? NarrowWithin(x, count, lo, hi) : PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int16_t* x, int64_t count, int64_t lo, int64_t hi) {
  return HavePairs() ? NarrowWithin(x, count, lo, hi) : PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int8_t* x, int64_t count, int64_t lo, int64_t hi) {
  return HavePairs() ? NarrowWithin(x, count, lo, hi) : PlainWithin(x, count, lo, hi);
}

HELX_OPS_AVX2 void ConvertTo16(const int64_t* x, int64_t count, int16_t* y) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    // The low words of eight elements, in each half 0 1 4 5 and 2 3 6 7, twice.
    const __m256i a = _mm256_castps_si256(_mm256_shuffle_ps(
        _mm256_castsi256_ps(Load(x + i)), _mm256_castsi256_ps(Load(x + i + 4)), 0x88));
    const __m256i b = _mm256_castps_si256(_mm256_shuffle_ps(
        _mm256_castsi256_ps(Load(x + i + 8)), _mm256_castsi256_ps(Load(x + i + 12)), 0x88));
    Store(_mm256_permutevar8x32_epi32(_mm256_packs_epi32(a, b), order), y + i);
  }
  for (; i < count; ++i) y[i] = static_cast<int16_t>(x[i]);
}
HELX_OPS_AVX2 void ConvertTo16(const int32_t* x, int64_t count, int16_t* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<int16_t>(x[i]);
}
void ConvertTo16(const int16_t* x, int64_t count, int16_t* y) { std::copy_n(x, count, y); }
HELX_OPS_AVX2 void ConvertTo16(const int8_t* x, int64_t count, int16_t* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i];
}

void Narrow(const int64_t* x, int64_t count, int32_t* y) { Truncate(x, count, y); }
void Narrow(const int64_t* x, int64_t count, int16_t* y) { ConvertTo16(x, count, y); }
void Narrow(const int64_t* x, int64_t count, int8_t* y) { Truncate(x, count, y); }

HELX_OPS_AVX2 void PackPairs(const int16_t* a, const int16_t* b, int64_t stride, int64_t count,
                             uint32_t* pairs) {
  int64_t i = 0;
  for (; stride == 1 && i + 8 <= count; i += 8) {
    const __m256i low =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i)));
    const __m256i high =
        _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i)));
    Store(_mm256_or_si256(low, _mm256_slli_epi32(high, 16)), pairs + i);
  }
  for (; i < count; ++i) pairs[i] = PackPair(a[i * stride], b[i * stride]);
}

void SumPairs(const uint32_t* pairs, int64_t step, const PairTaps& taps, const uint32_t* weights,
              const int32_t* bias, int rows, int64_t blocks, int64_t pitch, int32_t* sums) {
  switch (rows) {
    case 1:
      return SumRows<1>(pairs, step, taps, weights, bias, blocks, pitch, sums);
    case 2:
      return SumRows<2>(pairs, step, taps, weights, bias, blocks, pitch, sums);
    case 3:
      return SumRows<3>(pairs, step, taps, weights, bias, blocks, pitch, sums);
    case 4:
      return SumRows<4>(pairs, step, taps, weights, bias, blocks, pitch, sums);
    case 5:
      return SumRows<5>(pairs, step, taps, weights, bias, blocks, pitch, sums);
    default:
      return SumRows<kPairRows>(pairs, step, taps, weights, bias, blocks, pitch, sums);
  }
}

void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias, const int32_t* acc,
                  int64_t count, int64_t* y) {
  RequantFours(rounding, mult, shift, post_bias, acc, count, y);
}

void RequantPairs(Rounding rounding, int64_t mult, int shift, int64_t post_bias, const int64_t* acc,
                  int64_t count, int64_t* y) {
  RequantFours(rounding, mult, shift, post_bias, acc, count, y);
}

#else

bool HavePairs() { return false; }

bool AllWithin(const int64_t* x, int64_t count, int64_t lo, int64_t hi) {
  return PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int32_t* x, int64_t count, int64_t lo, int64_t hi) {
  return PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int16_t* x, int64_t count, int64_t lo, int64_t hi) {
  return PlainWithin(x, count, lo, hi);
}
bool AllWithin(const int8_t* x, int64_t count, int64_t lo, int64_t hi) {
  return PlainWithin(x, count, lo, hi);
}

void ConvertTo16(const int64_t*, int64_t, int16_t*) {}
void ConvertTo16(const int32_t*, int64_t, int16_t*) {}
void ConvertTo16(const int16_t*, int64_t, int16_t*) {}
void ConvertTo16(const int8_t*, int64_t, int16_t*) {}

void Narrow(const int64_t*, int64_t, int32_t*) {}
void Narrow(const int64_t*, int64_t, int16_t*) {}
void Narrow(const int64_t*, int64_t, int8_t*) {}

void PackPairs(const int16_t*, const int16_t*, int64_t, int64_t, uint32_t*) {}

void SumPairs(const uint32_t*, int64_t, const PairTaps&, const uint32_t*, const int32_t*, int,
              int64_t, int64_t, int32_t*) {}

void RequantPairs(Rounding, int64_t, int, int64_t, const int32_t*, int64_t, int64_t*) {}
void RequantPairs(Rounding, int64_t, int, int64_t, const int64_t*, int64_t, int64_t*) {}

#endif

}  // namespace helx::ops
