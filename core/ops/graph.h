// The graph of wai-ops/1 in memory: what a WHG1 file (docs/integer-operators.md, section 10) holds.
#ifndef HELX_CORE_OPS_GRAPH_H_
#define HELX_CORE_OPS_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ops/integers.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// The graph operators; the value is the WHG1 code and the text's section 5.<code>.
enum class Op : uint16_t {
  kConv = 1,
  kConvTranspose,
  kRescale,
  kAdd,
  kMul,
  kLut16,
  kSigmoid,
  kElu,
  kLeaky,
  kCrop,
  kPad,
  kConcat,
  kSlice,
  kPixelShuffle,
  kIgdn,
  kChscale,
  kL2norm,
  kLayernormC,
  kClamp,
  kMaxpool,
  kDivc,
  kCheck,
};
inline constexpr int kFirstOp = 1;
inline constexpr int kLastOp = 22;

// "conv", "conv_transpose", ...
std::string_view OpName(Op op);
std::optional<Op> OpFromName(std::string_view name);
// The number of arguments an operator takes, inclusive bounds.
struct ArgCount {
  int min;
  int max;
};
ArgCount OpArgs(Op op);

// The parameters of one node: the union of section 5's, by the text's names. An operator reads
// only its own; the others keep these defaults, which are also section 14.7.3's where it has one.
struct Params {
  // Convolutions and pooling; pads also of crop and pad.
  int64_t cin = 2, cout = 2, groups = 1;
  int64_t kh = 1, kw = 1, sh = 1, sw = 1, dh = 1, dw = 1;
  int64_t pt = 0, pb = 0, pl = 0, pr = 0;
  // Rounding code, of every operator that rounds.
  int64_t rnd = 1;
  // The rq or rqb records (section 2.4), n of them; one for mul, whose post_bias is unused.
  int64_t n = 1;
  std::vector<int64_t> mult, post_bias, shift;
  std::vector<int64_t> bias;  // [cout]
  std::vector<int32_t> w;     // conv [cout][cin/groups][kh][kw], conv_transpose [cin][cout][kh][kw]
  std::vector<int32_t> table;   // lut16's T, 257
  int64_t f = 8, o = 15;        // sigmoid, elu
  int64_t a = 8192;             // leaky
  int64_t v = 0;                // pad
  int64_t c0 = 0, c1 = 1;       // slice
  int64_t r = 2;                // pixel_shuffle
  int64_t c = 2;                // igdn, chscale
  int64_t igdn_shift = 0;       // igdn's "shift"
  std::vector<int64_t> beta;    // igdn [c]
  std::vector<int32_t> gamma;   // igdn [c][c]
  std::vector<int64_t> m, s;    // chscale [c]
  int64_t k = 8;                // l2norm, layernorm_c
  uint64_t eps = 1;             // l2norm, layernorm_c
  int64_t lo = -100, hi = 100;  // clamp, check
  int64_t d = 1;                // divc

  Rounding rounding() const { return static_cast<Rounding>(rnd); }
};

struct Input {
  bool state = false;
  bool fixed = false;
  int64_t c = 2, h_cap = 8, w_cap = 8;
  // Declared range, inclusive.
  int64_t lo = -100, hi = 100;
  // A state's initial value, c * h_cap * w_cap elements, planar; empty for a data input.
  std::vector<int64_t> init;
};

struct Node {
  Op op = Op::kRescale;
  // Value ids, each smaller than this node's own id.
  std::vector<uint32_t> args;
  Params params;
};

// Value ids: inputs 0 .. inputs.size()-1, then node i is inputs.size() + i.
struct Graph {
  int64_t max_elems = 4096;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<uint32_t> outputs;
  // The states' updates, in the states' table order.
  std::vector<uint32_t> updates;

  size_t values() const { return inputs.size() + nodes.size(); }
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_GRAPH_H_
