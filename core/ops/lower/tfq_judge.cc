// What section 13.6 of docs/integer-operators.md calls unsupported, and its limits.
#include <algorithm>
#include <set>

#include "core/ops/lower/binary_float.h"
#include "core/ops/lower/forms.h"
#include "core/ops/lower/tfq.h"

namespace helx::ops {
namespace {

// Collects faults of both codes: any `unsupported` precedes every `limit`.
class Judge {
 public:
  explicit Judge(const Tfq& tfq) : tfq_(tfq) {}

  std::optional<Refusal> Run() {
    Activation(tfq_.in, "the graph's input");
    Activation(tfq_.out, "the graph's output");
    Order();
    for (size_t i = 0; i < tfq_.nodes.size(); ++i) {
      where_ = "op " + std::to_string(i) + " (" + std::string(TfqOpName(tfq_.nodes[i].op)) + "): ";
      Node(tfq_.nodes[i]);
    }
    return unsupported_ ? unsupported_ : limit_;
  }

 private:
  void Unsupported(bool holds, std::string_view what) {
    if (!holds && !unsupported_) {
      unsupported_ = Refusal{Code::kUnsupported, where_ + std::string(what)};
    }
  }
  void Limit(bool holds, std::string_view what) {
    if (!holds && !limit_) limit_ = Refusal{Code::kLimit, where_ + std::string(what)};
  }

  // The tensor, or null with a fault: what does not exist is not of the type the op needs.
  const TfqTensor* Tensor(int64_t index) {
    const TfqTensor* tensor = tfq_.At(index);
    Unsupported(tensor != nullptr, "an index names no tensor");
    if (tensor != nullptr) Limit(tensor->elements() >= 0, "a shape is out of range");
    return tensor;
  }

  void Scales(const TfqTensor& tensor) {
    for (const int64_t bits : tensor.scale) {
      const bool fits = bits >= 0 && bits <= 0xFFFFFFFF;
      Limit(fits, "a scale is not 32 bits");
      if (fits) {
        Unsupported(IsPositiveNormal(static_cast<uint32_t>(bits)),
                    "a scale is not finite, normal and positive");
      }
    }
  }

  void Data(const TfqTensor& tensor, int64_t count) {
    if (tensor.data == nullptr) return;
    const int64_t lo = tensor.int8 ? -128 : kI32Min;
    const int64_t hi = tensor.int8 ? 127 : kI32Max;
    const std::vector<Json>& items = tensor.data->items();
    Limit(static_cast<int64_t>(items.size()) == count, "data of the wrong length");
    Limit(std::all_of(items.begin(), items.end(),
                      [&](const Json& item) { return item.IntegerIn(lo, hi).has_value(); }),
          "data outside its type");
  }

  void Activation(int64_t index, std::string_view what) {
    const TfqTensor* tensor = Tensor(index);
    if (tensor == nullptr) return;
    Unsupported(tensor->int8 && tensor->data == nullptr && tensor->IsActivationShape() &&
                    tensor->scale.size() == 1 && tensor->zp >= -128 && tensor->zp <= 127,
                std::string(what) + " is not an int8 activation");
    Scales(*tensor);
  }

  // Execution order: read after written, written once, and every value used.
  void Order() {
    std::set<int64_t> written{tfq_.in};
    std::set<int64_t> read{tfq_.out};
    for (const TfqNode& node : tfq_.nodes) {
      for (const int64_t index : Activations(node)) {
        Unsupported(written.count(index) == 1, "an activation is read before it is written");
        read.insert(index);
      }
      Unsupported(written.insert(node.out).second, "a tensor is written twice");
    }
    for (const TfqNode& node : tfq_.nodes) {
      Unsupported(read.count(node.out) == 1, "a written tensor is neither read nor out");
    }
    Unsupported(written.count(tfq_.out) == 1, "out is not written");
  }

  static bool HasWeights(const TfqNode& node) {
    return node.op == TfqOp::kConv2d || node.op == TfqOp::kDepthwise ||
           node.op == TfqOp::kFullyConnected;
  }

  static std::vector<int64_t> Activations(const TfqNode& node) {
    if (node.op == TfqOp::kAdd) return node.in;
    if (node.in.empty()) return {};
    return {node.in.front()};
  }

  void Node(const TfqNode& node) {
    Unsupported(node.op != TfqOp::kUnknown, "not in the table");
    if (node.op == TfqOp::kUnknown) return;
    const size_t count = node.in.size();
    const bool counted =
        HasWeights(node) ? count == 2 || count == 3 : count == (node.op == TfqOp::kAdd ? 2u : 1u);
    Unsupported(counted, "the number of inputs");
    for (const int64_t index : Activations(node)) Activation(index, "an input");
    Activation(node.out, "the output");
    if (!counted) return;
    const TfqTensor* x = tfq_.At(node.in[0]);
    const TfqTensor* y = tfq_.At(node.out);
    if (x == nullptr || y == nullptr || !x->IsActivationShape() || !y->IsActivationShape()) return;
    if (HasWeights(node)) {
      Weighted(node, *x, *y);
    } else if (node.op == TfqOp::kAdd) {
      const TfqTensor* b = tfq_.At(node.in[1]);
      if (b == nullptr) return;
      Unsupported(x->shape == b->shape, "the addends' shapes differ");
      Limit(y->shape == x->shape, "the output's shape");
    } else {
      Unsupported(x->scale == y->scale && x->zp == y->zp, "scales or zero points differ");
      Plain(node, *x, *y);
    }
  }

  void Weighted(const TfqNode& node, const TfqTensor& x, const TfqTensor& y) {
    const TfqTensor* w = Tensor(node.in[1]);
    if (w == nullptr) return;
    const bool full = node.op == TfqOp::kFullyConnected;
    Unsupported(w->int8 && w->data != nullptr && w->zp == 0 && w->shape.size() == (full ? 2u : 4u),
                "the weights are not an int8 constant of zero point 0");
    Scales(*w);
    if (w->shape.size() != (full ? 2u : 4u)) return;
    const int64_t cout = node.op == TfqOp::kDepthwise ? w->shape[3] : w->shape[0];
    const auto scales = static_cast<int64_t>(w->scale.size());
    Unsupported(scales == 1 || scales == cout, "neither one scale nor one per output channel");
    Data(*w, w->elements());
    if (node.in.size() == 3) Bias(node.in[2], cout);
    if (full) {
      Limit(i128{w->shape[1]} == i128{x.elements()}, "the weights' inputs");
      Limit(y.shape == std::vector<int64_t>{1, cout}, "the output's shape");
      if (scales == 1) Product32(x, *w);
      return;
    }
    const Shape in = x.Planar();
    Limit(w->shape[1] == node.Option("kh") && w->shape[2] == node.Option("kw"),
          "kh, kw are not the filter's");
    if (node.op == TfqOp::kDepthwise) {
      Limit(w->shape[0] == 1 && in.c > 0 && cout % in.c == 0, "the filter's channels");
    } else {
      Limit(w->shape[3] == in.c, "the filter's channels");
    }
    Window(node, x, y, cout);
  }

  void Bias(int64_t index, int64_t cout) {
    const TfqTensor* bias = tfq_.At(index);
    Unsupported(bias != nullptr, "an index names no tensor");
    if (bias == nullptr) return;
    Unsupported(!bias->int8 && bias->data != nullptr && bias->zp == 0,
                "the bias is not an int32 constant of zero point 0");
    Data(*bias, cout);
  }

  void Product32(const TfqTensor& x, const TfqTensor& w) {
    if (x.scale.size() != 1) return;
    for (const int64_t bits : {x.scale[0], w.scale[0]}) {
      if (bits < 0 || bits > 0xFFFFFFFF || !IsPositiveNormal(static_cast<uint32_t>(bits))) return;
    }
    Limit(Multiply32(FromBinary32(static_cast<uint32_t>(x.scale[0])),
                     FromBinary32(static_cast<uint32_t>(w.scale[0])))
              .has_value(),
          "s_in * s_w is past binary32");
  }

  // The output of a window on both axes must be [1, H', W', channels].
  void Window(const TfqNode& node, const TfqTensor& x, const TfqTensor& y, int64_t channels) {
    Limit(x.shape.size() == 4 && y.shape.size() == 4 && y.shape[3] == channels,
          "the output's shape");
    if (x.shape.size() != 4 || y.shape.size() != 4 || x.elements() < 0 || y.elements() < 0) return;
    const std::string_view kernel[] = {"kh", "kw"};
    const std::string_view stride[] = {"sh", "sw"};
    const std::string_view dilation[] = {"dh", "dw"};
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t k = node.Option(kernel[axis]);
      const int64_t s = node.Option(stride[axis]);
      const int64_t d = node.Option(dilation[axis]);
      const bool fits = k <= 64 && s <= 64 && d <= 16;
      Limit(fits, "a kernel, stride or dilation is out of range");
      if (!fits) continue;
      const int64_t extent = (k - 1) * d + 1;
      const PadPair pads = TfqPads(node.same, x.shape[axis + 1], extent, s);
      if (node.op == TfqOp::kAveragePool) {
        Unsupported(pads.before == 0 && pads.after == 0, "a padded average pool");
      }
      const int64_t room = x.shape[axis + 1] + pads.before + pads.after - extent;
      Limit(room >= 0 && y.shape[axis + 1] == room / s + 1, "the output's shape");
      Limit(pads.after <= 255, "a pad is out of range");
    }
  }

  // The operators without weights and with one input.
  void Plain(const TfqNode& node, const TfqTensor& x, const TfqTensor& y) {
    if (node.op == TfqOp::kAveragePool || node.op == TfqOp::kMaxPool) {
      Limit(node.Option("dh") == 1 && node.Option("dw") == 1, "a pool's dilation is not 1");
      Window(node, x, y, x.Planar().c);
      return;
    }
    Unsupported(node.act == "none", "an activation function");
    if (node.op == TfqOp::kPad) {
      Unsupported(x.shape.size() == 4, "padding of [1,N]");
      if (x.shape.size() != 4) return;
      for (const std::string_view pad : {"pb", "pl", "pr", "pt"}) {
        Limit(node.Option(pad) <= 255, "a pad is out of range");
      }
      const std::vector<i128> shape = {1, i128{x.shape[1]} + node.Option("pt") + node.Option("pb"),
                                       i128{x.shape[2]} + node.Option("pl") + node.Option("pr"),
                                       x.shape[3]};
      Limit(std::equal(shape.begin(), shape.end(), y.shape.begin(), y.shape.end(),
                       [](i128 a, int64_t b) { return a == b; }),
            "the output's shape");
      return;
    }
    Reshape(node, x, y);
  }

  void Reshape(const TfqNode& node, const TfqTensor& x, const TfqTensor& y) {
    const bool flat = y.shape.size() == 2 || (y.shape[1] == 1 && y.shape[2] == 1);
    Unsupported(flat && x.elements() == y.elements(), "not to [1,N] or [1,1,1,N]");
    const Shape in = x.Planar();
    if ((in.h == 1 && in.w == 1) || x.shape.size() == 2) return;
    bool read_by_full_only = node.out != tfq_.out;
    for (const TfqNode& reader : tfq_.nodes) {
      const std::vector<int64_t> reads = Activations(reader);
      if (std::find(reads.begin(), reads.end(), node.out) != reads.end()) {
        read_by_full_only = read_by_full_only && reader.op == TfqOp::kFullyConnected;
      }
    }
    Unsupported(read_by_full_only, "a reshape of (C,H,W) that something but FULLY_CONNECTED reads");
  }

  const Tfq& tfq_;
  std::string where_;
  std::optional<Refusal> unsupported_;
  std::optional<Refusal> limit_;
};

}  // namespace

std::optional<Refusal> JudgeTfq(const Tfq& tfq) { return Judge(tfq).Run(); }

}  // namespace helx::ops
