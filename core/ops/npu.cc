// The wai-ops/1-npu subset (docs/integer-operators.md, section 9.2).
#include <algorithm>
#include <set>

#include "core/ops/bounds.h"

namespace helx::ops {
namespace {

constexpr int64_t kNpuMaxElems = int64_t{1} << 24;

bool InSubset(Op op) {
  switch (op) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kRescale:
    case Op::kAdd:
    case Op::kMul:
    case Op::kLeaky:
    case Op::kCrop:
    case Op::kPad:
    case Op::kConcat:
    case Op::kSlice:
    case Op::kPixelShuffle:
    case Op::kChscale:
    case Op::kClamp:
    case Op::kMaxpool:
    case Op::kCheck:
      return true;
    default:
      return false;
  }
}

// The flags of a node's shifts and multipliers.
void AddScaling(Rounding rounding, const std::vector<int64_t>& shifts,
                const std::vector<int64_t>& mults, std::set<std::string>* flags) {
  for (const int64_t shift : shifts) {
    if (shift >= 60) flags->insert("shift_60");
    if (shift >= 1) flags->insert("round:" + std::string(RoundingName(rounding)));
  }
  for (const int64_t mult : mults) {
    if (mult >= 32768 || mult <= -32768) flags->insert("mult:wide");
  }
}

void AddFlags(const Node& node, std::set<std::string>* flags) {
  const Params& p = node.params;
  switch (node.op) {
    case Op::kConvTranspose:
      if (p.sh > 1 || p.sw > 1) flags->insert("phase");
      [[fallthrough]];
    case Op::kConv:
    case Op::kRescale:
    case Op::kMul:
      AddScaling(p.rounding(), p.shift, p.mult, flags);
      break;
    case Op::kChscale:
      AddScaling(p.rounding(), p.s, p.m, flags);
      break;
    case Op::kLeaky:
      AddScaling(Rounding::kHalfUp, {16}, {}, flags);
      break;
    default:
      break;
  }
}

}  // namespace

NpuVerdict ComputeNpuVerdict(const Graph& graph, Verdict verdict) {
  std::set<std::string> flags;
  std::set<std::string> reasons;
  if (verdict != Verdict::kAcc32) reasons.insert("profile");
  if (graph.max_elems > kNpuMaxElems) reasons.insert("size");
  if (!graph.updates.empty()) flags.insert("state");
  for (const Node& node : graph.nodes) {
    if (!InSubset(node.op)) reasons.insert("op:" + std::string(OpName(node.op)));
    AddFlags(node, &flags);
  }
  return {reasons.empty(), {flags.begin(), flags.end()}, {reasons.begin(), reasons.end()}};
}

}  // namespace helx::ops
