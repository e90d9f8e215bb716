// SHA-256 as core/ops needs it: injected, so that this library depends on no implementation.
#ifndef HELX_CORE_OPS_HASH_H_
#define HELX_CORE_OPS_HASH_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace helx::ops {

using Digest = std::array<uint8_t, 32>;
using HashFunction = Digest (*)(std::string_view bytes);

// 64 lower-case hex digits.
std::string HexDigest(const Digest& digest);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_HASH_H_
