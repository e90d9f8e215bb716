// The log of one attempt, bounded: the first and the last bytes are kept, what lies between is
// counted.
#ifndef HELX_SERVER_SCHEDULER_LOG_BUFFER_H_
#define HELX_SERVER_SCHEDULER_LOG_BUFFER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace helx::server {

// Not thread-safe.
class LogBuffer {
 public:
  // Keeps `limit_bytes / 2` at each end.
  explicit LogBuffer(size_t limit_bytes) : half_(limit_bytes / 2) {}

  void Append(std::string_view bytes);
  // Head, then "\n[... N bytes left out ...]\n" when some are, then tail.
  std::string Text() const;
  bool empty() const { return head_.empty(); }

 private:
  size_t half_;
  std::string head_;
  std::string tail_;
  uint64_t left_out_ = 0;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_LOG_BUFFER_H_
