#include "core/base/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>

#include "core/base/hex.h"

namespace helx {

struct Sha256::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  // Fails only when memory is exhausted or OpenSSL lacks SHA-256: no answer would be trustworthy.
  if (context_->md == nullptr || EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr) != 1) {
    std::abort();
  }
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const uint8_t> data) {
  EVP_DigestUpdate(context_->md, data.data(), data.size());
}

void Sha256::Update(std::string_view data) {
  EVP_DigestUpdate(context_->md, data.data(), data.size());
}

Sha256Bytes Sha256::Finish() {
  Sha256Bytes out{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->md, out.data(), &size);
  return out;
}

std::string Sha256::FinishHex() { return HexEncode(Finish()); }

Sha256Bytes Sha256Of(std::span<const uint8_t> data) {
  Sha256 hash;
  hash.Update(data);
  return hash.Finish();
}

std::string Sha256Hex(std::span<const uint8_t> data) { return HexEncode(Sha256Of(data)); }

std::string Sha256Hex(std::string_view data) {
  Sha256 hash;
  hash.Update(data);
  return hash.FinishHex();
}

}  // namespace helx
