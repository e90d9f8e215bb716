// How failures of the wire are told from failures of the work.
#ifndef HELX_CLIENT_CPP_ERRORS_H_
#define HELX_CLIENT_CPP_ERRORS_H_

#include <string>

#include "core/base/status.h"

namespace helx::client {

// UNAVAILABLE, marked as "no server answered".
absl::Status Unreachable(std::string_view message);
// Whether `status` (or one annotated from it) came from Unreachable.
bool IsUnreachable(const absl::Status& status);

// Whether the server answered with this error, so that its code speaks of the server's objects and not of local files.
absl::Status FromServer(absl::StatusCode code, std::string_view message);
bool IsFromServer(const absl::Status& status);

// CANCELLED: the caller's stop token was triggered.
absl::Status Interrupted();

// `status` with "context: " before its message, keeping its marks.
absl::Status WithContext(const absl::Status& status, std::string_view context);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_ERRORS_H_
