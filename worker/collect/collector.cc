#include "worker/collect/collector.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/base/hex.h"
#include "worker/collect/wire.h"
#include "worker/runner/frames.h"

namespace helx::collect {
namespace {

constexpr uint64_t kProbeBytesMax = 256u << 20;

[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return text;
}

Sha256Bytes LoadDigest(std::string_view payload, size_t at) {
  Sha256Bytes digest;
  std::memcpy(digest.data(), payload.data() + at, digest.size());
  return digest;
}

std::string Place(uint32_t invocation) {
  return invocation == HELX_NO_INVOCATION ? "outside an invocation"
                                          : "in invocation " + std::to_string(invocation);
}

// The causes that CFSR and HFSR name (Armv8-M Architecture Reference Manual, D1.2.14 and D1.2.98).
std::string Causes(uint32_t cfsr, uint32_t hfsr) {
  static constexpr struct {
    uint32_t bit;
    const char* text;
  } kCauses[] = {
      {1u << 0, "instruction fetch from memory that is not code"},
      {1u << 1, "access outside the memory map, to address 0, or a write to constants"},
      {1u << 4, "stack overflow (the exception's frame did not fit)"},
      {1u << 8, "bus error on an instruction fetch"},
      {1u << 9, "bus error on data"},
      {1u << 10, "imprecise bus error"},
      {1u << 12, "bus error while stacking"},
      {1u << 16, "undefined instruction"},
      {1u << 17, "invalid state (a jump to an even address)"},
      {1u << 18, "invalid exception return"},
      {1u << 19, "coprocessor or floating-point unit off"},
      {1u << 20, "stack overflow"},
      {1u << 24, "unaligned access"},
      {1u << 25, "division by zero"},
  };
  std::string out;
  for (const auto& cause : kCauses) {
    if ((cfsr & cause.bit) == 0) continue;
    if (!out.empty()) out += ", ";
    out += cause.text;
  }
  if (out.empty()) out = (hfsr & (1u << 1)) ? "vector table read error" : "cause not recorded";
  return out;
}

std::string RefusalText(std::string_view payload) {
  const uint32_t a = LoadU32(payload, 4), b = LoadU32(payload, 8);
  switch (LoadU32(payload, 0)) {
    case HELX_REFUSE_NO_LOADER_BLOCK:
      return Format("no loader block at the staging address (found %08" PRIx32 ")", a);
    case HELX_REFUSE_LOADER_VERSION:
      return Format("the loader block has version %" PRIu32 ", the runner reads %" PRIu32, a, b);
    case HELX_REFUSE_LOADER_CRC:
      return Format("the loader block's CRC is %08" PRIx32 ", its bytes give %08" PRIx32, a, b);
    case HELX_REFUSE_ACQUISITION:
      return Format("%" PRIu32 " warm-ups and %" PRIu32 " samples are out of range", a, b);
    case HELX_REFUSE_INPUT_SETS:
      return Format("%" PRIu32 " input sets were loaded, the image holds digests of %" PRIu32, a, b);
    case HELX_REFUSE_INPUT_LAYOUT:
      return Format("%" PRIu32 " bytes of inputs were loaded, the model takes %" PRIu32, a, b);
    case HELX_REFUSE_INPUT_DIGEST:
      return Format("input %" PRIu32 " of set %" PRIu32 " hashes to %s, not to the digest in the image",
                    b, a, HexEncode(LoadDigest(payload, 12)).c_str());
    case HELX_REFUSE_COUNTER:
      return Format("the instruction counter does not count (an empty call read %" PRIu32
                    ", then %" PRIu32 ")", a, b);
    default:
      return Format("reason %" PRIu32, LoadU32(payload, 0));
  }
}

const char* RefusalCode(uint32_t reason) {
  switch (reason) {
    case HELX_REFUSE_INPUT_DIGEST: return "input_digest_mismatch";
    case HELX_REFUSE_COUNTER: return "counter_unavailable";
    default: return "runner_refused";
  }
}

}  // namespace

Collector::Collector(Expectation expectation) : expected_(std::move(expectation)) {}

bool Collector::Feed(std::string_view bytes) {
  return decoder_.Feed(bytes, [this](const Frame& frame) { Take(frame); });
}

void Collector::Fail(Fault fault, std::string_view code, std::string_view message) {
  if (!failure_) failure_ = MakeFailure(fault, code, message);
}

void Collector::Unexpected(std::string_view what) {
  Fail(Fault::kBug, "protocol_error",
       Format("frame %" PRIu32 " of the runner is out of place: ", decoder_.frames() - 1) +
           std::string(what));
}

void Collector::Take(const Frame& frame) {
  // The bytes after the fixed part of a payload vary only in DATA and PROBE.
  struct Shape {
    size_t bytes;
    bool more;
  };
  static constexpr Shape kShapes[] = {
      {0, false},  {48, false}, {44, false},
      {24, false}, {4, false},  {12, false},
      {44, false}, {HELX_DATA_HEADER_BYTES, true},
      {12, false}, {44, false}, {8, false},
      {12, false}, {HELX_PROBE_HEADER_BYTES, true}, {40, false}};
  const std::string_view payload = frame.payload;
  if (failure_ && frame.type != HELX_FRAME_FINAL) return;
  if (frame.type == 0 || frame.type > HELX_FRAME_FINAL) {
    return Unexpected(Format("unknown type %u", frame.type));
  }
  const Shape shape = kShapes[frame.type];
  if (payload.size() < shape.bytes || (!shape.more && payload.size() != shape.bytes)) {
    return Unexpected(Format("type %u with %zu bytes", frame.type, payload.size()));
  }
  if ((frame.type == HELX_FRAME_START) != (stage_ == Stage::kStart)) {
    return Unexpected("the first frame, and only the first, is START");
  }
  switch (frame.type) {
    case HELX_FRAME_START: return TakeStart(payload);
    case HELX_FRAME_REFUSAL: return TakeRefusal(payload);
    case HELX_FRAME_READY: return TakeReady(payload);
    case HELX_FRAME_WARMUP:
      if (stage_ != Stage::kInvoking || LoadU32(payload, 0) != warmups_ + 1 ||
          warmups_ == expected_.warmup) {
        return Unexpected("WARMUP");
      }
      ++warmups_;
      ++invocations_;
      return;
    case HELX_FRAME_SAMPLE: return TakeSample(payload);
    case HELX_FRAME_SIGNATURE: return TakeSignature(payload);
    case HELX_FRAME_DATA: return TakeData(payload);
    case HELX_FRAME_STACK:
      if (stage_ != Stage::kInvoking || evidence_.samples.size() != expected_.samples) {
        return Unexpected("STACK before the last sample");
      }
      evidence_.stack_high_water_bytes = LoadU32(payload, 0);
      evidence_.stack_total_bytes = LoadU32(payload, 4);
      evidence_.stack_reserved_bytes = LoadU32(payload, 8);
      stage_ = Stage::kEnding;
      return;
    case HELX_FRAME_FAULT: return TakeFault(payload);
    case HELX_FRAME_OPERATOR_ERROR:
      return Fail(Fault::kUser, "operator_failed",
                  Format("operator %" PRIu32 " could not go on with these inputs (%s)",
                         LoadU32(payload, 4), Place(LoadU32(payload, 0)).c_str()));
    case HELX_FRAME_LIMIT:
      Fail(Fault::kUser, "instruction_limit",
           Format("an invocation executed more than %" PRIu64 " instructions (%s)",
                  LoadU64(payload, 4), Place(LoadU32(payload, 0)).c_str()));
      if (failure_->code == "instruction_limit") failure_->timed_out = true;
      return;
    case HELX_FRAME_PROBE: return TakeProbe(payload);
    case HELX_FRAME_FINAL: return TakeFinal(payload);
  }
}

void Collector::TakeStart(std::string_view payload) {
  stage_ = Stage::kLoader;
  if (LoadU32(payload, 0) != HELX_PROTOCOL_VERSION) {
    return Fail(Fault::kBug, "protocol_version",
                Format("the runner speaks protocol %" PRIu32 ", this worker %u", LoadU32(payload, 0),
                       HELX_PROTOCOL_VERSION));
  }
  evidence_.request_digest = LoadDigest(payload, 4);
  evidence_.cpuid = LoadU32(payload, 36);
  if (evidence_.request_digest != expected_.request_digest) {
    return Fail(Fault::kBug, "request_digest_mismatch",
                "the image was made for the tensor request " +
                    HexEncode(evidence_.request_digest) + ", not for " +
                    HexEncode(expected_.request_digest) + ": its result is refused");
  }
  if (LoadU32(payload, 40) != expected_.input_count ||
      LoadU32(payload, 44) != expected_.output_bytes.size()) {
    Fail(Fault::kBug, "interface_mismatch",
         Format("the image has %" PRIu32 " inputs and %" PRIu32
                " outputs, the request %" PRIu32 " and %zu",
                LoadU32(payload, 40), LoadU32(payload, 44), expected_.input_count,
                expected_.output_bytes.size()));
  }
}

void Collector::TakeRefusal(std::string_view payload) {
  if (stage_ != Stage::kLoader) return Unexpected("REFUSAL after READY");
  Fail(Fault::kBug, RefusalCode(LoadU32(payload, 0)),
       "the runner refused to invoke: " + RefusalText(payload));
}

void Collector::TakeReady(std::string_view payload) {
  if (stage_ != Stage::kLoader) return Unexpected("READY twice");
  const uint32_t expected[] = {expected_.warmup,  expected_.samples, expected_.state,
                               expected_.capture, expected_.poison,  expected_.input_set_count};
  for (size_t i = 0; i < std::size(expected); ++i) {
    if (LoadU32(payload, 4 * i) != expected[i]) {
      return Unexpected(Format("READY tells another acquisition (field %zu)", i));
    }
  }
  stage_ = Stage::kInvoking;
}

void Collector::TakeSample(std::string_view payload) {
  if (stage_ != Stage::kInvoking || warmups_ != expected_.warmup ||
      evidence_.samples.size() == expected_.samples ||
      LoadU32(payload, 0) != evidence_.samples.size()) {
    return Unexpected("SAMPLE");
  }
  evidence_.samples.push_back({LoadU64(payload, 4), {}, {}});
  ++invocations_;
  output_ = 0;
  signature_seen_ = false;
  stage_ = expected_.output_bytes.empty() ? Stage::kInvoking : Stage::kOutputs;
}

void Collector::NextOutput() {
  ++output_;
  signature_seen_ = false;
  if (output_ == expected_.output_bytes.size()) stage_ = Stage::kInvoking;
}

void Collector::TakeSignature(std::string_view payload) {
  if (stage_ != Stage::kOutputs || signature_seen_ ||
      LoadU32(payload, 0) != evidence_.samples.size() - 1 || LoadU32(payload, 4) != output_) {
    return Unexpected("SIGNATURE");
  }
  const uint32_t bytes = LoadU32(payload, 8);
  if (bytes != expected_.output_bytes[output_]) {
    return Fail(Fault::kBug, "interface_mismatch",
                Format("output %zu has %" PRIu32 " bytes in the image, %" PRIu32 " in the request",
                       output_, bytes, expected_.output_bytes[output_]));
  }
  MeasuredSample& sample = evidence_.samples.back();
  sample.signatures.push_back(LoadDigest(payload, 12));
  if (expected_.capture) sample.outputs.emplace_back();
  signature_seen_ = true;
  if (!expected_.capture || bytes == 0) NextOutput();
}

void Collector::TakeData(std::string_view payload) {
  const std::string_view data = payload.substr(HELX_DATA_HEADER_BYTES);
  if (stage_ != Stage::kOutputs || !signature_seen_ || data.empty() ||
      LoadU32(payload, 0) != evidence_.samples.size() - 1 || LoadU32(payload, 4) != output_) {
    return Unexpected("DATA");
  }
  MeasuredSample& sample = evidence_.samples.back();
  std::string& bytes = sample.outputs.back();
  const uint32_t whole = expected_.output_bytes[output_];
  if (LoadU32(payload, 8) != bytes.size() || data.size() > whole - bytes.size()) {
    return Unexpected("DATA at the wrong offset");
  }
  if (bytes.empty()) bytes.reserve(whole);
  bytes.append(data);
  if (bytes.size() < whole) return;
  if (Sha256Of({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}) !=
      sample.signatures.back()) {
    return Fail(Fault::kDevice, "output_digest_mismatch",
                Format("the bytes of output %zu of sample %zu do not hash to their signature",
                       output_, evidence_.samples.size() - 1));
  }
  NextOutput();
}

void Collector::TakeFault(std::string_view payload) {
  FaultRegisters r;
  r.exception = LoadU32(payload, 0);
  r.cfsr = LoadU32(payload, 4);
  r.hfsr = LoadU32(payload, 8);
  r.mmfar = LoadU32(payload, 12);
  r.bfar = LoadU32(payload, 16);
  r.pc = LoadU32(payload, 20);
  r.lr = LoadU32(payload, 24);
  r.xpsr = LoadU32(payload, 28);
  r.sp = LoadU32(payload, 32);
  r.frame_readable = LoadU32(payload, 36) != 0;
  r.invocation = LoadU32(payload, 40);
  registers_ = r;
  std::string text = "the processor faulted " + Place(r.invocation) + ": " + Causes(r.cfsr, r.hfsr);
  if (r.cfsr & (1u << 7)) text += Format(" at address 0x%08" PRIx32, r.mmfar);
  if (r.cfsr & (1u << 15)) text += Format(" at address 0x%08" PRIx32, r.bfar);
  text += r.frame_readable ? Format(" (PC 0x%08" PRIx32 ", LR 0x%08" PRIx32, r.pc, r.lr)
                           : std::string(" (PC and LR were lost");
  text += Format(", exception %" PRIu32 ", CFSR 0x%08" PRIx32 ", HFSR 0x%08" PRIx32
                 ", SP 0x%08" PRIx32 ")", r.exception, r.cfsr, r.hfsr, r.sp);
  Fail(Fault::kBug, "hard_fault", text);
}

void Collector::TakeProbe(std::string_view payload) {
  const std::string_view data = payload.substr(HELX_PROBE_HEADER_BYTES);
  const uint32_t invocation = LoadU32(payload, 0), operator_index = LoadU32(payload, 4);
  const uint32_t output = LoadU32(payload, 8), total = LoadU32(payload, 12);
  const uint32_t offset = LoadU32(payload, 16);
  if (stage_ != Stage::kInvoking) return Unexpected("PROBE");
  if (offset == 0) evidence_.probes.push_back({invocation, operator_index, output, {}});
  if (evidence_.probes.empty()) return Unexpected("PROBE without its beginning");
  ProbedTensor& probe = evidence_.probes.back();
  probe_bytes_ += data.size() + sizeof(ProbedTensor);
  if (probe.bytes.size() != offset || probe.operator_index != operator_index ||
      probe.output != output || probe.invocation != invocation || offset > total ||
      data.size() > total - offset) {
    return Unexpected("PROBE at the wrong offset");
  }
  if (probe_bytes_ > kProbeBytesMax) {
    return Fail(Fault::kUser, "probe_limit",
                Format("the intermediate tensors pass %" PRIu64 " bytes; probe fewer invocations",
                       kProbeBytesMax));
  }
  probe.bytes.append(data);
}

void Collector::TakeFinal(std::string_view payload) {
  if (!failure_ && (LoadU32(payload, 0) != HELX_FINAL_COMPLETE || stage_ != Stage::kEnding)) {
    Unexpected("FINAL before everything was reported");
  }
  stage_ = Stage::kFinal;
}

std::optional<Failure> Collector::Explain(const SimulatorEnd& end) const {
  // A defect after a failure that was reported whole does not hide it.
  if (failure_) return failure_;
  if (decoder_.defect() != FrameDecoder::Defect::kNone) {
    using Defect = FrameDecoder::Defect;
    const char* code = decoder_.defect() == Defect::kSequence ? "frame_gap"
                       : decoder_.defect() == Defect::kDigest ? "stream_digest_mismatch"
                                                              : "frame_corrupt";
    return MakeFailure(Fault::kDevice, code,
                       "the runner's stream has " + std::string(DefectText(decoder_.defect())) +
                           Format(" after %" PRIu32 " frames, %" PRIu64 " bytes", decoder_.frames(),
                                  decoder_.bytes()));
  }
  if (decoder_.finished()) return std::nullopt;
  return ExplainSilence(end);
}

std::optional<Failure> Collector::ExplainSilence(const SimulatorEnd& end) const {
  const std::string so_far = Format("after %" PRIu32 " frames, %" PRIu64 " bytes", decoder_.frames(),
                                    decoder_.bytes());
  const std::string said =
      end.diagnostics.empty() ? "" : "; the emulator said: " + end.diagnostics;
  if (end.wall_limit) {
    Failure failure = MakeFailure(Fault::kUser, "wall_limit",
                                  "the run did not end within its wall-clock limit (" + so_far + ")");
    failure.timed_out = true;
    return failure;
  }
  if (end.silent) {
    return MakeFailure(Fault::kDevice, decoder_.frames() == 0 ? "no_start_frame" : "silence",
                       "the board fell silent " + so_far + said);
  }
  if (end.diagnostics.find("Lockup") != std::string::npos) {
    return MakeFailure(Fault::kBug, "lockup",
                       "the processor locked up: it faulted inside its fault handler" + said);
  }
  if (end.signal != 0) {
    return MakeFailure(Fault::kDevice, "emulator_crashed",
                       Format("the emulator died of signal %d ", end.signal) + so_far + said);
  }
  if (end.exit_code != 0 && decoder_.bytes() == 0) {
    return MakeFailure(Fault::kInfra, "emulator_refused",
                       Format("the emulator did not start (exit status %d)", end.exit_code) + said);
  }
  if (decoder_.frames() == 0) {
    return MakeFailure(Fault::kDevice, "no_start_frame",
                       "the emulator ended without a frame from the runner" + said);
  }
  return MakeFailure(Fault::kDevice, "stream_truncated",
                     "the runner's stream ends before its final frame, " + so_far + said);
}

}  // namespace helx::collect
