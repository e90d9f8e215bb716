// How this folder refuses evidence: DATA_LOSS "<code>: <what was found, what is expected>", the
// code also as ErrorCodeOf.
#ifndef HELX_CORE_BUNDLE_REFUSAL_H_
#define HELX_CORE_BUNDLE_REFUSAL_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx {

inline absl::Status RefuseEvidence(std::string_view code, std::string_view message) {
  return WithErrorCode(DataLoss(std::string(code) + ": " + std::string(message)), code);
}

// A non-OK status of a parser as a refusal with that code.
inline absl::Status RefuseEvidence(std::string_view code, const absl::Status& cause) {
  return RefuseEvidence(code, MessageOf(cause));
}

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_REFUSAL_H_
