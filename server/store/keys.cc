#include "server/store/keys.h"

#include "core/base/hex.h"

namespace helx::server {
namespace {

std::string BlobPrefix(std::string_view instance, const Digest& digest) {
  std::string key(instance);
  key.push_back('\0');
  const auto bytes = HexDecode(digest.hash);
  if (bytes.ok()) key.append(bytes->begin(), bytes->end());
  key += BigEndian64(static_cast<uint64_t>(digest.size_bytes));
  return key;
}

}  // namespace

std::string BigEndian64(uint64_t value) {
  std::string out(8, '\0');
  for (int i = 7; i >= 0; --i, value >>= 8) out[i] = static_cast<char>(value & 0xff);
  return out;
}

uint64_t FromBigEndian64(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

std::string BigEndian32(uint32_t value) { return BigEndian64(value).substr(4); }

std::string BlobChunkKey(std::string_view instance, const Digest& digest, uint32_t chunk) {
  return BlobPrefix(instance, digest) + "c" + BigEndian32(chunk);
}

std::string BlobMetaKey(std::string_view instance, const Digest& digest) {
  return BlobPrefix(instance, digest);
}

Digest BlobOfMetaKey(std::string_view key) {
  const std::string_view hash = key.substr(key.size() - 40, 32);
  return {HexEncode({reinterpret_cast<const uint8_t*>(hash.data()), hash.size()}),
          static_cast<int64_t>(FromBigEndian64(key.substr(key.size() - 8)))};
}

std::string JobPrefix(std::string_view instance) { return InstanceKey(instance, "j"); }

std::string JobKey(std::string_view instance, std::string_view id) {
  return JobPrefix(instance).append(id);
}

std::string JobEventPrefix(std::string_view instance, std::string_view id) {
  std::string key = InstanceKey(instance, "e");
  key.append(id);
  key.push_back('\0');
  return key;
}

std::string JobEventKey(std::string_view instance, std::string_view id, uint64_t sequence) {
  return JobEventPrefix(instance, id) + BigEndian64(sequence);
}

std::string InstanceKey(std::string_view instance, std::string_view part) {
  std::string key(instance);
  key.push_back('\0');
  key.append(part);
  return key;
}

std::string InstanceKey(std::string_view instance, std::string_view part, std::string_view id) {
  std::string key = InstanceKey(instance, part);
  key.push_back('\0');
  key.append(id);
  return key;
}

std::string_view LastPart(std::string_view key) { return key.substr(key.rfind('\0') + 1); }

std::string_view FirstPart(std::string_view key) { return key.substr(0, key.find('\0')); }

}  // namespace helx::server
