// The bounds pass and its verdict (docs/integer-operators.md, sections 7 and 8), and the verdict on
// the wai-ops/1-npu subset (section 9.2).
#ifndef HELX_CORE_OPS_BOUNDS_H_
#define HELX_CORE_OPS_BOUNDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/graph.h"

namespace helx::ops {

struct Interval {
  i128 lo = 0;
  i128 hi = 0;
};

// What the pass records of one named value: the hull over channels, before any clamping.
struct NamedInterval {
  // Without the leading "~" of a wide name.
  std::string_view name;
  bool wide = false;
  Interval interval;

  // As a certificate writes it.
  std::string CertificateName() const;
};

struct ValueBounds {
  uint32_t id = 0;
  // "input", "state" or the operator's name.
  std::string_view op;
  // In section 5's order.
  std::vector<NamedInterval> named;
  // The interval later nodes see (section 8.1 step 3).
  Interval out;

  // REQUIRES: `name` is one of the value's.
  const Interval& Named(std::string_view name) const;
};

// One entry of a certificate's fail_acc32 or fail_acc64.
struct Failure {
  uint32_t id = 0;
  std::string name;
  bool operator==(const Failure&) const = default;
};

enum class Verdict : uint8_t { kNone, kAcc64, kAcc32 };
// "none", "acc64", "acc32".
std::string_view VerdictName(Verdict verdict);

struct Bounds {
  std::vector<ValueBounds> values;
  std::vector<Failure> fail_acc32;
  std::vector<Failure> fail_acc64;

  Verdict verdict() const;
};

// `channels` is every value's channel count in id order (section 8.2). The graph has passed load
// steps 1 to 7.
Bounds ComputeBounds(const Graph& graph, const std::vector<int64_t>& channels);

struct NpuVerdict {
  bool npu = false;
  // Sorted and distinct.
  std::vector<std::string> flags;
  std::vector<std::string> reasons;
};

NpuVerdict ComputeNpuVerdict(const Graph& graph, Verdict verdict);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_BOUNDS_H_
