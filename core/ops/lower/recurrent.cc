// Lowering of gru_cell/1 and int_mlp/1 (docs/integer-operators.md, sections 13.4 and 13.5).
#include <string>

#include "core/ops/lower/forms.h"

namespace helx::ops {
namespace {

// A state's initial value that passes this has no WHG1 file (its length is a u32).
constexpr int64_t kMaxStateElems = int64_t{1} << 29;

// Whether a kernel keeps one spatial size.
bool KeepsSize(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  const int64_t extent = (kernel - 1) * dilation + 1;
  return size + pads >= extent && (size + pads - extent) / stride + 1 == size;
}

struct Gru {
  int64_t f = 0;
  int64_t o = 0;
  Params z, r, n;
};

// Section 13.4's nodes 0 to 14 on x (id 0) and h (id 1); gives node 14's id.
uint32_t AddGruNodes(Gru gru, Graph* graph) {
  const int64_t one = int64_t{1} << gru.o;
  const Rounding half_up = Rounding::kHalfUp;
  Params gate;
  gate.f = gru.f;
  gate.o = gru.o;
  Params half_gate = gate;
  half_gate.f = gru.f - 1;
  const Params product = RequantParams(half_up, 1, gru.o, 0);
  const auto add = [graph](Op op, std::vector<uint32_t> args, Params params) {
    return AddNode(graph, op, std::move(args), std::move(params));
  };
  const uint32_t h = 1;
  const uint32_t xh = add(Op::kConcat, {0, h}, {});
  const uint32_t z_sum = add(Op::kConv, {xh}, std::move(gru.z));
  const uint32_t z = add(Op::kSigmoid, {z_sum}, gate);
  const uint32_t r_sum = add(Op::kConv, {xh}, std::move(gru.r));
  const uint32_t r = add(Op::kSigmoid, {r_sum}, gate);
  const uint32_t reset = add(Op::kMul, {r, h}, product);
  const uint32_t x_reset = add(Op::kConcat, {0, reset}, {});
  const uint32_t n_sum = add(Op::kConv, {x_reset}, std::move(gru.n));
  // tanh(v) = 2 sigmoid(2v) - 1.
  const uint32_t n_gate = add(Op::kSigmoid, {n_sum}, half_gate);
  const uint32_t candidate = add(Op::kRescale, {n_gate}, RequantParams(half_up, 2, 0, -one));
  const uint32_t minus_h = add(Op::kRescale, {h}, RequantParams(half_up, -1, 0, 0));
  const uint32_t change = add(Op::kAdd, {candidate, minus_h}, {});
  const uint32_t gated = add(Op::kMul, {z, change}, product);
  const uint32_t next = add(Op::kAdd, {h, gated}, {});
  return add(Op::kClamp, {next}, LimitParams(-one, one));
}

template <typename T>
bool ReadArray(const Json& json, int64_t count, int64_t lo, int64_t hi, std::vector<T>* values) {
  if (static_cast<int64_t>(json.items().size()) != count) return false;
  for (const Json& item : json.items()) {
    const auto value = item.IntegerIn(lo, hi);
    if (!value) return false;
    values->push_back(static_cast<T>(*value));
  }
  return true;
}

// One layer of int_mlp/1 as a 1x1 conv.
bool ReadMlpLayer(const Json& layer, int64_t channels, Params* conv) {
  const auto cout = layer.Find("cout")->IntegerIn(1, kMaxDim);
  const auto rnd = layer.Find("rnd")->IntegerIn(0, kRoundings - 1);
  if (!cout || !rnd) return false;
  conv->cin = channels;
  conv->cout = *cout;
  conv->rnd = *rnd;
  conv->n = static_cast<int64_t>(layer.Find("mult")->items().size());
  if (conv->n != 1 && conv->n != *cout) return false;
  conv->post_bias.assign(conv->n, 0);
  return ReadArray(*layer.Find("mult"), conv->n, -kI64Max, kI64Max, &conv->mult) &&
         ReadArray(*layer.Find("shift"), conv->n, 0, 63, &conv->shift) &&
         ReadArray(*layer.Find("bias"), *cout, kI64Min, kI64Max, &conv->bias) &&
         ReadArray(*layer.Find("w"), *cout * channels, kI32Min, kI32Max, &conv->w);
}

}  // namespace

Result<Graph> LowerGruCell(std::string_view member) {
  Result<Json> read = ReadForm(
      member, {"f", "form", "h", "in", "max_elems", "n", "o", "pin", "r", "z"}, "gru_cell");
  if (!read.ok()) return read.refusal();
  const Json& json = read.value();
  const Json& hidden = *json.Find("h");
  if (!json.Find("f")->is_integer() || !json.Find("o")->is_integer() ||
      !json.Find("max_elems")->is_integer() || !IsInput(*json.Find("in")) ||
      !IsPin(*json.Find("pin")) || !hidden.HasExactly({"c", "init"}) ||
      !hidden.Find("c")->is_integer() || !hidden.Find("init")->is_integer()) {
    return FormFault("f, h, in, max_elems, o or pin is not as the form states");
  }
  for (const std::string_view key : {"n", "r", "z"}) {
    if (!IsLayer(*json.Find(key), Op::kConv, /*bare=*/true)) {
      return LayerFault(std::string(key) + ": the keys or types are not those of conv");
    }
  }

  Graph graph;
  const auto max_elems = json.Find("max_elems")->IntegerIn(1, kLargestMaxElems);
  const auto f = json.Find("f")->IntegerIn(1, 26);
  const auto o = json.Find("o")->IntegerIn(1, 30);
  if (!max_elems || !f || !o) return LimitFault("f, o or max_elems is out of range");
  graph.max_elems = *max_elems;
  Input in;
  if (!ReadInput(*json.Find("in"), &in) || !in.fixed) {
    return LimitFault("in is out of range or not fixed");
  }
  const int64_t one = int64_t{1} << *o;
  const auto channels = hidden.Find("c")->IntegerIn(1, kMaxDim);
  const auto init = hidden.Find("init")->IntegerIn(-one, one);
  if (!channels || !init) return LimitFault("h is out of range");
  Input state = in;
  state.state = true;
  state.c = *channels;
  state.lo = -one;
  state.hi = one;
  const int64_t elements = state.c * state.h_cap * state.w_cap;
  if (elements > graph.max_elems || elements > kMaxStateElems) {
    return LimitFault("the hidden state has more than max_elems elements");
  }
  state.init.assign(elements, *init);

  Gru gru{*f, *o, {}, {}, {}};
  for (const auto& [key, conv] :
       {std::pair<std::string_view, Params*>{"n", &gru.n}, {"r", &gru.r}, {"z", &gru.z}}) {
    if (!ReadLayer(*json.Find(key), Op::kConv, conv)) {
      return LimitFault(std::string(key) + ": a parameter is out of range");
    }
    if (conv->cin != in.c + state.c || conv->cout != state.c ||
        !KeepsSize(in.h_cap, conv->kh, conv->sh, conv->dh, conv->pt + conv->pb) ||
        !KeepsSize(in.w_cap, conv->kw, conv->sw, conv->dw, conv->pl + conv->pr)) {
      return LimitFault(std::string(key) + ": not a conv from in.c + h.c to h.c of the same size");
    }
  }
  graph.inputs = {in, state};
  const uint32_t next = AddGruNodes(std::move(gru), &graph);
  graph.outputs = {next};
  graph.updates = {next};
  return graph;
}

Result<Graph> LowerMlp(std::string_view member) {
  Result<Json> read =
      ReadForm(member, {"form", "in", "layers", "max_elems", "out", "pin"}, "int_mlp");
  if (!read.ok()) return read.refusal();
  const Json& json = read.value();
  const Json& out = *json.Find("out");
  const Json& layers = *json.Find("layers");
  if (!IsInput(*json.Find("in")) || !layers.is_array() || !json.Find("max_elems")->is_integer() ||
      !(out.is_null() || IsRange(out)) || !IsPin(*json.Find("pin"))) {
    return FormFault("in, layers, max_elems, out or pin is not as the form states");
  }
  for (const Json& layer : layers.items()) {
    if (!layer.HasExactly({"act", "bias", "cout", "mult", "rnd", "shift", "w"}) ||
        !(layer.Find("act")->is_null() || IsRange(*layer.Find("act"))) ||
        !layer.Find("bias")->is_integers() || !layer.Find("cout")->is_integer() ||
        !layer.Find("mult")->is_integers() || !layer.Find("rnd")->is_integer() ||
        !layer.Find("shift")->is_integers() || !layer.Find("w")->is_integers()) {
      return LayerFault("a layer's keys or types are not as the form states");
    }
  }

  Graph graph;
  const auto max_elems = json.Find("max_elems")->IntegerIn(1, kLargestMaxElems);
  Input in;
  if (!max_elems || !ReadInput(*json.Find("in"), &in) || !in.fixed || in.h_cap != 1 ||
      in.w_cap != 1) {
    return LimitFault("max_elems or in is out of range, or in is not fixed (c,1,1)");
  }
  graph.max_elems = *max_elems;
  graph.inputs = {in};
  int64_t channels = in.c;
  uint32_t value = 0;
  for (size_t i = 0; i < layers.items().size(); ++i) {
    const Json& layer = layers.items()[i];
    Params conv;
    if (!ReadMlpLayer(layer, channels, &conv)) {
      return LimitFault("layer " + std::to_string(i) + ": a parameter is out of range");
    }
    channels = conv.cout;
    value = AddNode(&graph, Op::kConv, {value}, std::move(conv));
    if (layer.Find("act")->is_null()) continue;
    Params limits;
    if (!ReadRange(*layer.Find("act"), &limits.lo, &limits.hi)) {
      return LimitFault("layer " + std::to_string(i) + ": act is out of range");
    }
    value = AddNode(&graph, Op::kClamp, {value}, std::move(limits));
  }
  if (!out.is_null()) {
    Params limits;
    if (!ReadRange(out, &limits.lo, &limits.hi)) return LimitFault("out is out of range");
    value = AddNode(&graph, Op::kCheck, {value}, std::move(limits));
  }
  graph.outputs = {value};
  return graph;
}

}  // namespace helx::ops
