#include "server/store/log_check.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "core/base/file.h"

namespace helx::server {
namespace {

// The log format of RocksDB ("Write Ahead Log File Format" in its wiki): blocks of 32 KiB; records
// of checksum (4 bytes, little-endian), length (2), type (1) and payload; no header is begun in the
// last six bytes of a block, which are zeros.
constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kLogBytesMax = size_t{1} << 30;

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    // CRC-32C, RFC 3720 B.4: the polynomial 1EDC6F41 with its bits reversed.
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t Extend(uint32_t state, char byte) {
  return (state >> 8) ^ kTable[(state ^ static_cast<uint8_t>(byte)) & 0xFF];
}

// The form in which a checksum is stored.
uint32_t Masked(uint32_t state) {
  const uint32_t crc = ~state;
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

uint32_t Little(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

bool AllZero(std::string_view bytes) { return bytes.find_first_not_of('\0') == bytes.npos; }

// Whether a checksum over the type and some first bytes of `payload` is the stored one.
bool FitsFewerBytes(uint32_t stored, char type, std::string_view payload) {
  uint32_t state = Extend(~0u, type);
  for (const char byte : payload) {
    if (Masked(state) == stored) return true;
    state = Extend(state, byte);
  }
  return Masked(state) == stored;
}

absl::Status DamagedAt(const std::string& name, size_t position) {
  return DataLoss(name + " is damaged at byte " + std::to_string(position) +
                  ", and records follow");
}

}  // namespace

absl::Status CheckLog(const std::string& name, const std::string& content) {
  const std::string_view log = content;
  for (size_t at = 0; at < log.size();) {
    const size_t block_end = at - at % kBlockBytes + kBlockBytes;
    if (block_end - at < kHeaderBytes) {
      at = block_end;
      continue;
    }
    const std::string_view rest = log.substr(at);
    if (rest.size() < kHeaderBytes) break;
    const size_t length = Little(rest.substr(4, 2));
    const char type = rest[6];
    if (length == 0 && type == 0) {
      if (!AllZero(rest)) return DamagedAt(name, at);
      break;
    }
    const size_t room = std::min(block_end - at, rest.size()) - kHeaderBytes;
    if (length > room) {
      // Within the file RocksDB complains itself.
      if (block_end >= log.size() &&
          FitsFewerBytes(Little(rest.substr(0, 4)), type, rest.substr(kHeaderBytes, room))) {
        return DamagedAt(name, at);
      }
      break;
    }
    at += kHeaderBytes + length;
  }
  return absl::OkStatus();
}

absl::Status CheckLogs(const std::string& database_path) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(database_path, error)) {
    if (entry.path().extension() != ".log") continue;
    HELX_ASSIGN_OR_RETURN(const std::string content, ReadFile(entry.path(), kLogBytesMax));
    HELX_RETURN_IF_ERROR(CheckLog(entry.path(), content));
  }
  return absl::OkStatus();
}

}  // namespace helx::server
