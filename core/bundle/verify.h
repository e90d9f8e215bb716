// The verdict on one sample's outputs.
#ifndef HELX_CORE_BUNDLE_VERIFY_H_
#define HELX_CORE_BUNDLE_VERIFY_H_

#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/bundle/result.h"
#include "core/bundle/reader.h"
#include "core/tensor/compare.h"
#include "core/tensor/tensor_data.h"

namespace helx {

// The two numbers of a tolerance. INVALID_ARGUMENT unless both are finite and >= 0.
absl::StatusOr<Tolerance> ToleranceOf(const ToleranceText& text);

// Compares every output with the reference of the same ordinal. `actual` and `reference` hold the
// bytes in the order of `outputs` and `reference_specs`. INVALID_ARGUMENT when count, name, dtype,
// shape or storage disagree (codes output_count, wrong_name, wrong_dtype, wrong_shape,
// wrong_length, boolean_byte), or when the policy names an output that does not exist
// (unknown_output).
absl::StatusOr<Verification> VerifyOutputs(const std::vector<TensorSpec>& outputs,
                                           const std::vector<std::string_view>& actual,
                                           int64_t reference_index,
                                           const std::vector<TensorSpec>& reference_specs,
                                           const std::vector<std::string_view>& reference,
                                           const ComparisonEntry& comparison);

// Compares a sample's retained outputs with reference tensors, without running anything; the
// verdict's reference_index is the sample's number. Errors as VerifyOutputs; NOT_FOUND when there is
// no such sample or it retains no outputs; DATA_LOSS when the bundle changed since it was loaded.
absl::StatusOr<Verification> VerifySample(const LoadedBundle& bundle, int64_t sample,
                                          const std::vector<TensorData>& reference,
                                          const ComparisonEntry& comparison);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_VERIFY_H_
