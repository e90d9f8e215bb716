// The log of one attempt, bounded: the first and the last bytes are kept, what lies between is
// counted.
#ifndef HELX_SERVER_SCHEDULER_LOG_BUFFER_H_
#define HELX_SERVER_SCHEDULER_LOG_BUFFER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace helx::server {

// Not thread-safe. Offsets count the bytes of the whole log, kept or not.
class LogBuffer {
 public:
  // Keeps `limit_bytes / 2` at each end.
  explicit LogBuffer(size_t limit_bytes) : half_(limit_bytes / 2) {}

  void Append(std::string_view bytes);
  // Bytes that stand at `offset` of the log: what came already is left out, what never came counts as
  // dropped.
  void AppendAt(int64_t offset, std::string_view bytes);

  // Head, then Marker() when some bytes are left out, then tail.
  std::string Text() const;
  // At most `limit` bytes from `offset` on; `*start` is the offset of the first of them, later than
  // `offset` when what lay between was dropped. Empty when there is nothing (yet).
  std::string Read(int64_t offset, size_t limit, int64_t* start) const;

  bool empty() const { return end() == 0; }
  int64_t end() const { return tail_start() + static_cast<int64_t>(tail_.size()); }
  // As Text() leaves them out: `dropped()` bytes from offset `dropped_at()` on.
  int64_t dropped() const { return left_out_ + static_cast<int64_t>(excess()); }
  int64_t dropped_at() const { return static_cast<int64_t>(head_.size()); }

  // The line in place of dropped bytes.
  static std::string Marker(int64_t dropped);

 private:
  int64_t tail_start() const { return static_cast<int64_t>(head_.size()) + left_out_; }
  size_t excess() const { return tail_.size() > half_ ? tail_.size() - half_ : 0; }

  size_t half_;
  bool head_full_ = false;  // nothing is added to the head any more
  std::string head_;
  std::string tail_;
  int64_t left_out_ = 0;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_LOG_BUFFER_H_
