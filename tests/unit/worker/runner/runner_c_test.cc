// The runner's portable C, compiled for the host: its hash, its checksum, its framing.
#include <gtest/gtest.h>
#include <setjmp.h>

#include <string>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/base/splitmix64.h"
#include "tests/unit/worker/collect/stream.h"
#include "worker/collect/frame_decoder.h"
#include "worker/runner/frames.h"

extern "C" {
#include "worker/runner/board.h"
#include "worker/runner/framing.h"
#include "worker/runner/sha256.h"
}

namespace {
std::string uart;
jmp_buf reset;
}  // namespace

extern "C" {
void helx_board_uart_put(uint8_t byte) { uart.push_back(static_cast<char>(byte)); }
void helx_board_uart_drain(void) {}
void helx_board_reset(void) { longjmp(reset, 1); }
}

namespace helx {
namespace {

std::string Hash(const std::string& text) {
  Sha256Bytes digest;
  helx_sha256_of(text.data(), static_cast<uint32_t>(text.size()), digest.data());
  return HexEncode(digest);
}

// FIPS 180-4's examples, from NIST's "SHA-256 Example" sheets, and one million times "a".
TEST(RunnerSha256Test, PublishedVectors) {
  EXPECT_EQ(Hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(RunnerSha256Test, EveryLengthInEveryPieceAgreesWithOpenSsl) {
  const std::string text(300, 'q');
  for (uint32_t size = 0; size <= 300; ++size) {
    for (const uint32_t piece : {1u, 3u, 64u, 65u}) {
      helx_sha256 hash;
      helx_sha256_begin(&hash);
      for (uint32_t at = 0; at < size; at += piece) {
        helx_sha256_update(&hash, text.data() + at, std::min(piece, size - at));
      }
      Sha256Bytes digest;
      helx_sha256_end(&hash, digest.data());
      ASSERT_EQ(HexEncode(digest), Sha256Hex(text.substr(0, size))) << size << " by " << piece;
    }
  }
}

TEST(RunnerCrcTest, MatchesThePublishedCheckValue) {
  EXPECT_EQ(helx_crc32("123456789", 9), 0xcbf43926u);
}

TEST(RunnerFramingTest, SendsWhatTheFormatSays) {
  uart.clear();
  helx_frames_begin();
  std::vector<collect::TestFrame> frames;
  SplitMix64 random(3);
  for (uint32_t size = 0; size <= HELX_FRAME_PAYLOAD_MAX; size += 1 + size / 7) {
    // Zeros everywhere, some, none: groups of 254 begin and end in each way.
    for (const uint32_t one_in : {1u, 5u, 300u, 1'000'000u}) {
      std::string payload(size, '\0');
      for (char& c : payload) {
        c = static_cast<char>(random.Next() % one_in == 0 ? 0 : 1 + random.Next() % 255);
      }
      frames.push_back({static_cast<uint8_t>(1 + size % 12), payload});
      helx_frame_begin(frames.back().type);
      helx_frame_put(payload.data(), size);
      helx_frame_end();
    }
  }
  if (setjmp(reset) == 0) helx_frames_finish(HELX_FINAL_COMPLETE);

  size_t seen = 0;
  collect::FrameDecoder decoder;
  decoder.Feed(uart, [&](const collect::Frame& frame) {
    if (frame.type == HELX_FRAME_FINAL) return;
    ASSERT_LT(seen, frames.size());
    EXPECT_EQ(frame.type, frames[seen].type);
    EXPECT_EQ(frame.payload, frames[seen].payload);
    ++seen;
  });
  EXPECT_EQ(decoder.defect(), collect::FrameDecoder::Defect::kNone);
  EXPECT_TRUE(decoder.finished());
  EXPECT_EQ(seen, frames.size());
  // Two encoders written apart: the same number of bytes, but for the optional empty last group.
  const std::string other = collect::EncodeStream(frames);
  EXPECT_LE(uart.size(), other.size());
}

}  // namespace
}  // namespace helx
