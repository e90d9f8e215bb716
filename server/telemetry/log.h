// The daemon's log: one JSON object a line on stderr, {"time", "level", "message", ...fields}.
#ifndef HELX_SERVER_TELEMETRY_LOG_H_
#define HELX_SERVER_TELEMETRY_LOG_H_

#include <string_view>

#include "core/base/json.h"

namespace helx::server {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Thread-safe. Bytes that are not UTF-8 are replaced.
void Log(LogLevel level, std::string_view message, const Json& fields = Json::object());

// Messages below this level are dropped; kInfo unless set.
void SetLogLevel(LogLevel level);

}  // namespace helx::server

#endif  // HELX_SERVER_TELEMETRY_LOG_H_
