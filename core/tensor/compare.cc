#include "core/tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/tensor/dyadic.h"
#include "core/tensor/float16.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

// A double computed from the tolerance is within 2^-51 of the exact value, relative (three
// roundings; each of the operands of 64 bits adds one): outside this margin it decides, inside it
// exact arithmetic does.
constexpr double kBelow = 1 - 0x1p-50;
constexpr double kAbove = 1 + 0x1p-50;

struct Totals {
  int64_t mismatches = 0;
  int64_t nonfinite_pairs = 0;
  int64_t first = -1;
  bool any_finite = false;
};

void CountMismatch(Totals* totals, size_t element) {
  if (totals->mismatches++ == 0) totals->first = static_cast<int64_t>(element);
}

template <typename T>
T Load(std::string_view bytes, size_t element) {
  T value;
  std::memcpy(&value, bytes.data() + element * sizeof(T), sizeof(T));
  return value;
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

bool IntegerWithin(uint64_t difference, uint64_t reference, const Tolerance& tolerance) {
  const double approximate =
      tolerance.absolute + tolerance.relative * static_cast<double>(reference);
  const auto d = static_cast<double>(difference);
  if (d <= approximate * kBelow) return true;
  if (d > approximate * kAbove) return false;
  Dyadic left, right;
  left.Add(difference, 0);
  right.AddAbs(tolerance.absolute);
  // Halves: a double holds 32 bits exactly.
  right.AddProductAbs(tolerance.relative, static_cast<double>(reference >> 32) * 0x1p32);
  right.AddProductAbs(tolerance.relative, static_cast<double>(reference & 0xffffffffu));
  return left.Compare(right) <= 0;
}

// The largest difference that an absolute tolerance alone allows.
uint64_t WholeAllowance(double absolute) {
  return absolute >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(absolute);
}

template <typename T>
Totals CompareIntegers(std::string_view actual, std::string_view reference,
                       const Tolerance& tolerance, TensorComparison* out) {
  const size_t count = actual.size() / sizeof(T);
  const uint64_t allowance = WholeAllowance(tolerance.absolute);
  Totals totals;
  uint64_t max_difference = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t a = Load<T>(actual, i);
    const int64_t r = Load<T>(reference, i);
    // Modular arithmetic gives the exact difference of two 64-bit integers.
    const uint64_t difference = a > r ? static_cast<uint64_t>(a) - static_cast<uint64_t>(r)
                                      : static_cast<uint64_t>(r) - static_cast<uint64_t>(a);
    max_difference = std::max(max_difference, difference);
    if (difference <= allowance) continue;
    if (tolerance.relative == 0 || !IntegerWithin(difference, Magnitude(r), tolerance)) {
      CountMismatch(&totals, i);
    }
  }
  totals.any_finite = count > 0;
  out->max_abs_error = std::to_string(max_difference);
  return totals;
}

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

bool FloatWithin(double a, double r, double difference, const Tolerance& tolerance) {
  if (difference == 0) return true;
  const double approximate = tolerance.absolute + tolerance.relative * std::fabs(r);
  if (difference <= approximate * kBelow) return true;
  if (difference > approximate * kAbove) return false;
  return FloatWithinExactly(a, r, tolerance);
}

// The greatest difference so far as an unevaluated sum: the rounded difference and its rounding
// error (Knuth, TAOCP 2, 4.2.2, theorem B). Rounding is monotonic, so the greatest exact difference
// has the greatest rounded one.
struct MaxDifference {
  double rounded = 0;
  double error = -std::numeric_limits<double>::infinity();

  void Take(double a, double r, double signed_difference) {
    const double difference = std::fabs(signed_difference);
    if (difference < rounded) return;
    const double z = signed_difference - a;
    double e = (a - (signed_difference - z)) - (r + z);
    if (std::signbit(signed_difference)) e = -e;
    if (difference > rounded || e > error) {
      rounded = difference;
      error = e;
    }
  }

  std::string ToDecimal() const {
    Dyadic exact;
    exact.AddAbs(rounded);
    if (error < 0) {
      exact.SubtractAbs(error);
    } else {
      exact.AddAbs(error);
    }
    return exact.ToDecimal();
  }
};

template <typename ToDouble>
Totals CompareFloats(size_t count, ToDouble actual, ToDouble reference, const Tolerance& tolerance,
                     NanPolicy nan, TensorComparison* out) {
  Totals totals;
  MaxDifference max_difference;
  for (size_t i = 0; i < count; ++i) {
    const double a = actual(i);
    const double r = reference(i);
    const double difference = a - r;
    if (!std::isfinite(difference)) {
      // float32 differences never overflow a double: at least one of the two is not finite.
      ++totals.nonfinite_pairs;
      const bool matches =
          a == r || (nan == NanPolicy::kMatchBoth && std::isnan(a) && std::isnan(r));
      if (!matches) CountMismatch(&totals, i);
      continue;
    }
    totals.any_finite = true;
    max_difference.Take(a, r, difference);
    if (!FloatWithin(a, r, std::fabs(difference), tolerance)) CountMismatch(&totals, i);
  }
  if (totals.any_finite) out->max_abs_error = max_difference.ToDecimal();
  return totals;
}

double Float16At(std::string_view bytes, size_t element) {
  return Float16ToFloat(Load<uint16_t>(bytes, element));
}

std::string ValueText(DType dtype, std::string_view bytes, size_t element) {
  double value = 0;
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      return std::to_string(Load<uint8_t>(bytes, element));
    case DType::kInt8:
      return std::to_string(Load<int8_t>(bytes, element));
    case DType::kInt16:
      return std::to_string(Load<int16_t>(bytes, element));
    case DType::kInt32:
      return std::to_string(Load<int32_t>(bytes, element));
    case DType::kInt64:
      return std::to_string(Load<int64_t>(bytes, element));
    case DType::kFloat16:
      value = Float16At(bytes, element);
      break;
    case DType::kFloat32:
      value = Load<float>(bytes, element);
      break;
  }
  if (std::isfinite(value)) return ExactDecimal(value);
  const size_t size = DTypeSize(dtype);
  return HexEncode(AsBytes(bytes.substr(element * size, size)));
}

Totals CompareStorage(DType dtype, std::string_view actual, std::string_view reference,
                      const Tolerance& tolerance, NanPolicy nan, TensorComparison* out) {
  const auto floats = [&](auto at) {
    const auto view = [at](std::string_view bytes) {
      return [at, bytes](size_t element) -> double { return at(bytes, element); };
    };
    return CompareFloats(actual.size() / DTypeSize(dtype), view(actual), view(reference), tolerance,
                         nan, out);
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      return CompareIntegers<uint8_t>(actual, reference, tolerance, out);
    case DType::kInt8:
      return CompareIntegers<int8_t>(actual, reference, tolerance, out);
    case DType::kInt16:
      return CompareIntegers<int16_t>(actual, reference, tolerance, out);
    case DType::kInt32:
      return CompareIntegers<int32_t>(actual, reference, tolerance, out);
    case DType::kInt64:
      return CompareIntegers<int64_t>(actual, reference, tolerance, out);
    case DType::kFloat16:
      return floats(Float16At);
    case DType::kFloat32:
      return floats([](std::string_view bytes, size_t element) -> double {
        return Load<float>(bytes, element);
      });
  }
  return {};
}

absl::Status CheckTolerance(double value, const char* which) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidArgument(std::string("the ") + which +
                         " tolerance is negative or not finite; allowed: a finite number >= 0");
}

}  // namespace

std::vector<int64_t> PositionOf(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    position[i] = element % shape[i];
    element /= shape[i];
  }
  return position;
}

absl::StatusOr<TensorComparison> CompareTensor(const TensorSpec& spec, std::string_view actual,
                                               std::string_view reference,
                                               const Tolerance& tolerance, NanPolicy nan) {
  HELX_RETURN_IF_ERROR(CheckTolerance(tolerance.absolute, "absolute"));
  HELX_RETURN_IF_ERROR(CheckTolerance(tolerance.relative, "relative"));
  HELX_RETURN_IF_ERROR(Annotate(CheckTensorBytes(spec, actual), "actual"));
  HELX_RETURN_IF_ERROR(Annotate(CheckTensorBytes(spec, reference), "reference"));
  TensorComparison comparison;
  HELX_ASSIGN_OR_RETURN(comparison.elements, ElementCount(spec));
  const Totals totals = CompareStorage(spec.dtype, actual, reference, tolerance, nan, &comparison);
  comparison.mismatches = totals.mismatches;
  comparison.nonfinite_pairs = totals.nonfinite_pairs;
  if (totals.mismatches > 0) {
    const auto element = static_cast<size_t>(totals.first);
    comparison.first_difference = {totals.first, PositionOf(totals.first, spec.shape),
                                   ValueText(spec.dtype, actual, element),
                                   ValueText(spec.dtype, reference, element)};
  }
  return comparison;
}

}  // namespace helx
