// From the bytes of a UART to verified frames (worker/runner/frames.h).
#ifndef HELX_WORKER_COLLECT_FRAME_DECODER_H_
#define HELX_WORKER_COLLECT_FRAME_DECODER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/sha256.h"

namespace helx::collect {

struct Frame {
  uint8_t type = 0;
  uint32_t sequence = 0;
  std::string_view payload;  // valid during the call that delivers the frame
};

// Decodes a stream whose sender is not trusted: memory is bounded by one frame, and the first defect ends it. A frame is
// delivered only when its stuffing, length, CRC and sequence number are right; FINAL only when its digest and count
// cover exactly the frames delivered before. Not thread-safe.
class FrameDecoder {
 public:
  enum class Defect {
    kNone,
    kStuffing,  // not a COBS encoding
    kOverlong,  // no delimiter where one had to come
    kLength,    // too short, or the length field disagrees
    kCrc,
    kSequence,  // a frame is missing or repeated
    kDigest,    // FINAL does not match what came before it
  };

  // Delivers the frames that `bytes` completes. Returns false when the stream is over: after FINAL or a defect. Bytes
  // after that are ignored.
  bool Feed(std::string_view bytes, const std::function<void(const Frame&)>& deliver);

  Defect defect() const { return defect_; }
  bool finished() const { return finished_; }           // FINAL was delivered
  uint32_t frames() const { return next_sequence_; }    // delivered so far
  uint64_t bytes() const { return bytes_; }             // consumed so far
  bool inside_frame() const { return !chunk_.empty(); }  // the stream stands in the middle of a frame

 private:
  bool Fail(Defect defect);
  bool TakeChunk(const std::function<void(const Frame&)>& deliver);

  std::string chunk_;  // stuffed bytes since the last delimiter
  std::string frame_;
  Sha256 hash_;
  uint32_t next_sequence_ = 0;
  uint64_t bytes_ = 0;
  Defect defect_ = Defect::kNone;
  bool finished_ = false;
};

// For messages: "CRC mismatch", ...
std::string_view DefectText(FrameDecoder::Defect defect);

}  // namespace helx::collect

#endif  // HELX_WORKER_COLLECT_FRAME_DECODER_H_
