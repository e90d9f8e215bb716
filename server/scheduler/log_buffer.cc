#include "server/scheduler/log_buffer.h"

#include <algorithm>

namespace helx::server {

void LogBuffer::Append(std::string_view bytes) {
  if (!head_full_) {
    const size_t to_head = std::min(bytes.size(), half_ - head_.size());
    head_.append(bytes.substr(0, to_head));
    bytes.remove_prefix(to_head);
    head_full_ = head_.size() == half_;
  }
  tail_.append(bytes);
  // Cut back only now and then: each byte is moved once.
  if (tail_.size() > 2 * half_) {
    left_out_ += static_cast<int64_t>(excess());
    tail_.erase(0, excess());
  }
}

void LogBuffer::AppendAt(int64_t offset, std::string_view bytes) {
  if (offset < end()) {
    bytes.remove_prefix(std::min(bytes.size(), static_cast<size_t>(end() - offset)));
  } else if (offset > end()) {
    left_out_ += static_cast<int64_t>(tail_.size()) + offset - end();
    tail_.clear();
    head_full_ = true;
  }
  Append(bytes);
}

std::string LogBuffer::Marker(int64_t dropped) {
  return "\n[... " + std::to_string(dropped) + " bytes left out ...]\n";
}

std::string LogBuffer::Text() const {
  if (dropped() == 0) return head_ + tail_;
  return head_ + Marker(dropped()) + tail_.substr(excess());
}

std::string LogBuffer::Read(int64_t offset, size_t limit, int64_t* start) const {
  *start = offset;
  if (offset < dropped_at()) return head_.substr(static_cast<size_t>(offset), limit);
  *start = std::max(offset, tail_start());
  if (*start >= end()) return "";
  return tail_.substr(static_cast<size_t>(*start - tail_start()), limit);
}

}  // namespace helx::server
