// SHA-256 (FIPS 180-4) over OpenSSL.
#ifndef HELX_CORE_BASE_SHA256_H_
#define HELX_CORE_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace helx {

using Sha256Bytes = std::array<uint8_t, 32>;

// Incremental hash. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const uint8_t> data);
  void Update(std::string_view data);
  // The digest of everything seen. REQUIRES: called once, last.
  Sha256Bytes Finish();
  // The same as 64 lower-case hexadecimal characters.
  std::string FinishHex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Sha256Bytes Sha256Of(std::span<const uint8_t> data);
std::string Sha256Hex(std::span<const uint8_t> data);
std::string Sha256Hex(std::string_view data);

}  // namespace helx

#endif  // HELX_CORE_BASE_SHA256_H_
