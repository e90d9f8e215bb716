// The parts of a comparison: exact verdicts on one pair, and kernels over many. For compare.cc, its
// tests and benchmarks; users call CompareTensor.
#ifndef HELX_CORE_TENSOR_COMPARE_KERNEL_H_
#define HELX_CORE_TENSOR_COMPARE_KERNEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "core/tensor/compare.h"

namespace helx {

// A double computed from the tolerance is within 2^-51 of the exact value, relative (three
// roundings; each of the operands of 64 bits adds one): outside this margin it decides, inside it
// exact arithmetic does. A product that underflows is off by less than 2^-1022, which no difference
// of stored values but zero comes near.
inline constexpr double kCompareBelow = 1 - 0x1p-50;
inline constexpr double kCompareAbove = 1 + 0x1p-50;

// |a - r| as an unevaluated sum: the rounded difference and its rounding error (Knuth, TAOCP 2,
// 4.2.2, theorem B).
struct Distance {
  double rounded = 0;
  double error = 0;
};
// REQUIRES: a - r is finite.
Distance DistanceOf(double a, double r);

// The greatest distance so far. Rounding is monotonic, so the greatest exact difference has the
// greatest rounded one.
struct MaxDistance {
  double rounded = 0;
  double error = -std::numeric_limits<double>::infinity();  // none yet

  void Take(const Distance& distance) {
    if (distance.rounded < rounded) return;
    if (distance.rounded > rounded || distance.error > error) {
      rounded = distance.rounded;
      error = distance.error;
    }
  }
  std::string ToDecimal() const;
};

struct CompareTotals {
  int64_t mismatches = 0;
  int64_t nonfinite_pairs = 0;
  int64_t first = -1;  // the first element that mismatches
  bool any_finite = false;
  MaxDistance max;  // int64: see compare.cc

  void CountMismatch(size_t element) {
    if (mismatches++ == 0) first = static_cast<int64_t>(element);
  }
};

// difference <= absolute + relative * reference, exactly.
bool IntegerWithin(uint64_t difference, uint64_t reference, const Tolerance& tolerance);
// The same for a pair of finite values that are doubles without rounding.
bool FloatWithin(double a, double r, const Distance& distance, const Tolerance& tolerance);
// One pair of floating-point values, finite or not.
bool FloatPairMatches(double a, double r, const Tolerance& tolerance, NanPolicy nan);

// For 8-bit storage: the largest difference that matches, by the magnitude of the reference.
struct ByteAllowance {
  std::array<uint8_t, 256> largest;
  int magnitudes = 256;  // how many entries references can reach
  bool uniform = false;  // they are all equal

  ByteAllowance(DType dtype, const Tolerance& tolerance);
};

// What a processor can run. Both give the same answers.
enum class CompareIsa { kScalar, kAvx2 };
CompareIsa BestCompareIsa();

// Compares a leading part of two tensors, and returns how many elements that was: what follows is
// for scalar code. 0 for a dtype without a kernel. REQUIRES: BestCompareIsa() is kAvx2, `totals` as
// initialised.
size_t CompareLeadingAvx2(DType dtype, std::string_view actual, std::string_view reference,
                          const Tolerance& tolerance, NanPolicy nan, CompareTotals* totals);

// CompareTensor with a given instruction set.
absl::StatusOr<TensorComparison> CompareTensorWith(CompareIsa isa, const TensorSpec& spec,
                                                   std::string_view actual,
                                                   std::string_view reference,
                                                   const Tolerance& tolerance, NanPolicy nan);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_COMPARE_KERNEL_H_
