#include "core/base/digest.h"

#include <charconv>

#include "core/base/sha256.h"

namespace helx {

Digest DigestOf(std::span<const uint8_t> bytes) {
  return Digest{Sha256Hex(bytes), static_cast<int64_t>(bytes.size())};
}

Digest DigestOf(std::string_view bytes) {
  return Digest{Sha256Hex(bytes), static_cast<int64_t>(bytes.size())};
}

bool IsSha256Hex(std::string_view hash) {
  if (hash.size() != 64) return false;
  for (char c : hash) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

absl::Status CheckDigest(const Digest& digest) {
  if (!IsSha256Hex(digest.hash)) {
    return InvalidArgument("digest hash is not 64 lower-case hexadecimal characters");
  }
  if (digest.size_bytes < 0) return InvalidArgument("digest size is negative");
  return absl::OkStatus();
}

absl::StatusOr<Digest> ParseDigest(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return InvalidArgument("a digest is written {sha-256}/{size in bytes}");
  }
  Digest digest{std::string(text.substr(0, slash)), 0};
  const std::string_view size = text.substr(slash + 1);
  const auto [end, error] =
      std::from_chars(size.data(), size.data() + size.size(), digest.size_bytes);
  if (error != std::errc() || end != size.data() + size.size() || size.empty()) {
    return InvalidArgument("the size of a digest is not a decimal integer");
  }
  HELX_RETURN_IF_ERROR(CheckDigest(digest));
  return digest;
}

}  // namespace helx
