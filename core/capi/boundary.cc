#include "core/capi/boundary.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/json_numbers.h"
#include "core/base/yaml_scalar.h"

namespace helx::capi {
namespace {

bool Fill(helx_buffer* out, std::string_view content) {
  *out = {nullptr, 0};
  if (content.empty()) return true;
  auto* data = static_cast<uint8_t*>(std::malloc(content.size()));
  if (data == nullptr) return false;
  std::memcpy(data, content.data(), content.size());
  *out = {data, content.size()};
  return true;
}

// "INVALID_ARGUMENT" -> "invalid_argument".
std::string CodeOf(const absl::Status& status) {
  std::string code = ErrorCodeOf(status);
  if (!code.empty()) return code;
  code = absl::StatusCodeToString(status.code());
  std::transform(code.begin(), code.end(), code.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return code;
}

// One of a tolerance's numbers as the shortest text of its double.
absl::StatusOr<std::string> NumberText(const Json& tolerance, const char* name) {
  const auto it = tolerance.find(name);
  if (it == tolerance.end()) return std::string("0");
  const std::string text = it->is_string() ? it->get<std::string>() : Compact(*it);
  auto shortest = ShortestNonNegative(text);
  if (shortest.ok()) return shortest;
  return WithErrorCode(InvalidArgument(std::string("policy: the ") + name +
                                       " tolerance: " + MessageOf(shortest.status())),
                       ErrorCodeOf(shortest.status()));
}

absl::StatusOr<Json> ToleranceInText(const Json& tolerance) {
  if (!tolerance.is_object()) {
    return InvalidArgument("policy: a tolerance is {\"absolute\": ..., \"relative\": ...}");
  }
  Json text = tolerance;
  HELX_ASSIGN_OR_RETURN(text["absolute"], NumberText(tolerance, "absolute"));
  HELX_ASSIGN_OR_RETURN(text["relative"], NumberText(tolerance, "relative"));
  return text;
}

}  // namespace

int Deliver(const absl::StatusOr<std::string>& result, helx_buffer* out) noexcept {
  if (out == nullptr) return static_cast<int>(absl::StatusCode::kInvalidArgument);
  *out = {nullptr, 0};
  try {
    if (result.ok()) {
      return Fill(out, *result) ? 0 : static_cast<int>(absl::StatusCode::kResourceExhausted);
    }
    Fill(out,
         Compact(Json{{"code", CodeOf(result.status())}, {"message", MessageOf(result.status())}}));
    return static_cast<int>(result.status().code());
  } catch (...) {
    // Only memory can fail here: the number alone has to do.
    return static_cast<int>(absl::StatusCode::kResourceExhausted);
  }
}

std::string Compact(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json TextOrNull(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

Json IdentityToJson(const InputIdentity& identity) {
  const std::string& reason = identity.unavailable_reason;
  return Json{{"canonical_json", TextOrNull(identity.canonical_json)},
              {"sequence_canonical_json", TextOrNull(identity.sequence_canonical_json)},
              {"sequence_value", TextOrNull(identity.sequence_value)},
              {"unavailable_reason", reason.empty() ? Json() : Json(reason)},
              {"value", TextOrNull(identity.value)}};
}

absl::StatusOr<Json> ParseArgument(helx_bytes text, std::string_view name) {
  auto value = ParseJson(View(text));
  if (!value.ok()) return Annotate(value.status(), name);
  return value;
}

absl::StatusOr<TensorSpec> ParseSpec(helx_bytes text) {
  HELX_ASSIGN_OR_RETURN(const Json value, ParseArgument(text, "spec"));
  return SpecFromJson(value, "spec");
}

absl::StatusOr<ComparisonEntry> ParsePolicy(helx_bytes text) {
  const auto parsed = ParseJsonWithWideIntegers(View(text));
  if (!parsed.ok()) {
    return WithErrorCode(Annotate(parsed.status(), "policy"), ErrorCodeOf(parsed.status()));
  }
  const Json& value = *parsed;
  if (!value.is_object()) return InvalidArgument("policy is not an object");
  for (const auto& [name, member] : value.items()) {
    if (name != "default" && name != "nan" && name != "per_tensor") {
      return InvalidArgument("policy has the unknown member " + ShownText(name) +
                             "; allowed: default, nan, per_tensor");
    }
  }
  Json policy{{"nan", value.value("nan", Json("never_match"))}, {"per_tensor", Json::array()}};
  HELX_ASSIGN_OR_RETURN(policy["default"], ToleranceInText(value.value("default", Json::object())));
  Json overrides = value.value("per_tensor", Json::array());
  if (!overrides.is_array()) return InvalidArgument("policy.per_tensor is not a list");
  for (const Json& entry : overrides) {
    HELX_ASSIGN_OR_RETURN(Json tolerance, ToleranceInText(entry));
    policy["per_tensor"].push_back(std::move(tolerance));
  }
  // Any order will do here; the reader refuses an output that is named twice.
  std::sort(policy["per_tensor"].begin(), policy["per_tensor"].end(),
            [](const Json& a, const Json& b) {
              return a.value("output", Json()) < b.value("output", Json());
            });
  return ComparisonFromJson(policy, "policy");
}

}  // namespace helx::capi

extern "C" {

int helx_core_abi_version(void) { return HELX_CORE_ABI_VERSION; }

void helx_free(helx_buffer* buffer) {
  if (buffer == nullptr) return;
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

}  // extern "C"
