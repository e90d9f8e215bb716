#include "worker/engine/constants.h"

#include "core/base/sha256.h"

namespace helx::engine {

int64_t ConstantPool::Add(std::span<const uint8_t> bytes) {
  const auto [it, inserted] = offset_by_digest_.try_emplace(Sha256Hex(bytes), 0);
  if (inserted) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16, '\0');
    it->second = static_cast<int64_t>(bytes_.size());
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return it->second;
}

}  // namespace helx::engine
