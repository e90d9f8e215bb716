#include "core/bundle/verify.h"

#include <charconv>

#include "core/base/yaml_scalar.h"

namespace helx {
namespace {

absl::Status Refuse(size_t output, const char* code, const std::string& message) {
  return WithErrorCode(
      InvalidArgument("output " + std::to_string(output) + ": " + message + " [" + code + "]"),
      code);
}

absl::Status CheckSpec(const TensorSpec& actual, const TensorSpec& reference, size_t output) {
  if (actual.index != reference.index) {
    return Refuse(output, "wrong_order",
                  "the reference has the index " + std::to_string(reference.index));
  }
  if (actual.name != reference.name) {
    return Refuse(output, "wrong_name",
                  "the reference is named " + ShownText(reference.name) + ", the output " +
                      ShownText(actual.name));
  }
  if (actual.dtype != reference.dtype) {
    return Refuse(output, "wrong_dtype",
                  "the reference is " + std::string(DTypeName(reference.dtype)) + ", the output " +
                      std::string(DTypeName(actual.dtype)));
  }
  if (actual.shape != reference.shape) {
    return Refuse(output, "wrong_shape",
                  "the reference is " + SpecText(reference) + ", the output " + SpecText(actual));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> NumberOf(const std::string& text) {
  HELX_ASSIGN_OR_RETURN(const std::string shortest, ShortestNonNegative(text));
  double value = 0;
  std::from_chars(shortest.data(), shortest.data() + shortest.size(), value);
  return value;
}

TensorVerdict VerdictOf(int32_t output, TensorComparison comparison) {
  TensorVerdict verdict;
  verdict.output = output;
  verdict.elements = comparison.elements;
  verdict.mismatches = comparison.mismatches;
  verdict.nonfinite_pairs = comparison.nonfinite_pairs;
  verdict.max_abs_error = std::move(comparison.max_abs_error);
  if (comparison.first_difference) {
    ElementDifference& first = *comparison.first_difference;
    verdict.first_difference = {std::move(first.position), std::move(first.actual),
                                std::move(first.reference)};
  }
  return verdict;
}

}  // namespace

absl::StatusOr<Tolerance> ToleranceOf(const ToleranceText& text) {
  Tolerance tolerance;
  HELX_ASSIGN_OR_RETURN(tolerance.absolute, NumberOf(text.absolute));
  HELX_ASSIGN_OR_RETURN(tolerance.relative, NumberOf(text.relative));
  return tolerance;
}

absl::StatusOr<Verification> VerifyOutputs(const std::vector<TensorSpec>& outputs,
                                           const std::vector<std::string_view>& actual,
                                           int64_t reference_index,
                                           const std::vector<TensorSpec>& reference_specs,
                                           const std::vector<std::string_view>& reference,
                                           const ComparisonEntry& comparison) {
  if (outputs.size() != actual.size() || outputs.size() != reference.size() ||
      outputs.size() != reference_specs.size()) {
    return WithErrorCode(
        InvalidArgument("found " + std::to_string(reference.size()) + " reference tensors for " +
                        std::to_string(outputs.size()) + " outputs [output_count]"),
        "output_count");
  }
  std::vector<ToleranceText> tolerances(outputs.size(), comparison.default_tolerance);
  for (const auto& [output, tolerance] : comparison.per_tensor) {
    if (output < 0 || static_cast<size_t>(output) >= outputs.size()) {
      return Refuse(
          static_cast<size_t>(output), "unknown_output",
          "the policy names it, but there are " + std::to_string(outputs.size()) + " outputs");
    }
    tolerances[static_cast<size_t>(output)] = tolerance;
  }
  const NanPolicy nan = comparison.nan_match_both ? NanPolicy::kMatchBoth : NanPolicy::kNeverMatch;
  Verification verification;
  verification.reference_index = reference_index;
  verification.matched = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    HELX_RETURN_IF_ERROR(CheckSpec(outputs[i], reference_specs[i], i));
    HELX_ASSIGN_OR_RETURN(const Tolerance tolerance, ToleranceOf(tolerances[i]));
    auto compared = CompareTensor(outputs[i], actual[i], reference[i], tolerance, nan);
    if (!compared.ok()) {
      return Annotate(compared.status(), "output " + std::to_string(i));
    }
    verification.matched = verification.matched && compared->matched();
    verification.tensors.push_back(VerdictOf(static_cast<int32_t>(i), *std::move(compared)));
  }
  return verification;
}

absl::StatusOr<Verification> VerifySample(const LoadedBundle& bundle, int64_t sample,
                                          const std::vector<TensorData>& reference,
                                          const ComparisonEntry& comparison) {
  const ResultDocument& result = bundle.result;
  if (sample < 0 || static_cast<size_t>(sample) >= result.samples.size()) {
    return NotFound("there is no sample " + std::to_string(sample) + "; the result has " +
                    std::to_string(result.samples.size()));
  }
  std::vector<std::string> outputs;
  for (size_t k = 0; k < result.outputs.size(); ++k) {
    HELX_ASSIGN_OR_RETURN(outputs.emplace_back(), bundle.Output(static_cast<size_t>(sample), k));
  }
  const std::vector<std::string_view> actual(outputs.begin(), outputs.end());
  std::vector<TensorSpec> specs;
  std::vector<std::string_view> bytes;
  for (const TensorData& tensor : reference) {
    specs.push_back(tensor.spec);
    bytes.push_back(tensor.data);
  }
  return VerifyOutputs(result.outputs, actual, sample, specs, bytes, comparison);
}

}  // namespace helx
