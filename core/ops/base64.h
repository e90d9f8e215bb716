// Base64 of RFC 4648 section 4: padded, no line breaks, unused bits zero.
#ifndef HELX_CORE_OPS_BASE64_H_
#define HELX_CORE_OPS_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace helx::ops {

std::string Base64Encode(std::string_view bytes);

// Empty when `text` is not the encoding of any byte string.
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_BASE64_H_
