// The names that come over the wire, checked at the edge. Each check answers INVALID_ARGUMENT with
// the field, what was found (shortened, printable) and what is allowed.
#ifndef HELX_SERVER_SCHEDULER_NAMES_H_
#define HELX_SERVER_SCHEDULER_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace helx::server {

// [A-Za-z0-9][A-Za-z0-9._-]{0,63}
absl::Status CheckName(std::string_view field, std::string_view value);
// [A-Za-z0-9._-]{1,64}
absl::Status CheckToken(std::string_view field, std::string_view value);
// At most `limit` bytes without control characters.
absl::Status CheckText(std::string_view field, std::string_view value, size_t limit);

// `value` in quotes, at most 80 characters, everything but printable ASCII as \xNN.
std::string Quoted(std::string_view value);

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_NAMES_H_
