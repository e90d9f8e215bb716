#include "core/ops/graph.h"

namespace helx::ops {
namespace {

constexpr std::string_view kNames[] = {
    "conv",  "conv_transpose", "rescale", "add",         "mul",    "lut16",   "sigmoid",
    "elu",   "leaky",          "crop",    "pad",         "concat", "slice",   "pixel_shuffle",
    "igdn",  "chscale",        "l2norm",  "layernorm_c", "clamp",  "maxpool", "divc",
    "check",
};

}  // namespace

std::string_view OpName(Op op) { return kNames[static_cast<int>(op) - kFirstOp]; }

std::optional<Op> OpFromName(std::string_view name) {
  for (int code = kFirstOp; code <= kLastOp; ++code) {
    if (kNames[code - kFirstOp] == name) return static_cast<Op>(code);
  }
  return std::nullopt;
}

ArgCount OpArgs(Op op) {
  if (op == Op::kAdd || op == Op::kMul) return {2, 2};
  if (op == Op::kConcat) return {2, 16};
  return {1, 1};
}

}  // namespace helx::ops
