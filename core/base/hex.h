// Lower-case hexadecimal without prefix.
#ifndef HELX_CORE_BASE_HEX_H_
#define HELX_CORE_BASE_HEX_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace helx {

std::string HexEncode(std::span<const uint8_t> bytes);

// INVALID_ARGUMENT naming the position for an odd length or a character outside 0-9a-f.
absl::StatusOr<std::vector<uint8_t>> HexDecode(std::string_view text);
// The same as text, whose characters are the bytes.
absl::StatusOr<std::string> HexDecodeToString(std::string_view text);

// An address as linkers write it: 0x and at least eight digits.
std::string HexAddress(uint64_t address);

}  // namespace helx

#endif  // HELX_CORE_BASE_HEX_H_
