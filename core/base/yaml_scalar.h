// What plain YAML scalars may be taken for, and strict decoders that take them for one thing only.
//
// YAML 1.1 and 1.2 readers disagree on plain scalars: `no`, `y` and `off` are booleans to some,
// `010` is 8, `1:30` is 90, `1e3` is text or a number. A field that wants text refuses all of them
// unquoted; a field that wants a number or a boolean takes one spelling that every reader agrees
// on.
#ifndef HELX_CORE_BASE_YAML_SCALAR_H_
#define HELX_CORE_BASE_YAML_SCALAR_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx {

// What some YAML reader takes this plain scalar for besides text: "null", "a boolean", "a number";
// "" for none.
std::string_view PlainScalarAmbiguity(std::string_view text);

// Whether the text is 0, or an optional '-' and digits without leading zero.
bool IsPlainInteger(std::string_view text);

// 0, or an optional '-' and digits without leading zero; nullopt otherwise or outside int64.
std::optional<int64_t> ParsePlainInteger(std::string_view text);

// A JSON number >= 0 (RFC 8259 section 6) that is finite as a double, as the shortest text that
// reads back as the same double; -0 gives "0". INVALID_ARGUMENT otherwise, with an error code:
// not_a_number, not_finite, negative_number.
absl::StatusOr<std::string> ShortestNonNegative(std::string_view text);
// The same for a double.
absl::StatusOr<std::string> ShortestNonNegative(double value);
// The shortest text that reads back as the same finite double; -0 gives "0".
std::string ShortestText(double value);

// The one of `known` with the least edit distance (Levenshtein) from `text`, when that is at most a
// third of the longer of the two plus one; else "".
std::string_view NearestName(std::string_view text, std::span<const std::string_view> known);
std::string_view NearestName(std::string_view text, std::initializer_list<std::string_view> known);

// At most 60 bytes of `text` for a message, in double quotes; control characters and broken UTF-8
// as '?'.
std::string ShownText(std::string_view text);

// "a, b, c".
std::string JoinNames(std::initializer_list<std::string_view> names);

}  // namespace helx

#endif  // HELX_CORE_BASE_YAML_SCALAR_H_
