#include "core/base/hex.h"

namespace helx {
namespace {

int Nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string HexEncode(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(bytes.size() * 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    out[2 * i] = kDigits[bytes[i] >> 4];
    out[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return out;
}

absl::StatusOr<std::vector<uint8_t>> HexDecode(std::string_view text) {
  if (text.size() % 2 != 0) {
    return InvalidArgument("hexadecimal text has an odd length (" + std::to_string(text.size()) +
                           " characters); two characters make one byte");
  }
  std::vector<uint8_t> out(text.size() / 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const int nibble = Nibble(text[i]);
    if (nibble < 0) {
      return InvalidArgument("character " + std::to_string(i) +
                             " of hexadecimal text is not one of 0-9a-f (lower case, no prefix)");
    }
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | nibble);
  }
  return out;
}

}  // namespace helx
