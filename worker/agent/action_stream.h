// What a sandboxed action says to the agent through its standard output: a bounded sequence of records.
//
// The child parses strangers' models, so the agent believes nothing: sizes, paths and totals are checked as they arrive.
// Record: type (1 byte), name length (u32 LE), payload length (u64 LE), name, payload.
#ifndef HELX_WORKER_AGENT_ACTION_STREAM_H_
#define HELX_WORKER_AGENT_ACTION_STREAM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx::agent {

enum class RecordType : uint8_t {
  kPhase = 'P',    // payload: "BUILDING", "RUNNING", "COLLECTING", "VERIFYING"
  kLog = 'L',      // payload: bytes for the job's log
  kFile = 'F',     // name: path in the bundle; payload: content
  kCache = 'C',    // name: path in the model's object cache; payload: content
  kOutcome = 'O',  // payload: JSON, exactly once, last
};

struct Record {
  RecordType type = RecordType::kLog;
  std::string name;
  std::string payload;
};

std::string EncodeRecord(RecordType type, std::string_view name, std::string_view payload);

struct StreamLimits {
  size_t name_bytes = 512;
  size_t total_bytes = size_t{320} << 20;
};

// Cuts the stream into records. Not thread-safe.
class RecordReader {
 public:
  explicit RecordReader(std::function<absl::Status(Record)> sink, StreamLimits limits = {})
      : sink_(std::move(sink)), limits_(limits) {}

  // INVALID_ARGUMENT for an unknown type or a record beyond the limits, or the sink's error; after one, every further
  // call returns it again.
  absl::Status Add(std::string_view bytes);

  // Whether the stream ended at a record's end.
  bool AtBoundary() const { return buffer_.empty(); }

 private:
  absl::Status Cut();

  std::function<absl::Status(Record)> sink_;
  StreamLimits limits_;
  std::string buffer_;
  size_t total_ = 0;
  absl::Status status_;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_ACTION_STREAM_H_
