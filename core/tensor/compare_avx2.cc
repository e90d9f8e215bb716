// Comparison with AVX2: decides what doubles decide beyond doubt, and asks the exact scalar code for
// the rest.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/tensor/compare_kernel.h"
#include "core/tensor/float16.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define HELX_AVX2 __attribute__((target("avx2,f16c")))
#define HELX_AVX2_INLINE __attribute__((target("avx2,f16c"), always_inline)) inline

namespace helx {
namespace {

// 8 bits: a table of the largest matching differences.

// One table of 16 bytes per 16 magnitudes, in both halves.
struct AllowanceTables {
  __m256i table[16];
};

HELX_AVX2_INLINE __m256i LookUp(const AllowanceTables& tables, int count, __m256i magnitude) {
  const __m256i outside = _mm256_set1_epi8(0x70);
  __m256i allowance = _mm256_setzero_si256();
  for (int k = 0; k < count; ++k) {
    // Magnitudes of other tables saturate to a set top bit, for which the shuffle gives zero.
    const __m256i in_table =
        _mm256_xor_si256(magnitude, _mm256_set1_epi8(static_cast<char>(k << 4)));
    const __m256i index = _mm256_adds_epu8(in_table, outside);
    allowance = _mm256_or_si256(allowance, _mm256_shuffle_epi8(tables.table[k], index));
  }
  return allowance;
}

HELX_AVX2_INLINE AllowanceTables MakeTables(const ByteAllowance& allowance) {
  AllowanceTables tables;
  for (int k = 0; k < 16; ++k) {
    tables.table[k] = _mm256_broadcastsi128_si256(_mm_loadu_si128(
        reinterpret_cast<const __m128i*>(allowance.largest.data() + 16 * k)));
  }
  return tables;
}

template <bool kSigned, bool kUniform>
HELX_AVX2 size_t CompareBytes(std::string_view actual, std::string_view reference,
                              const ByteAllowance& allowance, CompareTotals* totals) {
  // Moves signed values into unsigned order.
  const __m256i bias = _mm256_set1_epi8(kSigned ? -128 : 0);
  const __m256i zero = _mm256_setzero_si256();
  const __m256i uniform = _mm256_set1_epi8(static_cast<char>(allowance.largest[0]));
  const AllowanceTables tables = MakeTables(allowance);
  const int table_count = (allowance.magnitudes + 15) / 16;
  __m256i max_difference = zero;
  size_t i = 0;
  for (; i + 32 <= actual.size(); i += 32) {
    const __m256i raw_a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(actual.data() + i));
    const __m256i raw_r =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(reference.data() + i));
    const __m256i a = _mm256_xor_si256(raw_a, bias);
    const __m256i r = _mm256_xor_si256(raw_r, bias);
    const __m256i difference = _mm256_sub_epi8(_mm256_max_epu8(a, r), _mm256_min_epu8(a, r));
    max_difference = _mm256_max_epu8(max_difference, difference);
    __m256i allowed = uniform;
    if constexpr (!kUniform) {
      allowed = LookUp(tables, table_count, kSigned ? _mm256_abs_epi8(raw_r) : raw_r);
    }
    const __m256i within = _mm256_cmpeq_epi8(_mm256_subs_epu8(difference, allowed), zero);
    const uint32_t beyond = ~static_cast<uint32_t>(_mm256_movemask_epi8(within));
    if (beyond == 0) continue;
    if (totals->mismatches == 0) totals->first = static_cast<int64_t>(i) + std::countr_zero(beyond);
    totals->mismatches += std::popcount(beyond);
  }
  alignas(32) uint8_t lanes[32];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), max_difference);
  for (uint8_t lane : lanes) totals->max.Take({static_cast<double>(lane), 0});
  totals->any_finite |= i > 0;
  return i;
}

size_t CompareBytesOf(DType dtype, std::string_view actual, std::string_view reference,
                      const Tolerance& tolerance, CompareTotals* totals) {
  // The table does not pay for a few elements.
  if (actual.size() < 256) return 0;
  const ByteAllowance allowance(dtype, tolerance);
  if (dtype == DType::kInt8) {
    return allowance.uniform ? CompareBytes<true, true>(actual, reference, allowance, totals)
                             : CompareBytes<true, false>(actual, reference, allowance, totals);
  }
  return allowance.uniform ? CompareBytes<false, true>(actual, reference, allowance, totals)
                           : CompareBytes<false, false>(actual, reference, allowance, totals);
}

// Types whose values are doubles.

struct Float32Lanes {
  static constexpr size_t kSize = 4;
  HELX_AVX2_INLINE static __m256d Load(const char* at) {
    return _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(at)));
  }
};

struct Float16Lanes {
  static constexpr size_t kSize = 2;
  HELX_AVX2_INLINE static __m256d Load(const char* at) {
    return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
  }
};

struct Int32Lanes {
  static constexpr size_t kSize = 4;
  HELX_AVX2_INLINE static __m256d Load(const char* at) {
    return _mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
};

struct Int16Lanes {
  static constexpr size_t kSize = 2;
  HELX_AVX2_INLINE static __m256d Load(const char* at) {
    return _mm256_cvtepi32_pd(
        _mm_cvtepi16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at))));
  }
};

// The verdicts that doubles leave open, and pairs that are not finite: bits of mismatching lanes.
HELX_AVX2 unsigned ResolveLanes(__m256d a, __m256d r, unsigned open, unsigned finite,
                                const Tolerance& tolerance, NanPolicy nan, CompareTotals* totals) {
  alignas(32) double as[4], rs[4];
  _mm256_store_pd(as, a);
  _mm256_store_pd(rs, r);
  unsigned mismatching = 0;
  for (unsigned lane = 0; lane < 4; ++lane) {
    if ((open >> lane & 1) == 0) continue;
    if ((finite >> lane & 1) == 0) ++totals->nonfinite_pairs;
    if (!FloatPairMatches(as[lane], rs[lane], tolerance, nan)) mismatching |= 1u << lane;
  }
  return mismatching;
}

template <typename Lanes>
HELX_AVX2 size_t CompareLanes(std::string_view actual, std::string_view reference,
                              const Tolerance& tolerance, NanPolicy nan, CompareTotals* totals) {
  const size_t count = actual.size() / Lanes::kSize;
  const __m256d sign = _mm256_set1_pd(-0.0);
  const __m256d zero = _mm256_setzero_pd();
  const __m256d infinity = _mm256_set1_pd(std::numeric_limits<double>::infinity());
  const __m256d absolute = _mm256_set1_pd(tolerance.absolute);
  const __m256d relative = _mm256_set1_pd(tolerance.relative);
  const __m256d below = _mm256_set1_pd(kCompareBelow);
  const __m256d above = _mm256_set1_pd(kCompareAbove);
  __m256d max_rounded = zero;
  __m256d max_error = _mm256_set1_pd(-std::numeric_limits<double>::infinity());
  unsigned any_finite = 0;
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256d a = Lanes::Load(actual.data() + i * Lanes::kSize);
    const __m256d r = Lanes::Load(reference.data() + i * Lanes::kSize);
    // As DistanceOf.
    const __m256d s = _mm256_sub_pd(a, r);
    const __m256d d = _mm256_andnot_pd(sign, s);
    const __m256d z = _mm256_sub_pd(s, a);
    const __m256d signed_error =
        _mm256_sub_pd(_mm256_sub_pd(a, _mm256_sub_pd(s, z)), _mm256_add_pd(r, z));
    const __m256d e = _mm256_xor_pd(signed_error, _mm256_and_pd(sign, s));
    const __m256d is_finite = _mm256_cmp_pd(d, infinity, _CMP_LT_OQ);
    // As MaxDistance::Take.
    const __m256d greater = _mm256_or_pd(
        _mm256_cmp_pd(d, max_rounded, _CMP_GT_OQ),
        _mm256_and_pd(_mm256_cmp_pd(d, max_rounded, _CMP_EQ_OQ),
                      _mm256_cmp_pd(e, max_error, _CMP_GT_OQ)));
    const __m256d take = _mm256_and_pd(greater, is_finite);
    max_rounded = _mm256_blendv_pd(max_rounded, d, take);
    max_error = _mm256_blendv_pd(max_error, e, take);
    // As FloatWithin.
    const __m256d sum =
        _mm256_add_pd(absolute, _mm256_mul_pd(relative, _mm256_andnot_pd(sign, r)));
    const __m256d within_absolute = _mm256_or_pd(
        _mm256_cmp_pd(d, absolute, _CMP_LT_OQ),
        _mm256_and_pd(_mm256_cmp_pd(d, absolute, _CMP_EQ_OQ), _mm256_cmp_pd(e, zero, _CMP_LE_OQ)));
    const __m256d yes = _mm256_or_pd(
        within_absolute, _mm256_cmp_pd(d, _mm256_mul_pd(sum, below), _CMP_LE_OQ));
    const __m256d no = _mm256_cmp_pd(d, _mm256_mul_pd(sum, above), _CMP_GT_OQ);
    const auto finite = static_cast<unsigned>(_mm256_movemask_pd(is_finite));
    const auto matching = static_cast<unsigned>(_mm256_movemask_pd(yes)) & finite;
    any_finite |= finite;
    if (matching == 0xf) continue;
    unsigned mismatching = static_cast<unsigned>(_mm256_movemask_pd(no)) & finite & ~matching;
    const unsigned open = 0xf & ~(matching | mismatching);
    if (open != 0) {
      mismatching |= ResolveLanes(a, r, open, finite, tolerance, nan, totals);
      if (mismatching == 0) continue;
    }
    if (totals->mismatches == 0) {
      totals->first = static_cast<int64_t>(i) + std::countr_zero(mismatching);
    }
    totals->mismatches += std::popcount(mismatching);
  }
  alignas(32) double rounded[4], error[4];
  _mm256_store_pd(rounded, max_rounded);
  _mm256_store_pd(error, max_error);
  for (int lane = 0; lane < 4; ++lane) totals->max.Take({rounded[lane], error[lane]});
  totals->any_finite |= any_finite != 0;
  return i;
}

bool HasF16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

CompareIsa BestCompareIsa() {
  // The builtin also asks whether the system saves the registers, but clang's knows no "f16c".
  static const bool usable = __builtin_cpu_supports("avx2") && HasF16c();
  return usable ? CompareIsa::kAvx2 : CompareIsa::kScalar;
}

size_t CompareLeadingAvx2(DType dtype, std::string_view actual, std::string_view reference,
                          const Tolerance& tolerance, NanPolicy nan, CompareTotals* totals) {
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
    case DType::kInt8:
      return CompareBytesOf(dtype, actual, reference, tolerance, totals);
    case DType::kInt16:
      return CompareLanes<Int16Lanes>(actual, reference, tolerance, nan, totals);
    case DType::kInt32:
      return CompareLanes<Int32Lanes>(actual, reference, tolerance, nan, totals);
    case DType::kFloat16:
      return CompareLanes<Float16Lanes>(actual, reference, tolerance, nan, totals);
    case DType::kFloat32:
      return CompareLanes<Float32Lanes>(actual, reference, tolerance, nan, totals);
    case DType::kInt64:
      break;
  }
  return 0;
}

}  // namespace helx

#else

namespace helx {

CompareIsa BestCompareIsa() { return CompareIsa::kScalar; }

size_t CompareLeadingAvx2(DType, std::string_view, std::string_view, const Tolerance&, NanPolicy,
                          CompareTotals*) {
  return 0;
}

}  // namespace helx

#endif
