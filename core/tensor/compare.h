// Numerical verification of one tensor against reference bytes.
//
// An element matches when abs(actual - reference) <= absolute + relative * abs(reference), in
// stored-value units, decided exactly over the rationals: no rounding of the difference, the
// product or the sum can change a verdict. Quantised values are compared as their stored integers.
// Matching signed infinities match whatever the tolerance; any other pair with an infinity
// mismatches; pairs with a NaN follow the policy.
#ifndef HELX_CORE_TENSOR_COMPARE_H_
#define HELX_CORE_TENSOR_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

enum class NanPolicy {
  kNeverMatch,
  kMatchBoth,  // a pair matches when both are NaN, whatever their payloads
};

// Finite and >= 0.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

struct ElementDifference {
  int64_t element = 0;            // row-major position in the flattened tensor
  std::vector<int64_t> position;  // the same in the tensor's shape; empty for a scalar
  std::string actual;             // exact decimal; hex of the stored bytes when not finite
  std::string reference;
};

struct TensorComparison {
  int64_t elements = 0;
  int64_t mismatches = 0;
  int64_t nonfinite_pairs = 0;  // pairs in which at least one value is an infinity or a NaN
  std::optional<std::string>
      max_abs_error;  // over the finite pairs, exact decimal; empty without one
  std::optional<ElementDifference> first_difference;  // the first element that mismatches

  bool matched() const { return mismatches == 0; }
};

// INVALID_ARGUMENT when a tolerance is negative or not finite, or when either side is not storage
// of `spec`.
absl::StatusOr<TensorComparison> CompareTensor(const TensorSpec& spec, std::string_view actual,
                                               std::string_view reference,
                                               const Tolerance& tolerance, NanPolicy nan);

// Row-major coordinates of a flattened element. REQUIRES: every dimension >= 1.
std::vector<int64_t> PositionOf(int64_t element, const std::vector<int64_t>& shape);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_COMPARE_H_
