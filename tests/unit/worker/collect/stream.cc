#include "tests/unit/worker/collect/stream.h"

#include <zlib.h>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/splitmix64.h"
#include "worker/runner/frames.h"

namespace helx::collect {
namespace {

std::string DigestBytes(const Sha256Bytes& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string Fields(std::initializer_list<uint32_t> values) {
  std::string out;
  for (const uint32_t value : values) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
  }
  return out;
}

std::string Stuff(const std::string& bytes) {
  std::string out, group;
  auto flush = [&] {
    out.push_back(static_cast<char>(group.size() + 1));
    out += group;
    group.clear();
  };
  for (const char byte : bytes) {
    if (byte == 0) {
      flush();
      continue;
    }
    group.push_back(byte);
    if (group.size() == 254) flush();
  }
  // After a full group the end needs no group of its own; the decoder takes either.
  flush();
  return out;
}

std::string EncodeFrame(const TestFrame& frame, uint32_t sequence, std::string* bytes) {
  std::string raw(1, static_cast<char>(frame.type));
  raw += Fields({sequence});
  raw.push_back(static_cast<char>(frame.payload.size()));
  raw.push_back(static_cast<char>(frame.payload.size() >> 8));
  raw += frame.payload;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(raw.data()), static_cast<uInt>(raw.size()));
  raw += Fields({static_cast<uint32_t>(crc)});
  if (bytes != nullptr) *bytes += raw;
  return std::string(1, '\0') + Stuff(raw) + std::string(1, '\0');
}

std::string EncodeStream(const std::vector<TestFrame>& frames, uint32_t final_status) {
  std::string out, covered;
  uint32_t sequence = 0;
  for (const TestFrame& frame : frames) out += EncodeFrame(frame, sequence++, &covered);
  const TestFrame final{HELX_FRAME_FINAL, Fields({final_status, sequence}) +
                                              DigestBytes(Sha256Of(AsBytes(covered)))};
  return out + EncodeFrame(final, sequence);
}

std::vector<TestFrame> GoodFrames(const Expectation& e,
                                  const std::vector<std::vector<std::string>>& outputs) {
  const auto output_count = static_cast<uint32_t>(e.output_bytes.size());
  std::vector<TestFrame> frames;
  frames.push_back({HELX_FRAME_START, Fields({HELX_PROTOCOL_VERSION}) + DigestBytes(e.request_digest) +
                                          Fields({0x410fd221, e.input_count, output_count})});
  frames.push_back({HELX_FRAME_READY, Fields({e.warmup, e.samples, e.state, e.capture, e.poison,
                                              e.input_set_count})});
  for (uint32_t i = 0; i < e.warmup; ++i) frames.push_back({HELX_FRAME_WARMUP, Fields({i + 1})});
  for (uint32_t s = 0; s < e.samples; ++s) {
    frames.push_back({HELX_FRAME_SAMPLE, Fields({s, 1000 + s, 1})});
    for (uint32_t o = 0; o < output_count; ++o) {
      const std::string& bytes = outputs[s][o];
      frames.push_back({HELX_FRAME_SIGNATURE, Fields({s, o, e.output_bytes[o]}) +
                                                  DigestBytes(Sha256Of(AsBytes(bytes)))});
      for (uint32_t at = 0; e.capture && at < bytes.size(); at += HELX_DATA_BYTES_MAX) {
        frames.push_back({HELX_FRAME_DATA,
                          Fields({s, o, at}) + bytes.substr(at, HELX_DATA_BYTES_MAX)});
      }
    }
  }
  frames.push_back({HELX_FRAME_STACK, Fields({512, 1024, 65536})});
  return frames;
}

Expectation TestExpectation() {
  Expectation e;
  for (size_t i = 0; i < e.request_digest.size(); ++i) e.request_digest[i] = static_cast<uint8_t>(i);
  e.input_count = 1;
  e.output_bytes = {5, 1500};
  e.warmup = 2;
  e.samples = 2;
  e.capture = true;
  e.poison = 0xa5a5a5a5;
  return e;
}

std::vector<std::vector<std::string>> TestOutputs() {
  SplitMix64 random(7);
  std::vector<std::vector<std::string>> outputs(2);
  for (auto& sample : outputs) {
    for (const size_t size : {5, 1500}) {
      std::string bytes(size, '\0');
      // A quarter of zeros, as quantised activations have: the hard case of stuffing.
      for (char& c : bytes) c = static_cast<char>(random.Next() % 4 == 0 ? 0 : random.Next());
      sample.push_back(bytes);
    }
  }
  return outputs;
}

}  // namespace helx::collect
