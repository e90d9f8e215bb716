// The name of some bytes: their SHA-256 and their count.
#ifndef HELX_CORE_BASE_DIGEST_H_
#define HELX_CORE_BASE_DIGEST_H_

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx {

struct Digest {
  std::string hash;        // 64 lower-case hexadecimal characters
  int64_t size_bytes = 0;  // >= 0

  friend auto operator<=>(const Digest&, const Digest&) = default;
  friend bool operator==(const Digest&, const Digest&) = default;

  // "{hash}/{size}".
  std::string ToString() const { return hash + "/" + std::to_string(size_bytes); }
};

Digest DigestOf(std::span<const uint8_t> bytes);
Digest DigestOf(std::string_view bytes);

// Whether `hash` is 64 lower-case hexadecimal characters.
bool IsSha256Hex(std::string_view hash);

// INVALID_ARGUMENT unless hash and size are well formed.
absl::Status CheckDigest(const Digest& digest);

// Parses "{hash}/{size}".
absl::StatusOr<Digest> ParseDigest(std::string_view text);

}  // namespace helx

#endif  // HELX_CORE_BASE_DIGEST_H_
