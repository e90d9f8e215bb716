// Little-endian fields and the checksum of the frame stream and the loader block.
#ifndef HELX_WORKER_COLLECT_WIRE_H_
#define HELX_WORKER_COLLECT_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace helx::collect {

// REQUIRES: the field lies inside `bytes`.
inline uint16_t LoadU16(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) |
                               static_cast<uint8_t>(bytes[at + 1]) << 8);
}
inline uint32_t LoadU32(std::string_view bytes, size_t at) {
  return LoadU16(bytes, at) | static_cast<uint32_t>(LoadU16(bytes, at + 2)) << 16;
}
inline uint64_t LoadU64(std::string_view bytes, size_t at) {
  return LoadU32(bytes, at) | static_cast<uint64_t>(LoadU32(bytes, at + 4)) << 32;
}
inline void AppendU16(std::string* out, uint16_t value) {
  out->push_back(static_cast<char>(value));
  out->push_back(static_cast<char>(value >> 8));
}
inline void AppendU32(std::string* out, uint32_t value) {
  AppendU16(out, static_cast<uint16_t>(value));
  AppendU16(out, static_cast<uint16_t>(value >> 16));
}

// CRC-32 (IEEE 802.3, reflected), as zlib's crc32.
uint32_t Crc32(std::string_view bytes);

}  // namespace helx::collect

#endif  // HELX_WORKER_COLLECT_WIRE_H_
