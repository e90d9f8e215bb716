// Status helpers. Functions of this project return absl::Status or absl::StatusOr and throw
// nothing.
#ifndef HELX_CORE_BASE_STATUS_H_
#define HELX_CORE_BASE_STATUS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace helx {

// The message of a status as a std::string.
std::string MessageOf(const absl::Status& status);

// `status` with "context: " before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// A status that also carries a stable error code ("artifact_modified") which survives Annotate. The
// caller decides where the code stands in the message.
absl::Status WithErrorCode(absl::Status status, std::string_view error_code);
// The error code of a status made by WithErrorCode, or "".
std::string ErrorCodeOf(const absl::Status& status);

absl::Status InvalidArgument(std::string_view message);
absl::Status NotFound(std::string_view message);
absl::Status DataLoss(std::string_view message);
absl::Status FailedPrecondition(std::string_view message);
absl::Status Internal(std::string_view message);

}  // namespace helx

#define HELX_CONCAT_INNER(a, b) a##b
#define HELX_CONCAT(a, b) HELX_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` is a non-OK absl::Status.
#define HELX_RETURN_IF_ERROR(expr)             \
  do {                                         \
    absl::Status helx_status = (expr);         \
    if (!helx_status.ok()) return helx_status; \
  } while (false)

// Assigns the value of a StatusOr to `lhs`, or returns its status.
#define HELX_ASSIGN_OR_RETURN(lhs, expr) \
  HELX_ASSIGN_OR_RETURN_INNER(HELX_CONCAT(helx_statusor_, __LINE__), lhs, expr)
#define HELX_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                                \
  if (!tmp.ok()) return tmp.status();               \
  lhs = *std::move(tmp)

#endif  // HELX_CORE_BASE_STATUS_H_
