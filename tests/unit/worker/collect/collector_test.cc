#include "worker/collect/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/base/splitmix64.h"
#include "tests/unit/worker/collect/stream.h"
#include "worker/collect/wire.h"
#include "worker/runner/frames.h"

namespace helx::collect {
namespace {

using ::testing::HasSubstr;

std::optional<Failure> Judge(const std::string& stream, Evidence* evidence = nullptr,
                             const SimulatorEnd& end = {.exit_code = 0}) {
  Collector collector(TestExpectation());
  collector.Feed(stream);
  const auto failure = collector.Explain(end);
  if (!failure && evidence != nullptr) *evidence = collector.evidence();
  return failure;
}

std::string CodeOf(const std::string& stream, const SimulatorEnd& end = {.exit_code = 0}) {
  const auto failure = Judge(stream, nullptr, end);
  return failure ? std::string(FaultName(failure->fault)) + " " + failure->code : "";
}

std::vector<TestFrame> Good() { return GoodFrames(TestExpectation(), TestOutputs()); }

bool SameEvidence(const Evidence& a, const Evidence& b) {
  if (a.samples.size() != b.samples.size() || a.cpuid != b.cpuid ||
      a.stack_high_water_bytes != b.stack_high_water_bytes) {
    return false;
  }
  for (size_t i = 0; i < a.samples.size(); ++i) {
    if (a.samples[i].instructions != b.samples[i].instructions ||
        a.samples[i].signatures != b.samples[i].signatures ||
        a.samples[i].outputs != b.samples[i].outputs) {
      return false;
    }
  }
  return true;
}

// CRC-32's check value in the catalogue of parametrised CRC algorithms.
TEST(WireTest, CrcMatchesThePublishedCheckValue) { EXPECT_EQ(Crc32("123456789"), 0xcbf43926u); }

TEST(CollectorTest, TakesAWholeStream) {
  Evidence evidence;
  const auto failure = Judge(EncodeStream(Good()), &evidence);
  ASSERT_FALSE(failure) << failure->message;
  ASSERT_EQ(evidence.samples.size(), 2u);
  EXPECT_EQ(evidence.samples[1].instructions, (uint64_t{1} << 32) + 1001);
  for (size_t s = 0; s < 2; ++s) EXPECT_EQ(evidence.samples[s].outputs, TestOutputs()[s]);
  EXPECT_EQ(evidence.samples[0].signatures[1], Sha256Of(AsBytes(TestOutputs()[0][1])));
  EXPECT_EQ(evidence.stack_high_water_bytes, 512u);
}

TEST(CollectorTest, TakesBytesInAnyPieces) {
  const std::string stream = EncodeStream(Good());
  for (const size_t piece : {1, 2, 3, 7, 1000}) {
    Collector collector(TestExpectation());
    for (size_t at = 0; at < stream.size(); at += piece) {
      collector.Feed(std::string_view(stream).substr(at, piece));
    }
    EXPECT_FALSE(collector.Explain({})) << piece;
    EXPECT_EQ(collector.invocations(), 4u);
  }
}

TEST(CollectorTest, HowTheSimulatorEndedDoesNotMatterAfterAWholeStream) {
  EXPECT_EQ(CodeOf(EncodeStream(Good()), {.exit_code = 1}), "");
  EXPECT_EQ(CodeOf(EncodeStream(Good()), {.wall_limit = true, .signal = 9}), "");
}

TEST(CollectorTest, EveryTruncationIsFound) {
  const std::string stream = EncodeStream(Good());
  for (size_t size = 0; size < stream.size(); ++size) {
    const std::string code = CodeOf(stream.substr(0, size));
    // Before the first frame is whole there is no start; from then on the stream is truncated.
    EXPECT_THAT(code, ::testing::AnyOf("DEVICE no_start_frame", "DEVICE stream_truncated")) << size;
  }
}

// One fault each, which is the hardest to see: a flipped bit, a lost or an inserted byte.
TEST(CollectorTest, SixThousandFaultsAreFoundOrHarmless) {
  const std::string stream = EncodeStream(Good());
  Evidence truth;
  ASSERT_FALSE(Judge(stream, &truth));
  SplitMix64 random(20240);
  int found = 0, harmless = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    std::string bytes = stream;
    const size_t at = random.Next() % bytes.size();
    switch (random.Next() % 4) {
      case 0:
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Next() % 8)); break;
      case 2: bytes.erase(at, 1); break;
      default: bytes.insert(at, 1, static_cast<char>(random.Next())); break;
    }
    Evidence evidence;
    if (Judge(bytes, &evidence)) {
      ++found;
    } else {
      // An extra or missing delimiter between two frames changes nothing.
      ++harmless;
      EXPECT_TRUE(SameEvidence(evidence, truth)) << "trial " << trial;
    }
  }
  EXPECT_GT(found, 5900);
  EXPECT_EQ(found + harmless, 6000);
}

TEST(CollectorTest, SingleBitFlipsAreAllFound) {
  const std::string stream = EncodeStream(Good());
  Evidence truth;
  ASSERT_FALSE(Judge(stream, &truth));
  for (size_t at = 0; at < stream.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = stream;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      Evidence evidence;
      const auto failure = Judge(bytes, &evidence);
      if (!failure) {
        ASSERT_TRUE(SameEvidence(evidence, truth)) << at;
      }
    }
  }
}

TEST(CollectorTest, EveryLostRepeatedOrSwappedFrameIsFound) {
  const auto frames = Good();
  for (size_t i = 0; i < frames.size(); ++i) {
    // Frames as they were numbered, with one left out.
    std::string lost, repeated;
    for (size_t k = 0; k < frames.size(); ++k) {
      const std::string one = EncodeFrame(frames[k], static_cast<uint32_t>(k));
      if (k != i) lost += one;
      repeated += k == i ? one + one : one;
    }
    EXPECT_EQ(CodeOf(lost), i + 1 == frames.size() ? "DEVICE stream_truncated" : "DEVICE frame_gap");
    EXPECT_EQ(CodeOf(repeated), "DEVICE frame_gap");
    // Renumbered without a gap, but not what was asked for.
    auto fewer = frames;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(CodeOf(EncodeStream(fewer)), "BUG protocol_error") << i;
  }
}

TEST(CollectorTest, FinalDigestMustCoverTheFrames) {
  auto frames = Good();
  const std::string stream = EncodeStream(frames);
  frames[2].payload[0] ^= 1;
  // A stream whose third frame was replaced by a well-formed one, before the same FINAL.
  const std::string replaced = EncodeStream(frames);
  const size_t tail = EncodeFrame({HELX_FRAME_FINAL, std::string(40, 1)}, 0).size();
  EXPECT_EQ(CodeOf(replaced.substr(0, replaced.size() - tail - 1)).substr(0, 7), "BUG pro");
  auto other = Good();
  other.back().payload[0] ^= 1;  // the stack figure: nothing else would notice
  std::string forged;
  for (size_t k = 0; k < other.size(); ++k) forged += EncodeFrame(other[k], static_cast<uint32_t>(k));
  std::string honest;
  const auto good = Good();
  for (size_t k = 0; k < good.size(); ++k) honest += EncodeFrame(good[k], static_cast<uint32_t>(k));
  EXPECT_EQ(CodeOf(forged + stream.substr(honest.size())), "DEVICE stream_digest_mismatch");
}

TEST(CollectorTest, OutputBytesMustHashToTheirSignature) {
  auto frames = Good();
  for (TestFrame& frame : frames) {
    if (frame.type == HELX_FRAME_DATA) frame.payload[HELX_DATA_HEADER_BYTES] ^= 1;
  }
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "DEVICE output_digest_mismatch");
}

TEST(CollectorTest, AnotherRequestIsRefused) {
  auto frames = Good();
  frames[0].payload[4] ^= 1;
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG request_digest_mismatch");
}

TEST(CollectorTest, AnotherProtocolInterfaceOrAcquisitionIsRefused) {
  auto frames = Good();
  frames[0].payload[0] = 9;
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG protocol_version");
  frames = Good();
  frames[0].payload[40] = 2;
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG interface_mismatch");
  for (size_t field = 0; field < 24; field += 4) {
    frames = Good();
    frames[1].payload[field] ^= 1;
    EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG protocol_error") << field;
  }
}

TEST(CollectorTest, RefusalNamesTheInput) {
  std::vector<TestFrame> frames = {Good()[0]};
  frames.push_back({HELX_FRAME_REFUSAL, Fields({HELX_REFUSE_INPUT_DIGEST, 3, 1}) + std::string(32, '\xab')});
  const auto failure = Judge(EncodeStream(frames, HELX_FINAL_REFUSED));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "input_digest_mismatch");
  EXPECT_THAT(failure->message, HasSubstr("input 1 of set 3"));
  EXPECT_THAT(failure->message, HasSubstr("abababab"));
}

TEST(CollectorTest, FaultNamesCauseAddressAndRegisters) {
  std::vector<TestFrame> frames = {Good()[0], Good()[1]};
  // PRECISERR and BFARVALID.
  frames.push_back({HELX_FRAME_FAULT, Fields({3, 0x8200, 0x40000000, 0, 0xdeadbee0, 0x1234, 0x5678,
                                              0x61000003, 0x2000ff00, 1, 2})});
  const std::string stream = EncodeStream(frames, HELX_FINAL_FAULT);
  const auto failure = Judge(stream);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "hard_fault");
  EXPECT_EQ(failure->fault, Fault::kBug);
  for (const char* part : {"bus error on data", "0xdeadbee0", "PC 0x00001234", "LR 0x00005678",
                           "CFSR 0x00008200", "in invocation 2"}) {
    EXPECT_THAT(failure->message, HasSubstr(part));
  }
  // The report stands even when the firmware could not send its FINAL.
  EXPECT_EQ(CodeOf(stream.substr(0, stream.size() - 10)), "BUG hard_fault");
}

TEST(CollectorTest, LimitsAreTimeOuts) {
  std::vector<TestFrame> frames = {Good()[0], Good()[1]};
  frames.push_back({HELX_FRAME_LIMIT, Fields({0, 5000, 0})});
  auto failure = Judge(EncodeStream(frames, HELX_FINAL_LIMIT));
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "instruction_limit");
  EXPECT_TRUE(failure->timed_out);
  failure = Judge("", nullptr, {.wall_limit = true, .signal = 9});
  EXPECT_EQ(failure->code, "wall_limit");
  EXPECT_TRUE(failure->timed_out);
}

TEST(CollectorTest, SilenceCrashLockupAndRefusedStart) {
  const std::string half = EncodeStream(Good()).substr(0, 200);
  EXPECT_EQ(CodeOf(half, {.silent = true, .signal = 9}), "DEVICE silence");
  EXPECT_EQ(CodeOf("", {.silent = true, .signal = 9}), "DEVICE no_start_frame");
  EXPECT_EQ(CodeOf(half, {.signal = 11}), "DEVICE emulator_crashed");
  EXPECT_EQ(CodeOf(half, {.signal = 6, .diagnostics = "qemu: fatal: Lockup: can't escalate"}),
            "BUG lockup");
  const SimulatorEnd refused{.exit_code = 1, .diagnostics = "unknown machine"};
  EXPECT_EQ(CodeOf("", refused), "INFRA emulator_refused");
  EXPECT_THAT(Judge("", nullptr, refused)->message, HasSubstr("unknown machine"));
}

TEST(CollectorTest, HostileStreamsEndSoonAndStaySmall) {
  Collector endless(TestExpectation());
  const std::string junk(1 << 16, 'x');
  EXPECT_FALSE(endless.Feed(junk));  // no delimiter where one had to come
  EXPECT_EQ(endless.Explain({})->code, "frame_corrupt");
  // Delimiters alone are no frames, and no error.
  EXPECT_EQ(CodeOf(std::string(100'000, '\0')), "DEVICE no_start_frame");
  // More samples than asked for.
  auto frames = Good();
  frames.insert(frames.end() - 1, {HELX_FRAME_SAMPLE, Fields({2, 1, 0})});
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG protocol_error");
  // Data beyond the output's end.
  frames = Good();
  for (TestFrame& frame : frames) {
    if (frame.type == HELX_FRAME_DATA) frame.payload += "x";
  }
  EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG protocol_error");
  for (const int type : {0, 14, 255}) {
    frames = Good();
    frames[3].type = static_cast<uint8_t>(type);
    EXPECT_EQ(CodeOf(EncodeStream(frames)), "BUG protocol_error");
  }
}

TEST(CollectorTest, ProbesAreKeptInOrder) {
  auto frames = Good();
  const auto at = frames.begin() + 2;
  const auto it = frames.insert(at, {HELX_FRAME_PROBE, Fields({0, 4, 0, 5, 0}) + "abc"});
  frames.insert(it + 1, {HELX_FRAME_PROBE, Fields({0, 4, 0, 5, 3}) + "de"});
  Evidence evidence;
  ASSERT_FALSE(Judge(EncodeStream(frames), &evidence));
  ASSERT_EQ(evidence.probes.size(), 1u);
  EXPECT_EQ(evidence.probes[0].operator_index, 4u);
  EXPECT_EQ(evidence.probes[0].bytes, "abcde");
}

TEST(FailureTest, MessagesAreCutAtACharacter) {
  const std::string text(1023, 'a');
  EXPECT_EQ(MakeFailure(Fault::kBug, "x", text + "\xc3\xa9").message, text);
  EXPECT_EQ(MakeFailure(Fault::kBug, "x", text + "b").message, text + "b");
}

}  // namespace
}  // namespace helx::collect
