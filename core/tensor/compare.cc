#include "core/tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/base/yaml_scalar.h"
#include "core/tensor/compare_kernel.h"
#include "core/tensor/dyadic.h"
#include "core/tensor/float16.h"
#include "core/tensor/tensor_data.h"

namespace helx {
namespace {

template <typename T>
T Load(std::string_view bytes, size_t element) {
  T value;
  std::memcpy(&value, bytes.data() + element * sizeof(T), sizeof(T));
  return value;
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

// The largest difference that an absolute tolerance alone allows.
uint64_t WholeAllowance(double absolute) {
  return absolute >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(absolute);
}

// The elements from `begin` on.
template <typename T>
void CompareIntegers(size_t begin, std::string_view actual, std::string_view reference,
                     const Tolerance& tolerance, CompareTotals* totals, TensorComparison* out) {
  const size_t count = actual.size() / sizeof(T);
  const uint64_t allowance = WholeAllowance(tolerance.absolute);
  // Kernels take no type whose differences a double would round.
  auto max_difference = static_cast<uint64_t>(totals->max.rounded);
  for (size_t i = begin; i < count; ++i) {
    const int64_t a = Load<T>(actual, i);
    const int64_t r = Load<T>(reference, i);
    // Modular arithmetic gives the exact difference of two 64-bit integers.
    const uint64_t difference = a > r ? static_cast<uint64_t>(a) - static_cast<uint64_t>(r)
                                      : static_cast<uint64_t>(r) - static_cast<uint64_t>(a);
    max_difference = std::max(max_difference, difference);
    if (difference <= allowance) continue;
    if (tolerance.relative == 0 || !IntegerWithin(difference, Magnitude(r), tolerance)) {
      totals->CountMismatch(i);
    }
  }
  out->max_abs_error = std::to_string(max_difference);
}

template <typename ToDouble>
void CompareFloats(size_t begin, size_t count, ToDouble actual, ToDouble reference,
                   const Tolerance& tolerance, NanPolicy nan, CompareTotals* totals,
                   TensorComparison* out) {
  for (size_t i = begin; i < count; ++i) {
    const double a = actual(i);
    const double r = reference(i);
    if (std::isfinite(a - r)) {
      totals->any_finite = true;
      totals->max.Take(DistanceOf(a, r));
    } else {
      // float32 differences never overflow a double: at least one of the two is not finite.
      ++totals->nonfinite_pairs;
    }
    if (!FloatPairMatches(a, r, tolerance, nan)) totals->CountMismatch(i);
  }
  if (totals->any_finite) out->max_abs_error = totals->max.ToDecimal();
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

CompareTotals CompareStorage(CompareIsa isa, DType dtype, std::string_view actual,
                             std::string_view reference, const Tolerance& tolerance, NanPolicy nan,
                             TensorComparison* out) {
  CompareTotals totals;
  const size_t begin = isa == CompareIsa::kAvx2
                           ? CompareLeadingAvx2(dtype, actual, reference, tolerance, nan, &totals)
                           : 0;
  const auto integers = [&]<typename T>(T) {
    CompareIntegers<T>(begin, actual, reference, tolerance, &totals, out);
  };
  const auto floats = [&](auto at) {
    const auto view = [at](std::string_view bytes) {
      return [at, bytes](size_t element) -> double { return at(bytes, element); };
    };
    CompareFloats(begin, actual.size() / DTypeSize(dtype), view(actual), view(reference), tolerance,
                  nan, &totals, out);
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kUint8:
      integers(uint8_t{});
      break;
    case DType::kInt8:
      integers(int8_t{});
      break;
    case DType::kInt16:
      integers(int16_t{});
      break;
    case DType::kInt32:
      integers(int32_t{});
      break;
    case DType::kInt64:
      integers(int64_t{});
      break;
    case DType::kFloat16:
      floats(Float16At);
      break;
    case DType::kFloat32:
      floats([](std::string_view bytes, size_t element) -> double {
        return Load<float>(bytes, element);
      });
      break;
  }
  return totals;
}

absl::Status CheckTolerance(double value, const char* which) {
  const absl::Status status = ShortestNonNegative(value).status();
  if (status.ok()) return status;
  return WithErrorCode(
      InvalidArgument(std::string("the ") + which + " tolerance: " + MessageOf(status)),
      ErrorCodeOf(status));
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
  return CompareTensorWith(BestCompareIsa(), spec, actual, reference, tolerance, nan);
}

absl::StatusOr<TensorComparison> CompareTensorWith(CompareIsa isa, const TensorSpec& spec,
                                                   std::string_view actual,
                                                   std::string_view reference,
                                                   const Tolerance& tolerance, NanPolicy nan) {
  HELX_RETURN_IF_ERROR(CheckTolerance(tolerance.absolute, "absolute"));
  HELX_RETURN_IF_ERROR(CheckTolerance(tolerance.relative, "relative"));
  HELX_RETURN_IF_ERROR(Annotate(CheckTensorBytes(spec, actual), "actual"));
  HELX_RETURN_IF_ERROR(Annotate(CheckTensorBytes(spec, reference), "reference"));
  TensorComparison comparison;
  HELX_ASSIGN_OR_RETURN(comparison.elements, ElementCount(spec));
  const CompareTotals totals =
      CompareStorage(isa, spec.dtype, actual, reference, tolerance, nan, &comparison);
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
