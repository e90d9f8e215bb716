#include "server/scheduler/log_buffer.h"

#include <algorithm>

namespace helx::server {

void LogBuffer::Append(std::string_view bytes) {
  const size_t to_head = std::min(bytes.size(), half_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  tail_.append(bytes.substr(to_head));
  // Cut back only now and then: each byte is moved once.
  if (tail_.size() > 2 * half_) {
    left_out_ += tail_.size() - half_;
    tail_.erase(0, tail_.size() - half_);
  }
}

std::string LogBuffer::Text() const {
  const size_t excess = tail_.size() > half_ ? tail_.size() - half_ : 0;
  const uint64_t left_out = left_out_ + excess;
  if (left_out == 0) return head_ + tail_;
  return head_ + "\n[... " + std::to_string(left_out) + " bytes left out ...]\n" +
         tail_.substr(excess);
}

}  // namespace helx::server
