// From frames to one acquisition's evidence, held against what was asked for.
#ifndef HELX_WORKER_COLLECT_COLLECTOR_H_
#define HELX_WORKER_COLLECT_COLLECTOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sha256.h"
#include "worker/collect/failure.h"
#include "worker/collect/frame_decoder.h"

namespace helx::collect {

// What the runner must say and how much of it: bounds everything the collector keeps.
struct Expectation {
  Sha256Bytes request_digest{};        // of the canonical tensor request
  uint32_t input_count = 0;
  std::vector<uint32_t> output_bytes;  // per output, in model-index order
  uint32_t warmup = 0;
  uint32_t samples = 1;
  uint32_t state = 0;                  // HELX_STATE_*
  bool capture = false;
  uint32_t poison = 0;
  uint32_t input_set_count = 1;
};

struct MeasuredSample {
  uint64_t instructions = 0;             // executed by the invocation, exactly
  std::vector<Sha256Bytes> signatures;   // of each output's bytes
  std::vector<std::string> outputs;      // the bytes, with capture only
};

// An intermediate tensor of a diagnostic build.
struct ProbedTensor {
  uint32_t invocation = 0;
  uint32_t operator_index = 0;
  uint32_t output = 0;
  std::string bytes;
};

struct Evidence {
  Sha256Bytes request_digest{};
  uint32_t cpuid = 0;
  std::vector<MeasuredSample> samples;
  uint32_t stack_high_water_bytes = 0;  // below the call of invoke, largest of all invocations
  uint32_t stack_total_bytes = 0;       // from the top, the runner's own frames included
  uint32_t stack_reserved_bytes = 0;
  // Not empty: a diagnostic build, whose instruction counts include the reporting.
  std::vector<ProbedTensor> probes;
};

// Registers at a fault (Armv7-M / Armv8-M names).
struct FaultRegisters {
  uint32_t exception = 0, cfsr = 0, hfsr = 0, mmfar = 0, bfar = 0;
  uint32_t pc = 0, lr = 0, xpsr = 0, sp = 0;
  bool frame_readable = false;  // pc, lr and xpsr are known
  uint32_t invocation = 0;      // HELX_NO_INVOCATION: outside one
};

// How the simulator ended, for the case that the frames do not say.
struct SimulatorEnd {
  bool wall_limit = false;
  bool silent = false;
  int exit_code = -1;
  int signal = 0;
  std::string diagnostics{};  // what it printed to stderr
};

class Collector {
 public:
  explicit Collector(Expectation expectation);

  // Takes bytes of the stream. False: nothing more is wanted (complete, or beyond repair).
  bool Feed(std::string_view bytes);

  // After the simulator ended: why there is no result, or nothing when evidence() is complete and true to the
  // expectation. Verdicts come from frames; how the simulator ended only explains their absence.
  std::optional<Failure> Explain(const SimulatorEnd& end) const;

  // REQUIRES: Explain returned nothing.
  const Evidence& evidence() const { return evidence_; }
  const std::optional<FaultRegisters>& registers() const { return registers_; }
  uint32_t frames() const { return decoder_.frames(); }
  // Samples and warm-ups completed, for progress.
  uint32_t invocations() const { return invocations_; }

 private:
  enum class Stage { kStart, kLoader, kInvoking, kOutputs, kEnding, kFinal };

  void Take(const Frame& frame);
  void TakeStart(std::string_view payload);
  void TakeReady(std::string_view payload);
  void TakeRefusal(std::string_view payload);
  void TakeSample(std::string_view payload);
  void TakeSignature(std::string_view payload);
  void TakeData(std::string_view payload);
  void TakeFault(std::string_view payload);
  void TakeProbe(std::string_view payload);
  void TakeFinal(std::string_view payload);
  void NextOutput();
  void Fail(Fault fault, std::string_view code, std::string_view message);
  void Unexpected(std::string_view what);
  std::optional<Failure> ExplainSilence(const SimulatorEnd& end) const;

  const Expectation expected_;
  FrameDecoder decoder_;
  Evidence evidence_;
  std::optional<FaultRegisters> registers_;
  std::optional<Failure> failure_;  // the first thing that went wrong
  Stage stage_ = Stage::kStart;
  uint32_t warmups_ = 0;
  uint32_t invocations_ = 0;
  size_t output_ = 0;               // of the last sample: the output whose frames come next
  bool signature_seen_ = false;     // ... whose data come next
  uint64_t probe_bytes_ = 0;
};

}  // namespace helx::collect

#endif  // HELX_WORKER_COLLECT_COLLECTOR_H_
