// result.json (schema helx.result/4): what was measured, and the verdict.
#ifndef HELX_CORE_BUNDLE_RESULT_H_
#define HELX_CORE_BUNDLE_RESULT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/status.h"
#include "core/experiment/frozen_request.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

// A counter that may be unavailable: then `value` is empty and `reason` says why; never 0 for "not
// counted".
struct Metric {
  std::optional<int64_t> value;
  std::string basis;     // "qemu-icount", "elf", "runner", ...
  std::string accuracy;  // "exact", "estimate", ...
  std::string reason;
};

struct RetainedTensor {
  TensorSpec spec;
  std::string path;  // in the bundle
  Digest digest;
};

struct TensorVerdict {
  int32_t output = 0;
  int64_t elements = 0;
  int64_t mismatches = 0;
  int64_t nonfinite_pairs = 0;
  std::optional<std::string> max_abs_error;  // exact decimal; empty without a finite pair
  struct Difference {
    std::vector<int64_t> position;  // in the tensor's shape
    std::string actual;             // exact decimal, or hex of the bytes when not finite
    std::string reference;
  };
  std::optional<Difference> first_difference;
};

struct Verification {
  int64_t reference_index = 0;
  bool matched = false;
  std::vector<TensorVerdict> tensors;
};

// The JSON of a verdict, as in result.json.
Json VerificationToJson(const Verification& verification);

struct Sample {
  int64_t index = 0;
  Metric instructions;
  std::vector<std::string> signatures;      // hex SHA-256 of each output's bytes
  std::vector<std::string> output_tensors;  // paths; empty without capture
  std::optional<Verification> verification;
};

struct MemoryFigures {
  Metric rom_bytes;  // code + constants + weights in the image
  Metric text_bytes;
  Metric rodata_bytes;  // constants without weights
  Metric weight_bytes;
  Metric ram_bytes;    // data + bss: arena, variables, runner
  Metric arena_bytes;  // activations + scratch
  Metric variable_bytes;
  Metric stack_high_water_bytes;
};

// The members of `memory`, by name, ascending.
struct MemoryMember {
  const char* name;
  Metric MemoryFigures::*member;
};
std::span<const MemoryMember> MemoryMembers();

// A file that the result was made with or made beside its tensors.
struct RetainedFile {
  std::string path;  // in the bundle
  Digest digest;

  friend bool operator==(const RetainedFile&, const RetainedFile&) = default;
};

struct ResultDocument {
  static constexpr std::string_view kSchema = "helx.result/4";

  std::string request_identity;  // "helx.request/v1:sha256:..."
  std::string platform;
  std::string core;
  ToolIdentity engine;
  ToolIdentity toolchain;
  ToolIdentity target;
  Acquisition acquisition;
  std::string image_sha256;
  Digest model;

  bool executed = false;                            // false: a build-only bundle
  std::string input_intent;                         // "explicit" | "implicit_zeros"
  std::vector<std::vector<RetainedTensor>> inputs;  // per input set; no set without capture
  std::vector<TensorSpec> outputs;
  std::vector<BoundReference> references;
  std::vector<std::vector<std::string>> reference_paths;  // per reference, per tensor
  ComparisonEntry comparison;
  std::string
      tensor_request_digest;  // hex; as reported by the runner, or as compiled when not executed

  std::vector<Sample> samples;
  MemoryFigures memory;
  // Every artifact that is evidence beside request, result and tensors: image, memory plan,
  // sources, operators' outputs. By path, ascending.
  std::vector<RetainedFile> files;

  Json ToJson() const;
  absl::StatusOr<std::string> Canonical() const;
  // Refuses unknown members and any text but the canonical one.
  static absl::StatusOr<ResultDocument> Parse(std::string_view text);

  // "match" | "mismatch" | "not_compared" over all samples.
  std::string Assessment() const;
};

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_RESULT_H_
