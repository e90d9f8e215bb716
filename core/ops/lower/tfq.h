// TFQ, the integer transcription of a quantised TensorFlow Lite graph
// (docs/integer-operators.md, section 13.6), parsed and judged.
#ifndef HELX_CORE_OPS_LOWER_TFQ_H_
#define HELX_CORE_OPS_LOWER_TFQ_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/graph.h"
#include "core/ops/json.h"
#include "core/ops/result.h"
#include "core/ops/tensor.h"

namespace helx::ops {

enum class TfqOp : uint8_t {
  kConv2d,
  kDepthwise,
  kFullyConnected,
  kAdd,
  kAveragePool,
  kMaxPool,
  kPad,
  kReshape,
  kUnknown,
};
// "CONV_2D" ...; kUnknown for a name that is not in section 13.6's table.
TfqOp TfqOpFromName(std::string_view name);
std::string_view TfqOpName(TfqOp op);

// Integers of a TFQ beyond i64 are held as kI64Min or kI64Max: no rule admits either.
struct TfqTensor {
  // Null when the tensor has no data.
  const Json* data = nullptr;
  std::vector<int64_t> scale;
  std::vector<int64_t> shape;
  bool int8 = true;
  int64_t zp = 0;

  // [1,H,W,C] or [1,N]; (C,H,W) or (N,1,1).
  bool IsActivationShape() const;
  Shape Planar() const;
  int64_t elements() const;
};

struct TfqNode {
  TfqOp op = TfqOp::kUnknown;
  std::string_view act;
  std::vector<int64_t> in;
  int64_t out = 0;
  bool same = false;
  // "dh", "dw", "kh", "kw", "sh", "sw", or "pb", "pl", "pr", "pt".
  std::map<std::string, int64_t, std::less<>> opts;

  int64_t Option(std::string_view name) const { return opts.find(name)->second; }
};

struct Tfq {
  // Owns what the views and pointers refer to.
  Json json;
  int64_t in = 0;
  int64_t out = 0;
  bool single_rounding = false;
  std::vector<TfqTensor> tensors;
  std::vector<TfqNode> nodes;

  // Null for an index that names no tensor.
  const TfqTensor* At(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(tensors.size()) ? &tensors[index] : nullptr;
  }
};

// kForm, then kLayer.
Result<Tfq> ParseTfq(std::string_view member);

// kUnsupported, then kLimit; empty when the graph can be lowered.
std::optional<Refusal> JudgeTfq(const Tfq& tfq);

// The value behind a tensor: its id and planar shape. A RESHAPE adds no node, so behind its output
// is its input's value.
struct TfqValue {
  uint32_t id = 0;
  Shape shape;
};

struct LoweredTfq {
  Graph graph;
  // By tensor index, for every activation.
  std::map<int64_t, TfqValue> values;
};

// LowerTfq (forms.h) with where each tensor went: to compare a network with another runtime layer
// by layer.
Result<LoweredTfq> LowerTfqValues(std::string_view member);

// Pads of a window on one axis: SAME's, or zeros. In: size, kernel extent, stride.
struct PadPair {
  int64_t before = 0;
  int64_t after = 0;
};
PadPair TfqPads(bool same, int64_t size, int64_t extent, int64_t stride);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_LOWER_TFQ_H_
