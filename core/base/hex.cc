#include "core/base/hex.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace helx {
namespace {

int Nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Decodes 8 characters, the first in the lowest byte, to 4 bytes, likewise; sets bits of `bad` when
// one of them is not a digit.
uint32_t DecodeEight(uint64_t characters, uint64_t* bad) {
  constexpr uint64_t kOnes = 0x0101010101010101u;
  // '0'..'9' are 0x30 + n, 'a'..'f' are 0x57 + n, and only the latter have bit 6.
  const uint64_t nibbles = (characters & 0x0f * kOnes) + 9 * (characters >> 6 & kOnes);
  const uint64_t letters = (nibbles + 6 * kOnes) >> 4 & kOnes;  // 1 where n >= 10
  *bad |= (nibbles & 0xf0 * kOnes) | ((nibbles + 0x30 * kOnes + 0x27 * letters) ^ characters);
  uint64_t bytes = (nibbles << 4 | nibbles >> 8) & 0x00ff00ff00ff00ffu;
  bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffffu;
  return static_cast<uint32_t>(bytes | bytes >> 16);
}

// REQUIRES: `out` has half as many bytes as `text`.
absl::Status Decode(std::string_view text, uint8_t* out) {
  uint64_t bad = 0;
  size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; i + 8 <= text.size(); i += 8) {
      uint64_t characters = 0;
      std::memcpy(&characters, text.data() + i, sizeof(characters));
      const uint32_t bytes = DecodeEight(characters, &bad);
      std::memcpy(out + i / 2, &bytes, sizeof(bytes));
    }
  }
  // The rest, or everything again to name the first bad character.
  for (i = bad == 0 ? i : 0; i < text.size(); ++i) {
    const int nibble = Nibble(text[i]);
    if (nibble < 0) {
      return InvalidArgument("character " + std::to_string(i) +
                             " of hexadecimal text is not one of 0-9a-f (lower case, no prefix)");
    }
    out[i / 2] = static_cast<uint8_t>(out[i / 2] << 4 | nibble);
  }
  return absl::OkStatus();
}

// A byte container of the decoded text.
template <typename Bytes>
absl::StatusOr<Bytes> DecodeTo(std::string_view text) {
  if (text.size() % 2 != 0) {
    return InvalidArgument("hexadecimal text has an odd length (" + std::to_string(text.size()) +
                           " characters); two characters make one byte");
  }
  Bytes out(text.size() / 2, 0);
  HELX_RETURN_IF_ERROR(Decode(text, reinterpret_cast<uint8_t*>(out.data())));
  return out;
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
  return DecodeTo<std::vector<uint8_t>>(text);
}

absl::StatusOr<std::string> HexDecodeToString(std::string_view text) {
  return DecodeTo<std::string>(text);
}

std::string HexAddress(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%08llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace helx
