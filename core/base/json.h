// JSON as HELX writes and reads it: the helx.* canonical dialect.
//
// Canonical text is what Python's json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
// writes: UTF-8, keys sorted by code point, no white space. Canonical documents hold no floating-point numbers.
#ifndef HELX_CORE_BASE_JSON_H_
#define HELX_CORE_BASE_JSON_H_

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/base/digest.h"
#include "core/base/status.h"

namespace helx {

using Json = nlohmann::json;

// The canonical text. INVALID_ARGUMENT when a number is floating point or a string is not UTF-8.
absl::StatusOr<std::string> CanonicalJson(const Json& value);

// The same for people: two spaces of indentation and a last line feed; floats allowed, sorted keys.
std::string PrettyJson(const Json& value);

struct JsonLimits {
  size_t depth = 64;
  size_t bytes = 64u << 20;
};

// Strict RFC 8259 reader: refuses duplicate keys, comments, trailing text, invalid UTF-8, numbers outside 64 bits, and
// whatever passes the limits. Errors name the byte position.
absl::StatusOr<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Typed access with errors that name the path: field "name" of `object` ("where" is its place, for the message).
absl::StatusOr<std::string> JsonString(const Json& object, const char* name, std::string_view where);
absl::StatusOr<int64_t> JsonInt(const Json& object, const char* name, std::string_view where);
absl::StatusOr<bool> JsonBool(const Json& object, const char* name, std::string_view where);
// The member itself; the pointer lives as long as `object`.
absl::StatusOr<const Json*> JsonMember(const Json& object, const char* name,
                                       std::string_view where);

// The member `name` of an object, which must be a list.
absl::StatusOr<const Json*> JsonList(const Json& object, const char* name, std::string_view where);

// The path of a list's item in messages: "list[3]".
std::string ItemPath(std::string_view list, size_t i);

// {"sha256": hash, "size": bytes}, and back.
Json DigestToJson(const Digest& digest);
absl::StatusOr<Digest> DigestFromJson(const Json& value, std::string_view where);

// Whether `text` is well-formed UTF-8 without NUL.
bool IsUtf8(std::string_view text);

}  // namespace helx

#endif  // HELX_CORE_BASE_JSON_H_
