// Lowering of tflite_int8/1 (docs/integer-operators.md, section 13.6).
#include <algorithm>
#include <map>

#include "core/ops/lower/binary_float.h"
#include "core/ops/lower/forms.h"
#include "core/ops/lower/tfq.h"

namespace helx::ops {
namespace {

constexpr int64_t kTfqMaxElems = int64_t{1} << 24;
constexpr int64_t kMaxWeights = int64_t{1} << 26;

class Lowering {
 public:
  explicit Lowering(const Tfq& tfq) : tfq_(tfq) {}

  Result<Graph> Run() {
    const TfqTensor& in = *tfq_.At(tfq_.in);
    Input input;
    const Shape shape = in.Planar();
    if (shape.c > kMaxDim || shape.h > kMaxDim || shape.w > kMaxDim) {
      return LimitFault("a dim of the input is above 65535");
    }
    input.fixed = true;
    input.c = shape.c;
    input.h_cap = shape.h;
    input.w_cap = shape.w;
    input.lo = -128;
    input.hi = 127;
    graph_.max_elems = kTfqMaxElems;
    graph_.inputs = {input};
    values_[tfq_.in] = {0, shape};
    for (size_t i = 0; i < tfq_.nodes.size(); ++i) {
      if (!Node(tfq_.nodes[i])) {
        return LimitFault("op " + std::to_string(i) + " (" +
                          std::string(TfqOpName(tfq_.nodes[i].op)) + "): " + fault_);
      }
    }
    graph_.outputs = {values_[tfq_.out].id};
    return std::move(graph_);
  }

  const std::map<int64_t, TfqValue>& values() const { return values_; }

 private:
  bool Fail(std::string_view what) {
    fault_ = what;
    return false;
  }

  static Real ScaleOf(const TfqTensor& tensor, size_t i) {
    return FromBinary32(static_cast<uint32_t>(tensor.scale[i]));
  }

  bool Node(const TfqNode& node) {
    const TfqTensor& y = *tfq_.At(node.out);
    const TfqValue x = values_[node.in[0]];
    uint32_t id = x.id;
    switch (node.op) {
      case TfqOp::kConv2d:
      case TfqOp::kDepthwise:
      case TfqOp::kFullyConnected:
        if (!Convolution(node, x, &id)) return false;
        break;
      case TfqOp::kAdd:
        if (!Add(node, &id)) return false;
        break;
      case TfqOp::kAveragePool:
        if (!AveragePool(node, x, &id)) return false;
        break;
      case TfqOp::kMaxPool: {
        Params window;
        SetWindow(node, x.shape, &window);
        id = AddNode(&graph_, Op::kMaxpool, {id}, std::move(window));
        break;
      }
      case TfqOp::kPad: {
        Params pads;
        pads.pt = node.Option("pt");
        pads.pb = node.Option("pb");
        pads.pl = node.Option("pl");
        pads.pr = node.Option("pr");
        pads.v = tfq_.At(node.in[0])->zp;
        id = AddNode(&graph_, Op::kPad, {id}, std::move(pads));
        break;
      }
      case TfqOp::kReshape:
      case TfqOp::kUnknown:
        values_[node.out] = x;
        return true;
    }
    if (node.op != TfqOp::kPad) id = Activate(node, y, id);
    values_[node.out] = {id, y.Planar()};
    return true;
  }

  uint32_t Center(const TfqTensor& x, uint32_t id) {
    if (x.zp == 0) return id;
    return AddNode(&graph_, Op::kRescale, {id}, RequantParams(Rounding::kHalfUp, 1, 0, -x.zp));
  }

  uint32_t Activate(const TfqNode& node, const TfqTensor& y, uint32_t id) {
    int64_t lo = -128;
    int64_t hi = 127;
    if (node.act != "none") lo = std::max(lo, y.zp);
    if (node.act == "relu6") {
      constexpr Real kSix = {6, 0};
      const auto quotient = Divide32(kSix, ScaleOf(y, 0));
      // A quotient past binary32 is infinite: no bound below 127.
      if (quotient) hi = std::min(hi, y.zp + RoundToInteger(*quotient, 1000));
    }
    return AddNode(&graph_, Op::kClamp, {id}, LimitParams(lo, hi));
  }

  // The multipliers of `scales` values of M as the rqb that a conv or rescale takes.
  bool RequantOf(const std::vector<Real>& multipliers, int64_t zp, Params* params) {
    params->rnd = static_cast<int64_t>(Rounding::kHalfUp);
    params->n = static_cast<int64_t>(multipliers.size());
    params->mult.clear();
    params->shift.clear();
    exponents_.clear();
    for (const Real m : multipliers) {
      const QuantizedMultiplier qm = QuantizeMultiplier(m, tfq_.single_rounding);
      if (!tfq_.single_rounding && qm.e > 32) return Fail("a multiplier passes i64");
      exponents_.push_back(qm.e);
      params->mult.push_back(tfq_.single_rounding ? qm.q
                                                  : qm.q * (int64_t{1} << std::max(qm.e, 0)));
      params->shift.push_back(tfq_.single_rounding ? 31 - qm.e : 31);
    }
    params->post_bias.assign(multipliers.size(), tfq_.single_rounding ? zp : 0);
    return true;
  }

  // "double"'s second rounding, after the rqb of RequantOf; nothing for "single".
  uint32_t SecondRounding(int64_t zp, uint32_t id) {
    if (tfq_.single_rounding) return id;
    Params params;
    params.rnd = static_cast<int64_t>(Rounding::kHalfAway);
    params.n = static_cast<int64_t>(exponents_.size());
    params.mult.assign(exponents_.size(), 1);
    params.post_bias.assign(exponents_.size(), zp);
    for (const int e : exponents_) params.shift.push_back(std::max(-e, 0));
    return AddNode(&graph_, Op::kRescale, {id}, std::move(params));
  }

  bool Rescale(Real multiplier, int64_t zp, uint32_t* id) {
    Params params;
    if (!RequantOf({multiplier}, zp, &params)) return false;
    *id = SecondRounding(zp, AddNode(&graph_, Op::kRescale, {*id}, std::move(params)));
    return true;
  }

  static void SetWindow(const TfqNode& node, const Shape& in, Params* p) {
    p->kh = node.Option("kh");
    p->kw = node.Option("kw");
    p->sh = node.Option("sh");
    p->sw = node.Option("sw");
    p->dh = node.Option("dh");
    p->dw = node.Option("dw");
    const PadPair rows = TfqPads(node.same, in.h, (p->kh - 1) * p->dh + 1, p->sh);
    const PadPair columns = TfqPads(node.same, in.w, (p->kw - 1) * p->dw + 1, p->sw);
    p->pt = rows.before;
    p->pb = rows.after;
    p->pl = columns.before;
    p->pr = columns.after;
  }

  std::vector<Real> Multipliers(const TfqNode& node, const TfqTensor& x, const TfqTensor& w,
                                const TfqTensor& y) const {
    std::vector<Real> multipliers;
    const Real s_in = ScaleOf(x, 0);
    const Real s_out = ScaleOf(y, 0);
    for (size_t i = 0; i < w.scale.size(); ++i) {
      // The reference kernel of FULLY_CONNECTED with one scale multiplies in binary32.
      const bool narrow = node.op == TfqOp::kFullyConnected && w.scale.size() == 1;
      const Real product =
          narrow ? *Multiply32(s_in, ScaleOf(w, i)) : Multiply64(s_in, ScaleOf(w, i));
      multipliers.push_back(Divide64(product, s_out));
    }
    return multipliers;
  }

  // The weights in conv's order, from TensorFlow Lite's.
  static std::vector<int32_t> Weights(const TfqNode& node, const TfqTensor& w, const Params& p) {
    const std::vector<Json>& data = w.data->items();
    const int64_t cg = p.cin / p.groups;
    std::vector<int32_t> out;
    out.reserve(data.size());
    for (int64_t o = 0; o < p.cout; ++o) {
      for (int64_t c = 0; c < cg; ++c) {
        for (int64_t y = 0; y < p.kh; ++y) {
          for (int64_t x = 0; x < p.kw; ++x) {
            const int64_t at = node.op == TfqOp::kDepthwise ? (y * p.kw + x) * p.cout + o
                                                            : ((o * p.kh + y) * p.kw + x) * cg + c;
            out.push_back(static_cast<int32_t>(*data[at].IntegerIn(-128, 127)));
          }
        }
      }
    }
    return out;
  }

  bool Convolution(const TfqNode& node, const TfqValue& x, uint32_t* id) {
    const TfqTensor& in = *tfq_.At(node.in[0]);
    const TfqTensor& w = *tfq_.At(node.in[1]);
    const TfqTensor& y = *tfq_.At(node.out);
    Params p;
    p.cin = x.shape.c;
    p.cout = node.op == TfqOp::kDepthwise ? w.shape[3] : w.shape[0];
    if (node.op == TfqOp::kFullyConnected) {
      p.kh = x.shape.h;
      p.kw = x.shape.w;
      if (p.kh > 64 || p.kw > 64) return Fail("the input is larger than 64x64");
    } else {
      SetWindow(node, x.shape, &p);
    }
    p.groups = node.op == TfqOp::kDepthwise ? p.cin : 1;
    p.w = Weights(node, w, p);
    p.bias.assign(p.cout, 0);
    if (node.in.size() == 3) {
      const std::vector<Json>& bias = tfq_.At(node.in[2])->data->items();
      for (int64_t o = 0; o < p.cout; ++o) p.bias[o] = *bias[o].IntegerIn(kI32Min, kI32Max);
    }
    if (!RequantOf(Multipliers(node, in, w, y), y.zp, &p)) return false;
    const uint32_t centered = Center(in, *id);
    *id = SecondRounding(y.zp, AddNode(&graph_, Op::kConv, {centered}, std::move(p)));
    return true;
  }

  bool Add(const TfqNode& node, uint32_t* id) {
    constexpr int kLeftShift = 20;
    const TfqTensor& y = *tfq_.At(node.out);
    const Real s0 = ScaleOf(*tfq_.At(node.in[0]), 0);
    const Real s1 = ScaleOf(*tfq_.At(node.in[1]), 0);
    const Real twice_larger = Scaled(Larger(s0, s1), 1);
    uint32_t addends[2] = {};
    for (int i = 0; i < 2; ++i) {
      const TfqTensor& in = *tfq_.At(node.in[i]);
      uint32_t value = Center(in, values_[node.in[i]].id);
      value = AddNode(&graph_, Op::kRescale, {value},
                      RequantParams(Rounding::kHalfUp, int64_t{1} << kLeftShift, 0, 0));
      if (!Rescale(Divide64(ScaleOf(in, 0), twice_larger), 0, &value)) return false;
      addends[i] = value;
    }
    *id = AddNode(&graph_, Op::kAdd, {addends[0], addends[1]}, {});
    return Rescale(Divide64(twice_larger, Scaled(ScaleOf(y, 0), kLeftShift)), y.zp, id);
  }

  bool AveragePool(const TfqNode& node, const TfqValue& x, uint32_t* id) {
    Params p = RequantParams(Rounding::kHalfUp, 1, 0, 0);
    SetWindow(node, x.shape, &p);
    p.cin = p.cout = p.groups = x.shape.c;
    if (p.cout * p.kh * p.kw > kMaxWeights) return Fail("more than 2^26 weights");
    p.bias.assign(p.cout, 0);
    p.w.assign(p.cout * p.kh * p.kw, 1);
    Params divide;
    divide.d = p.kh * p.kw;
    const uint32_t sum = AddNode(&graph_, Op::kConv, {*id}, std::move(p));
    *id = AddNode(&graph_, Op::kDivc, {sum}, std::move(divide));
    return true;
  }

  const Tfq& tfq_;
  Graph graph_;
  std::map<int64_t, TfqValue> values_;
  // The exponents of the last RequantOf, for the second rounding.
  std::vector<int> exponents_;
  std::string fault_;
};

}  // namespace

Result<Graph> LowerTfq(std::string_view member) {
  Result<LoweredTfq> lowered = LowerTfqValues(member);
  if (!lowered.ok()) return lowered.refusal();
  return std::move(lowered.value().graph);
}

Result<LoweredTfq> LowerTfqValues(std::string_view member) {
  const Result<Tfq> tfq = ParseTfq(member);
  if (!tfq.ok()) return tfq.refusal();
  if (const auto refusal = JudgeTfq(tfq.value())) return *refusal;
  Lowering lowering(tfq.value());
  Result<Graph> graph = lowering.Run();
  if (!graph.ok()) return graph.refusal();
  return LoweredTfq{std::move(graph.value()), lowering.values()};
}

}  // namespace helx::ops
