#include "worker/agent/action_stream.h"

namespace helx::agent {
namespace {

constexpr size_t kHeader = 1 + 4 + 8;

void AppendLittleEndian(std::string* out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[i - 1]);
  }
  return value;
}

bool KnownType(char type) {
  return std::string_view("PLFCO").find(type) != std::string_view::npos;
}

}  // namespace

std::string EncodeRecord(RecordType type, std::string_view name, std::string_view payload) {
  std::string out;
  out.reserve(kHeader + name.size() + payload.size());
  out.push_back(static_cast<char>(type));
  AppendLittleEndian(&out, name.size(), 4);
  AppendLittleEndian(&out, payload.size(), 8);
  out.append(name).append(payload);
  return out;
}

absl::Status RecordReader::Add(std::string_view bytes) {
  if (!status_.ok()) return status_;
  total_ += bytes.size();
  if (total_ > limits_.total_bytes) {
    status_ = InvalidArgument("the action wrote more than " +
                              std::to_string(limits_.total_bytes) + " bytes");
    return status_;
  }
  buffer_.append(bytes);
  status_ = Cut();
  return status_;
}

absl::Status RecordReader::Cut() {
  size_t at = 0;
  while (buffer_.size() - at >= kHeader) {
    const std::string_view view = std::string_view(buffer_).substr(at);
    const uint64_t name_bytes = LittleEndian(view.substr(1, 4));
    const uint64_t payload_bytes = LittleEndian(view.substr(5, 8));
    if (!KnownType(view[0]) || name_bytes > limits_.name_bytes ||
        payload_bytes > limits_.total_bytes) {
      return InvalidArgument("the action wrote a malformed record");
    }
    const size_t size = kHeader + name_bytes + payload_bytes;
    if (view.size() < size) {
      buffer_.reserve(at + size);
      break;
    }
    HELX_RETURN_IF_ERROR(sink_(Record{static_cast<RecordType>(view[0]),
                                      std::string(view.substr(kHeader, name_bytes)),
                                      std::string(view.substr(kHeader + name_bytes, payload_bytes))}));
    at += size;
  }
  buffer_.erase(0, at);
  return absl::OkStatus();
}

}  // namespace helx::agent
