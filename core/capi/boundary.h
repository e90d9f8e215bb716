// What every function of the C ABI shares: borrowed bytes in, a buffer or an error out, no exception.
#ifndef HELX_CORE_CAPI_BOUNDARY_H_
#define HELX_CORE_CAPI_BOUNDARY_H_

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/bundle/verify.h"
#include "core/capi/helx_core.h"

namespace helx::capi {

inline std::string_view View(helx_bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), bytes.data == nullptr ? 0 : bytes.size};
}

// Gives `out` the result or the error's JSON; the status number.
int Deliver(const absl::StatusOr<std::string>& result, helx_buffer* out) noexcept;

// Runs `work`, which returns absl::StatusOr<std::string>, and delivers what it gives or throws.
template <typename Work>
int Call(helx_buffer* out, Work work) noexcept {
  try {
    return Deliver(work(), out);
  } catch (const std::bad_alloc&) {
    return Deliver(absl::ResourceExhaustedError("out of memory"), out);
  } catch (const std::exception& e) {
    return Deliver(absl::InternalError(e.what()), out);
  } catch (...) {
    return Deliver(absl::InternalError("unknown failure"), out);
  }
}

// Compact JSON text; floats allowed.
std::string Compact(const Json& value);
Json TextOrNull(const std::optional<std::string>& text);
Json IdentityToJson(const InputIdentity& identity);

absl::StatusOr<Json> ParseArgument(helx_bytes text, std::string_view name);
absl::StatusOr<TensorSpec> ParseSpec(helx_bytes text);
// A POLICY of the header, in the form the core's own reader takes.
absl::StatusOr<ComparisonEntry> ParsePolicy(helx_bytes text);

}  // namespace helx::capi

#endif  // HELX_CORE_CAPI_BOUNDARY_H_
