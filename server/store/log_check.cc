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

size_t BlockEnd(size_t at) { return at - at % kBlockBytes + kBlockBytes; }

// The length of the record at `at` with its header, or 0 when there is no whole one.
size_t RecordAt(std::string_view log, size_t at) {
  const std::string_view rest = log.substr(at, BlockEnd(at) - at);
  if (rest.size() < kHeaderBytes) return 0;
  const size_t length = Little(rest.substr(4, 2));
  const char type = rest[6];
  // A whole record, or the first, a middle or the last piece of one.
  if (type < 1 || type > 4 || length > rest.size() - kHeaderBytes) return 0;
  uint32_t state = Extend(~0u, type);
  for (const char byte : rest.substr(kHeaderBytes, length)) state = Extend(state, byte);
  return Masked(state) == Little(rest.substr(0, 4)) ? kHeaderBytes + length : 0;
}

// Whether a whole record lies behind `at`: in its block anywhere, in others where they begin.
bool RecordsFollow(std::string_view log, size_t at) {
  size_t next = at + 1;
  for (; next < std::min(BlockEnd(at), log.size()); ++next) {
    if (RecordAt(log, next) > 0) return true;
  }
  for (; next < log.size(); next += kBlockBytes) {
    if (RecordAt(log, next) > 0) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckLog(const std::string& name, const std::string& content) {
  for (size_t at = 0; at < content.size();) {
    if (BlockEnd(at) - at < kHeaderBytes) {
      at = BlockEnd(at);
      continue;
    }
    const size_t bytes = RecordAt(content, at);
    if (bytes > 0) {
      at += bytes;
      continue;
    }
    if (!RecordsFollow(content, at)) break;
    return WithErrorCode(
        DataLoss("the log of the store is damaged, and was left as it is: " + name + ", byte " +
                 std::to_string(at) +
                 ", and records follow; write a backup back (--restore), or "
                 "start once with --drop-damaged-log: what was recorded after the damage is lost "
                 "then"),
        "store_log_damaged");
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
