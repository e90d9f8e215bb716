#include "core/ops/run.h"

#include <algorithm>
#include <string>

#include "core/ops/evaluate.h"
#include "core/ops/shape_rule.h"

namespace helx::ops {
namespace {

bool WellFormed(const Tensor& tensor) {
  for (const int64_t dim : {tensor.shape.c, tensor.shape.h, tensor.shape.w}) {
    if (dim < 1 || dim > kMaxDim) return false;
  }
  return static_cast<int64_t>(tensor.data.size()) == tensor.shape.elements();
}

std::string At(std::string_view what, size_t i) {
  return std::string(what) + " " + std::to_string(i) + ": ";
}

}  // namespace

Instance::Instance(const PlannedGraph* graph) : graph_(graph) {
  for (const Input& input : graph->graph.inputs) {
    if (input.state) states_.push_back({{input.c, input.h_cap, input.w_cap}, input.init});
  }
}

Result<std::vector<Shape>> Instance::Admit(const std::vector<Tensor>& inputs) const {
  const Graph& graph = graph_->graph;
  std::vector<const Input*> data;
  for (const Input& input : graph.inputs) {
    if (!input.state) data.push_back(&input);
  }
  if (inputs.size() != data.size()) {
    return Refusal{Code::kInputs, std::to_string(inputs.size()) + " tensors for " +
                                      std::to_string(data.size()) + " data inputs"};
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (!WellFormed(inputs[i])) {
      return Refusal{Code::kInputs, At("input", i) +
                                        "not three dims in 1..65535 and their "
                                        "product of i64 elements"};
    }
  }
  for (size_t i = 0; i < data.size(); ++i) {
    const auto outside = [&](int64_t v) { return v < data[i]->lo || v > data[i]->hi; };
    if (std::any_of(inputs[i].data.begin(), inputs[i].data.end(), outside)) {
      return Refusal{Code::kRange, At("input", i) + "an element is outside " +
                                       std::to_string(data[i]->lo) + ".." +
                                       std::to_string(data[i]->hi)};
    }
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (inputs[i].shape.h > data[i]->h_cap || inputs[i].shape.w > data[i]->w_cap) {
      return Refusal{Code::kCaps, At("input", i) + "larger than its caps"};
    }
  }
  std::vector<Shape> shapes;
  size_t next = 0;
  for (const Input& input : graph.inputs) {
    const Shape declared{input.c, input.h_cap, input.w_cap};
    if (input.state) {
      shapes.push_back(declared);
      continue;
    }
    const Shape given = inputs[next++].shape;
    if (given.c != input.c || (input.fixed && !(given == declared))) {
      return Refusal{Code::kShape, At("input", next - 1) + "not the declared shape"};
    }
    shapes.push_back(given);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<Shape> args;
    for (const uint32_t arg : graph.nodes[i].args) args.push_back(shapes[arg]);
    Shape out;
    std::string why;
    if (!InferShape(graph.nodes[i], args, &out, &why)) {
      return Refusal{Code::kShape, At("node", i) + why};
    }
    shapes.push_back(out);
  }
  for (size_t id = 0; id < shapes.size(); ++id) {
    if (shapes[id].elements() > graph.max_elems) {
      return Refusal{Code::kMaxElems, At("value", id) + "more than max_elems elements"};
    }
  }
  return shapes;
}

Result<std::vector<Tensor>> Instance::Decode(const std::vector<Tensor>& inputs) {
  return DecodeValues(inputs, graph_->graph.outputs);
}

Result<std::vector<Tensor>> Instance::DecodeValues(const std::vector<Tensor>& inputs,
                                                   const std::vector<uint32_t>& ids) {
  Result<std::vector<Shape>> admitted = Admit(inputs);
  if (!admitted.ok()) return admitted.refusal();
  const std::vector<Shape>& shapes = admitted.value();
  const Graph& graph = graph_->graph;

  // A value is dropped after its last reader; what is asked for and the updates are kept.
  std::vector<size_t> last_use(graph.values(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const uint32_t arg : graph.nodes[i].args) last_use[arg] = i;
  }
  for (const uint32_t id : ids) last_use[id] = graph.nodes.size();
  for (const uint32_t id : graph.updates) last_use[id] = graph.nodes.size();

  std::vector<Tensor> owned(graph.values());
  std::vector<const Tensor*> values(graph.values());
  size_t next_data = 0;
  size_t next_state = 0;
  for (size_t id = 0; id < graph.inputs.size(); ++id) {
    values[id] = graph.inputs[id].state ? &states_[next_state++] : &inputs[next_data++];
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const size_t id = graph.inputs.size() + i;
    std::vector<const Tensor*> args;
    for (const uint32_t arg : node.args) args.push_back(values[arg]);
    owned[id].shape = shapes[id];
    owned[id].data.resize(shapes[id].elements());
    const NodeFacts facts{graph_->bounds.values[node.args[0]].out, &graph_->bounds.values[id]};
    if (!EvaluateNode(node, facts, args, &owned[id])) {
      return Refusal{Code::kCheck, At("node", i) + "an element is outside " +
                                       std::to_string(node.params.lo) + ".." +
                                       std::to_string(node.params.hi)};
    }
    values[id] = &owned[id];
    for (const uint32_t arg : node.args) {
      if (last_use[arg] == i) owned[arg] = Tensor();
    }
  }

  std::vector<Tensor> updated;
  for (const uint32_t id : graph.updates) updated.push_back(*values[id]);
  // A node's value leaves with its last mention; an input's or a state's is copied.
  std::vector<size_t> mentions(graph.values(), 0);
  for (const uint32_t id : ids) ++mentions[id];
  std::vector<Tensor> outputs;
  for (const uint32_t id : ids) {
    if (--mentions[id] == 0 && id >= graph.inputs.size()) {
      outputs.push_back(std::move(owned[id]));
    } else {
      outputs.push_back(*values[id]);
    }
  }
  states_ = std::move(updated);
  return outputs;
}

}  // namespace helx::ops
