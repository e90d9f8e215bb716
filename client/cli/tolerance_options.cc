#include "client/cli/tolerance_options.h"

#include <algorithm>

#include "core/base/yaml_scalar.h"

namespace helx::cli {
namespace {

absl::StatusOr<std::string> Number(const std::string& option, const std::string& text) {
  auto number = ShortestNonNegative(text);
  if (number.ok()) return number;
  return WithErrorCode(InvalidArgument(option + ": " + MessageOf(number.status())),
                       ErrorCodeOf(number.status()));
}

// "0:1:0.5" as output 0, absolute 1, relative 0.5.
absl::StatusOr<std::pair<int32_t, ToleranceText>> OutputTolerance(const std::string& text) {
  const size_t first = text.find(':');
  const size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  const auto output = ParsePlainInteger(text.substr(0, std::min(first, text.size())));
  if (second == std::string::npos || !output || *output < 0 || *output > 100'000) {
    return InvalidArgument("--tolerance '" + text +
                           "': allowed is OUTPUT:ABSOLUTE:RELATIVE, for "
                           "instance 0:1:0");
  }
  ToleranceText tolerance;
  HELX_ASSIGN_OR_RETURN(tolerance.absolute,
                        Number("--tolerance", text.substr(first + 1, second - first - 1)));
  HELX_ASSIGN_OR_RETURN(tolerance.relative, Number("--tolerance", text.substr(second + 1)));
  return std::pair(static_cast<int32_t>(*output), std::move(tolerance));
}

}  // namespace

void ToleranceOptions::Configure(Options& options) {
  options.Text("--absolute", absolute_, "Absolute tolerance in stored-value units (default 0)");
  options.Text("--relative", relative_, "Tolerance relative to the reference (default 0)");
  options.Texts("--tolerance", per_tensor_,
                "OUTPUT:ABSOLUTE:RELATIVE for one output, in place of the default");
  options.Flag("--nan-match-both", nan_match_both_, "A pair matches when both values are NaN");
}

absl::StatusOr<ComparisonEntry> ToleranceOptions::Policy() const {
  ComparisonEntry policy;
  HELX_ASSIGN_OR_RETURN(policy.default_tolerance.absolute, Number("--absolute", absolute_));
  HELX_ASSIGN_OR_RETURN(policy.default_tolerance.relative, Number("--relative", relative_));
  for (const std::string& text : per_tensor_) {
    HELX_ASSIGN_OR_RETURN(policy.per_tensor.emplace_back(), OutputTolerance(text));
  }
  std::sort(policy.per_tensor.begin(), policy.per_tensor.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < policy.per_tensor.size(); ++i) {
    if (policy.per_tensor[i].first == policy.per_tensor[i - 1].first) {
      return InvalidArgument("--tolerance names output " +
                             std::to_string(policy.per_tensor[i].first) + " twice");
    }
  }
  policy.nan_match_both = nan_match_both_;
  return policy;
}

}  // namespace helx::cli
