// Frame streams for tests, encoded here from the format's description and not by the runner's code.
#ifndef HELX_TESTS_UNIT_WORKER_COLLECT_STREAM_H_
#define HELX_TESTS_UNIT_WORKER_COLLECT_STREAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "worker/collect/collector.h"

namespace helx::collect {

struct TestFrame {
  uint8_t type = 0;
  std::string payload;
};

// COBS, straight from the paper: split at zeros, groups of at most 254 bytes.
std::string Stuff(const std::string& bytes);

// One frame with its delimiters; `bytes` receives what the stream's digest covers.
std::string EncodeFrame(const TestFrame& frame, uint32_t sequence, std::string* bytes = nullptr);

// All frames, then FINAL with this status.
std::string EncodeStream(const std::vector<TestFrame>& frames, uint32_t final_status = 0);

// What a correct runner sends for an expectation; output bytes are `outputs[sample][output]`.
std::vector<TestFrame> GoodFrames(const Expectation& expectation,
                                  const std::vector<std::vector<std::string>>& outputs);

// Two samples of two outputs (5 and 1,500 bytes), two warm-ups, captured.
Expectation TestExpectation();
std::vector<std::vector<std::string>> TestOutputs();

std::string Fields(std::initializer_list<uint32_t> values);

}  // namespace helx::collect

#endif  // HELX_TESTS_UNIT_WORKER_COLLECT_STREAM_H_
