// Exact verdicts on one pair of values.
#include <algorithm>
#include <cmath>

#include "core/tensor/compare_kernel.h"
#include "core/tensor/dyadic.h"

namespace helx {
namespace {

bool FloatWithinExactly(double a, double r, const Tolerance& tolerance) {
  // abs(a - r) <= t, rearranged so that every term is added.
  Dyadic left, right;
  right.AddAbs(tolerance.absolute);
  right.AddProductAbs(tolerance.relative, r);
  if (std::signbit(a) != std::signbit(r)) {
    left.AddAbs(a);
    left.AddAbs(r);
  } else {
    left.AddAbs(std::max(std::fabs(a), std::fabs(r)));
    right.AddAbs(std::min(std::fabs(a), std::fabs(r)));
  }
  return left.Compare(right) <= 0;
}

// Whether absolute + relative * |r| was computed without rounding. The product's error by fused
// multiply-add is exact unless it underflows.
bool ToleranceIsExact(double r, const Tolerance& tolerance, double product, double sum) {
  if (product == 0 ? tolerance.relative != 0 && r != 0 : product < 0x1p-900) return false;
  if (std::fma(tolerance.relative, std::fabs(r), -product) != 0) return false;
  const double z = sum - tolerance.absolute;
  return (tolerance.absolute - (sum - z)) + (product - z) == 0;
}

}  // namespace

Distance DistanceOf(double a, double r) {
  const double difference = a - r;
  const double z = difference - a;
  const double error = (a - (difference - z)) - (r + z);
  return {std::fabs(difference), std::signbit(difference) ? -error : error};
}

std::string MaxDistance::ToDecimal() const {
  Dyadic exact;
  exact.AddAbs(rounded);
  if (error < 0) {
    exact.SubtractAbs(error);
  } else {
    exact.AddAbs(error);
  }
  return exact.ToDecimal();
}

bool IntegerWithin(uint64_t difference, uint64_t reference, const Tolerance& tolerance) {
  const double approximate =
      tolerance.absolute + tolerance.relative * static_cast<double>(reference);
  const auto d = static_cast<double>(difference);
  if (d <= approximate * kCompareBelow) return true;
  if (d > approximate * kCompareAbove) return false;
  Dyadic left, right;
  left.Add(difference, 0);
  right.AddAbs(tolerance.absolute);
  // Halves: a double holds 32 bits exactly.
  right.AddProductAbs(tolerance.relative, static_cast<double>(reference >> 32) * 0x1p32);
  right.AddProductAbs(tolerance.relative, static_cast<double>(reference & 0xffffffffu));
  return left.Compare(right) <= 0;
}

bool FloatWithin(double a, double r, const Distance& distance, const Tolerance& tolerance) {
  const double d = distance.rounded;
  // The exact distance is at most `absolute` when its rounding is below, or equal and not rounded
  // down.
  if (d < tolerance.absolute || (d == tolerance.absolute && distance.error <= 0)) return true;
  const double product = tolerance.relative * std::fabs(r);
  const double sum = tolerance.absolute + product;
  if (d <= sum * kCompareBelow) return true;
  if (d > sum * kCompareAbove) return false;
  if (distance.error == 0 && ToleranceIsExact(r, tolerance, product, sum)) return d <= sum;
  return FloatWithinExactly(a, r, tolerance);
}

bool FloatPairMatches(double a, double r, const Tolerance& tolerance, NanPolicy nan) {
  // Differences of float32 values never overflow a double.
  if (std::isfinite(a - r)) return FloatWithin(a, r, DistanceOf(a, r), tolerance);
  return a == r || (nan == NanPolicy::kMatchBoth && std::isnan(a) && std::isnan(r));
}

ByteAllowance::ByteAllowance(DType dtype, const Tolerance& tolerance) {
  magnitudes = dtype == DType::kBool ? 2 : dtype == DType::kInt8 ? 129 : 256;
  largest.fill(0);
  for (int m = 0; m < magnitudes; ++m) {
    const auto reference = static_cast<uint64_t>(m);
    const double guess = tolerance.absolute + tolerance.relative * m;
    int d = guess >= 255 ? 255 : static_cast<int>(guess);
    while (d < 255 && IntegerWithin(static_cast<uint64_t>(d) + 1, reference, tolerance)) ++d;
    while (d > 0 && !IntegerWithin(static_cast<uint64_t>(d), reference, tolerance)) --d;
    largest[static_cast<size_t>(m)] = static_cast<uint8_t>(d);
  }
  // Ascends with the magnitude.
  uniform = largest[0] == largest[static_cast<size_t>(magnitudes) - 1];
}

}  // namespace helx
