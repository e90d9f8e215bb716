// Mutated frame streams against the collector: nothing crashes, memory stays bounded, and whatever is accepted is true.
// HELX_FUZZ_RUNS sets the number of inputs (default 100,000); HELX_FUZZ_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/splitmix64.h"
#include "tests/unit/worker/collect/stream.h"
#include "worker/runner/frames.h"

namespace helx::collect {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

void MutateBytes(std::string* bytes, SplitMix64* random) {
  for (uint64_t n = 1 + random->Next() % 8; n > 0 && !bytes->empty(); --n) {
    const size_t at = random->Next() % bytes->size();
    switch (random->Next() % 6) {
      case 0: (*bytes)[at] = static_cast<char>(random->Next()); break;
      case 1: (*bytes)[at] = 0; break;
      case 2: bytes->erase(at, 1 + random->Next() % 32); break;
      case 3: bytes->insert(at, 1 + random->Next() % 32, static_cast<char>(random->Next())); break;
      case 4: bytes->insert(at, bytes->substr(random->Next() % bytes->size(), random->Next() % 200)); break;
      default: bytes->resize(at); break;
    }
  }
}

// Frames that pass every check of the decoder and reach the state machine behind it.
void MutateFrames(std::vector<TestFrame>* frames, SplitMix64* random) {
  for (uint64_t n = 1 + random->Next() % 3; n > 0 && !frames->empty(); --n) {
    const size_t at = random->Next() % frames->size();
    TestFrame& frame = (*frames)[at];
    switch (random->Next() % 6) {
      case 0: frame.type = static_cast<uint8_t>(random->Next() % 16); break;
      case 1:
        if (!frame.payload.empty()) {
          frame.payload[random->Next() % frame.payload.size()] = static_cast<char>(random->Next());
        }
        break;
      case 2: frame.payload.resize(random->Next() % (HELX_FRAME_PAYLOAD_MAX + 1)); break;
      case 3: frames->erase(frames->begin() + static_cast<ptrdiff_t>(at)); break;
      case 4: {
        const TestFrame copy = frame;
        const size_t to = random->Next() % frames->size();
        frames->insert(frames->begin() + static_cast<ptrdiff_t>(to), copy);
        break;
      }
      default: std::swap(frame, (*frames)[random->Next() % frames->size()]); break;
    }
  }
}

void CheckAccepted(const Evidence& evidence, const Expectation& expected) {
  ASSERT_EQ(evidence.samples.size(), expected.samples);
  ASSERT_EQ(evidence.request_digest, expected.request_digest);
  for (const MeasuredSample& sample : evidence.samples) {
    ASSERT_EQ(sample.signatures.size(), expected.output_bytes.size());
    ASSERT_EQ(sample.outputs.size(), expected.output_bytes.size());
    for (size_t i = 0; i < sample.outputs.size(); ++i) {
      ASSERT_EQ(sample.outputs[i].size(), expected.output_bytes[i]);
      ASSERT_EQ(Sha256Of(AsBytes(sample.outputs[i])), sample.signatures[i]);
    }
  }
}

TEST(FramesFuzz, MutatedStreams) {
  const uint64_t runs = FromEnvironment("HELX_FUZZ_RUNS", 100'000);
  const uint64_t first = FromEnvironment("HELX_FUZZ_SEED", 1);
  const Expectation expected = TestExpectation();
  const auto good = GoodFrames(expected, TestOutputs());
  const std::string stream = EncodeStream(good);
  uint64_t accepted = 0;
  for (uint64_t run = 0; run < runs; ++run) {
    SplitMix64 random(first + run);
    std::string bytes = stream;
    if (random.Next() % 2 == 0) {
      auto frames = good;
      MutateFrames(&frames, &random);
      bytes = EncodeStream(frames, static_cast<uint32_t>(random.Next() % 6));
    }
    if (random.Next() % 2 == 0) MutateBytes(&bytes, &random);
    Collector collector(expected);
    const size_t piece = 1 + random.Next() % (bytes.size() + 1);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      if (!collector.Feed(std::string_view(bytes).substr(at, piece))) break;
    }
    const auto failure = collector.Explain({});
    if (failure) {
      ASSERT_FALSE(failure->code.empty());
      ASSERT_LE(failure->message.size(), 1024u);
      continue;
    }
    ++accepted;
    CheckAccepted(collector.evidence(), expected);
    if (HasFatalFailure()) FAIL() << "seed " << first + run;
  }
  // A quarter of the streams carry no byte mutation and some frame mutations are without effect.
  EXPECT_GT(accepted, runs / 1000);
  EXPECT_LT(accepted, runs);
}

}  // namespace
}  // namespace helx::collect
