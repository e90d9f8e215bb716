#include "server/telemetry/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

namespace helx::server {
namespace {

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto out = std::make_shared<spdlog::logger>("helxd",
                                                std::make_shared<spdlog::sinks::stderr_sink_mt>());
    out->set_pattern("%v");
    out->flush_on(spdlog::level::debug);
    return out;
  }();
  return *logger;
}

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    default:
      return spdlog::level::err;
  }
}

const char* NameOf(LogLevel level) {
  constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<int>(level)];
}

// RFC 3339 in UTC with microseconds.
std::string TimeNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const time_t seconds = micros / 1'000'000;
  struct tm parts {};
  gmtime_r(&seconds, &parts);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
  char out[48];
  std::snprintf(out, sizeof(out), "%s.%06dZ", date, static_cast<int>(micros % 1'000'000));
  return out;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(LevelOf(level)); }

void Log(LogLevel level, std::string_view message, const Json& fields) {
  if (!Logger().should_log(LevelOf(level))) return;
  Json line = fields;
  line["time"] = TimeNow();
  line["level"] = NameOf(level);
  line["message"] = message;
  Logger().log(LevelOf(level), "{}", line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace helx::server
