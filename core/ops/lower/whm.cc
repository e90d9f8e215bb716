// Lowering of WHM networks: int_conv/1, int_hyper/1 and world_model/1
// (docs/integer-operators.md, sections 13.1 to 13.3).
#include <string>

#include "core/ops/lower/forms.h"

namespace helx::ops {
namespace {


std::string LayerAt(size_t i) { return "layer " + std::to_string(i) + ": "; }

// The layers' operators, or kLayer.
Result<std::vector<Op>> LayerOps(const Json& layers) {
  std::vector<Op> ops;
  for (size_t i = 0; i < layers.items().size(); ++i) {
    const Json& layer = layers.items()[i];
    const Json* name = layer.Find("op");
    const auto op = name == nullptr ? std::nullopt : OpFromName(name->text());
    if (!op || *op == Op::kAdd || *op == Op::kMul || *op == Op::kConcat) {
      return LayerFault(LayerAt(i) + "\"op\" is not an operator of one input");
    }
    if (!IsLayer(layer, *op, /*bare=*/false)) {
      return LayerFault(LayerAt(i) + "the keys or types are not those of " +
                        std::string(OpName(*op)));
    }
    ops.push_back(*op);
  }
  return ops;
}

// One node per layer, each on the value before it; kLimit for a parameter out of range.
Result<uint32_t> AddLayers(const Json& layers, const std::vector<Op>& ops, uint32_t value,
                           Graph* graph) {
  for (size_t i = 0; i < ops.size(); ++i) {
    Params params;
    if (!ReadLayer(layers.items()[i], ops[i], &params)) {
      return LimitFault(LayerAt(i) + "a parameter is out of range or an array's length is wrong");
    }
    value = AddNode(graph, ops[i], {value}, std::move(params));
  }
  return value;
}

std::optional<Refusal> ReadMaxElems(const Json& json, Graph* graph) {
  const auto max_elems = json.Find("max_elems")->IntegerIn(1, kLargestMaxElems);
  if (!max_elems) return LimitFault("max_elems is outside 1..2^31-1");
  graph->max_elems = *max_elems;
  return std::nullopt;
}

// The state input of world_model/1; its init is c * h * w integers.
bool ReadState(const Json& json, int64_t channels, Input* state) {
  const auto h = json.Find("h")->IntegerIn(1, kMaxDim);
  const auto w = json.Find("w")->IntegerIn(1, kMaxDim);
  if (!h || !w || channels < 1 || channels > kMaxDim) return false;
  state->state = true;
  state->fixed = true;
  state->c = channels;
  state->h_cap = *h;
  state->w_cap = *w;
  if (!ReadRange(json, &state->lo, &state->hi)) return false;
  const std::vector<Json>& init = json.Find("init")->items();
  if (static_cast<int64_t>(init.size()) != channels * *h * *w) return false;
  for (const Json& item : init) {
    const auto value = item.IntegerIn(state->lo, state->hi);
    if (!value) return false;
    state->init.push_back(*value);
  }
  return true;
}

bool IsState(const Json& json) {
  if (!json.HasExactly({"h", "hi", "init", "lo", "w"}) || !json.Find("init")->is_integers()) {
    return false;
  }
  for (const std::string_view key : {"h", "hi", "lo", "w"}) {
    if (!json.Find(key)->is_integer()) return false;
  }
  return true;
}

}  // namespace

Result<Graph> LowerWhm(std::string_view member, std::string_view form) {
  Result<Json> read = ReadForm(member, {"form", "in", "layers", "max_elems", "out", "pin"}, form);
  if (!read.ok()) return read.refusal();
  const Json& json = read.value();
  const Json& out = *json.Find("out");
  const Json& layers = *json.Find("layers");
  if (!IsInput(*json.Find("in")) || !layers.is_array() || !json.Find("max_elems")->is_integer() ||
      !(out.is_null() || IsRange(out)) || !IsPin(*json.Find("pin"))) {
    return FormFault("in, layers, max_elems, out or pin is not as the form states");
  }
  // Its values index tables.
  if (form == "int_hyper_h" && out.is_null()) return FormFault("out is null");

  const Result<std::vector<Op>> ops = LayerOps(layers);
  if (!ops.ok()) return ops.refusal();
  if (form == "int_hyper_g" && (ops.value().empty() || ops.value().back() != Op::kClamp)) {
    return LayerFault("the last layer is not a clamp");
  }

  Graph graph;
  if (const auto refusal = ReadMaxElems(json, &graph)) return *refusal;
  graph.inputs.emplace_back();
  if (!ReadInput(*json.Find("in"), &graph.inputs.back())) return LimitFault("in is out of range");
  Result<uint32_t> last = AddLayers(layers, ops.value(), 0, &graph);
  if (!last.ok()) return last.refusal();
  if (!out.is_null()) {
    Params limits;
    if (!ReadRange(out, &limits.lo, &limits.hi)) return LimitFault("out is out of range");
    last = AddNode(&graph, Op::kCheck, {last.value()}, std::move(limits));
  }
  graph.outputs = {last.value()};
  return graph;
}

Result<Graph> LowerWorldTransition(std::string_view member, std::optional<int64_t> channels) {
  Result<Json> read = ReadForm(
      member, {"form", "in", "layers", "limit", "max_elems", "out", "pin", "state"}, "world_t");
  if (!read.ok()) return read.refusal();
  const Json& json = read.value();
  const Json& in = *json.Find("in");
  const Json& layers = *json.Find("layers");
  if (!(in.is_null() || IsInput(in)) || !layers.is_array() || !IsRange(*json.Find("limit")) ||
      !json.Find("max_elems")->is_integer() || !json.Find("out")->is_null() ||
      !IsPin(*json.Find("pin")) || !IsState(*json.Find("state"))) {
    return FormFault("in, layers, limit, max_elems, out, pin or state is not as the form states");
  }

  const Result<std::vector<Op>> ops = LayerOps(layers);
  if (!ops.ok()) return ops.refusal();

  Graph graph;
  if (const auto refusal = ReadMaxElems(json, &graph)) return *refusal;
  if (!channels) return LimitFault("the entry's field c is missing");
  Input state;
  if (!ReadState(*json.Find("state"), *channels, &state)) {
    return LimitFault("state is out of range, or init is not c*h*w values within it");
  }
  graph.inputs.push_back(state);
  uint32_t value = 0;
  if (!in.is_null()) {
    Input action;
    if (!ReadInput(in, &action) || !action.fixed || action.h_cap != state.h_cap ||
        action.w_cap != state.w_cap) {
      return LimitFault("in is out of range, not fixed, or its caps are not the state's h and w");
    }
    graph.inputs.push_back(action);
    value = AddNode(&graph, Op::kConcat, {0, 1}, {});
  }
  const Result<uint32_t> last = AddLayers(layers, ops.value(), value, &graph);
  if (!last.ok()) return last.refusal();
  const uint32_t sum = AddNode(&graph, Op::kAdd, {0, last.value()}, {});
  Params limits;
  if (!ReadRange(*json.Find("limit"), &limits.lo, &limits.hi)) {
    return LimitFault("limit is out of range");
  }
  const uint32_t clamp = AddNode(&graph, Op::kClamp, {sum}, std::move(limits));
  graph.outputs = {clamp};
  graph.updates = {clamp};
  return graph;
}

}  // namespace helx::ops
