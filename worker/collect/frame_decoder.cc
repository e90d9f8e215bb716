#include "worker/collect/frame_decoder.h"

#include <array>
#include <cstring>
#include <optional>

#include "worker/collect/wire.h"
#include "worker/runner/frames.h"

namespace helx::collect {
namespace {

// One code byte per 254 bytes and one for the rest.
constexpr size_t kStuffedMax = HELX_FRAME_BYTES_MAX + HELX_FRAME_BYTES_MAX / 254 + 1;

// COBS (Cheshire and Baker 1999): a code n says that n - 1 bytes follow, and, unless n is 255 or the end is reached, a zero.
bool Unstuff(std::string_view in, std::string* out) {
  out->clear();
  size_t i = 0;
  while (i < in.size()) {
    const size_t code = static_cast<uint8_t>(in[i]);
    if (code == 0 || i + code > in.size()) return false;
    out->append(in.substr(i + 1, code - 1));
    i += code;
    if (code != 255 && i < in.size()) out->push_back('\0');
  }
  return true;
}

}  // namespace

std::string_view DefectText(FrameDecoder::Defect defect) {
  using Defect = FrameDecoder::Defect;
  switch (defect) {
    case Defect::kNone: return "no defect";
    case Defect::kStuffing: return "bytes that are no frame";
    case Defect::kOverlong: return "a frame longer than allowed";
    case Defect::kLength: return "a frame of the wrong length";
    case Defect::kCrc: return "a CRC mismatch";
    case Defect::kSequence: return "a gap in the frame numbers";
    case Defect::kDigest: return "a final digest that does not cover the frames received";
  }
  return "an unknown defect";
}

bool FrameDecoder::Fail(Defect defect) {
  defect_ = defect;
  return false;
}

bool FrameDecoder::Feed(std::string_view bytes, const std::function<void(const Frame&)>& deliver) {
  while (!bytes.empty()) {
    if (finished_ || defect_ != Defect::kNone) return false;
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    if (chunk_.size() + end > kStuffedMax) {
      bytes_ += end;
      return Fail(Defect::kOverlong);
    }
    chunk_.append(bytes.substr(0, end));
    bytes_ += end;
    bytes.remove_prefix(end);
    if (bytes.empty()) break;
    bytes.remove_prefix(1);
    bytes_ += 1;
    if (!chunk_.empty() && !TakeChunk(deliver)) return false;
  }
  return !finished_ && defect_ == Defect::kNone;
}

bool FrameDecoder::TakeChunk(const std::function<void(const Frame&)>& deliver) {
  const bool stuffed = Unstuff(chunk_, &frame_);
  chunk_.clear();
  if (!stuffed) return Fail(Defect::kStuffing);
  if (frame_.size() < HELX_FRAME_HEADER_BYTES + HELX_FRAME_CRC_BYTES ||
      frame_.size() > HELX_FRAME_BYTES_MAX) {
    return Fail(Defect::kLength);
  }
  const std::string_view checked(frame_.data(), frame_.size() - HELX_FRAME_CRC_BYTES);
  if (LoadU32(frame_, checked.size()) != Crc32(checked)) return Fail(Defect::kCrc);
  Frame frame;
  frame.type = static_cast<uint8_t>(frame_[0]);
  frame.sequence = LoadU32(frame_, 1);
  frame.payload = checked.substr(HELX_FRAME_HEADER_BYTES);
  if (LoadU16(frame_, 5) != frame.payload.size()) return Fail(Defect::kLength);
  if (frame.sequence != next_sequence_) return Fail(Defect::kSequence);
  if (frame.type == HELX_FRAME_FINAL) {
    const Sha256Bytes digest = hash_.Finish();
    finished_ = frame.payload.size() == 40 && LoadU32(frame.payload, 4) == next_sequence_ &&
                std::memcmp(frame.payload.data() + 8, digest.data(), digest.size()) == 0;
    if (!finished_) return Fail(Defect::kDigest);
  } else {
    hash_.Update(frame_);
  }
  ++next_sequence_;
  deliver(frame);
  return !finished_;
}

}  // namespace helx::collect
