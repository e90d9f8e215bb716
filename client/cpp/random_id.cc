#include "client/cpp/random_id.h"

#include <array>
#include <cstdint>
#include <random>

#include "core/base/hex.h"

namespace helx::client {

std::string RandomId() {
  std::random_device device;
  std::array<uint8_t, 16> bytes;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const uint32_t word = device();
    for (size_t j = 0; j < 4; ++j) bytes[i + j] = static_cast<uint8_t>(word >> (8 * j));
  }
  return HexEncode(bytes);
}

}  // namespace helx::client
