#include "server/scheduler/names.h"

#include <algorithm>
#include <cstdio>

namespace helx::server {
namespace {

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-'; }

}  // namespace

std::string Quoted(std::string_view value) {
  std::string out = "\"";
  for (char c : value.substr(0, 80)) {
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      out.push_back(c);
    } else {
      char hex[5];
      std::snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
      out += hex;
    }
  }
  return out + (value.size() > 80 ? "...\"" : "\"");
}

absl::Status CheckName(std::string_view field, std::string_view value) {
  if (!value.empty() && value.size() <= 64 && IsAlphanumeric(value[0]) &&
      std::all_of(value.begin(), value.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return InvalidArgument(std::string(field) + " is " + Quoted(value) +
                         "; allowed are 1 to 64 characters A-Za-z0-9._- beginning with a letter or "
                         "a digit");
}

absl::Status CheckToken(std::string_view field, std::string_view value) {
  if (!value.empty() && value.size() <= 64 &&
      std::all_of(value.begin(), value.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return InvalidArgument(std::string(field) + " is " + Quoted(value) +
                         "; allowed are 1 to 64 characters A-Za-z0-9._-");
}

absl::Status CheckText(std::string_view field, std::string_view value, size_t limit) {
  if (value.size() > limit) {
    return InvalidArgument(std::string(field) + " has " + std::to_string(value.size()) +
                           " bytes; at most " + std::to_string(limit) + " are allowed");
  }
  for (char c : value) {
    if (static_cast<uint8_t>(c) < 0x20 || c == 0x7f) {
      return InvalidArgument(std::string(field) + " is " + Quoted(value) +
                             "; control characters are not allowed");
    }
  }
  return absl::OkStatus();
}

}  // namespace helx::server
