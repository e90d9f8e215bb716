#include "core/ops/run.h"

#include <string>

#include "core/ops/convolution.h"
#include "core/ops/evaluate.h"
#include "core/ops/shape_rule.h"
#include "core/ops/values.h"

namespace helx::ops {
namespace {

bool WellFormed(const ElementsView& tensor) {
  for (const int64_t dim : {tensor.shape.c, tensor.shape.h, tensor.shape.w}) {
    if (dim < 1 || dim > kMaxDim) return false;
  }
  const uint64_t elements = tensor.shape.elements();
  return tensor.bytes / ElementBytes(tensor.type) == elements &&
         tensor.bytes % ElementBytes(tensor.type) == 0;
}

std::string At(std::string_view what, size_t i) {
  return std::string(what) + " " + std::to_string(i) + ": ";
}

template <typename T>
void BorrowInputs(const Graph& graph, const std::vector<T>& inputs, Values* values) {
  size_t next = 0;
  for (size_t id = 0; id < graph.inputs.size(); ++id) {
    if (!graph.inputs[id].state) values->Borrow(id, &inputs[next++]);
  }
}

// How often each value is asked for.
std::vector<size_t> Mentions(const std::vector<uint32_t>& ids, size_t values) {
  std::vector<size_t> mentions(values, 0);
  for (const uint32_t id : ids) ++mentions[id];
  return mentions;
}

}  // namespace

Instance::Instance(const PlannedGraph* graph) : graph_(graph) {
  for (const Input& input : graph->graph.inputs) {
    if (!input.state) continue;
    const Elements init(input.init.begin(), input.init.end());
    states_.push_back({{input.c, input.h_cap, input.w_cap}, init});
  }
}

Result<std::vector<Shape>> Instance::Admit(const std::vector<ElementsView>& inputs) const {
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
    if (!AllWithin(inputs[i], data[i]->lo, data[i]->hi)) {
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

std::optional<Refusal> Instance::Evaluate(const std::vector<Shape>& shapes,
                                          const std::vector<uint32_t>& ids, bool packed,
                                          Values* values, std::vector<Tensor>* updated) {
  const Graph& graph = graph_->graph;
  // A value is dropped after its last reader; what is asked for and the updates are kept. A value
  // that convolutions alone read need not be unpacked.
  std::vector<size_t> last_use(graph.values(), 0);
  std::vector<bool> wide(graph.values(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const uint32_t arg : graph.nodes[i].args) {
      last_use[arg] = i;
      if (graph.nodes[i].op != Op::kConv) wide[arg] = true;
    }
  }
  for (const uint32_t id : ids) {
    last_use[id] = graph.nodes.size();
    if (!packed) wide[id] = true;
  }
  for (const uint32_t id : graph.updates) {
    last_use[id] = graph.nodes.size();
    wide[id] = true;
  }

  size_t next_state = 0;
  for (size_t id = 0; id < graph.inputs.size(); ++id) {
    if (graph.inputs[id].state) values->Borrow(id, &states_[next_state++]);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const size_t id = graph.inputs.size() + i;
    const ValueBounds& bounds = graph_->bounds.values[id];
    const NodeFacts facts{graph_->bounds.values[node.args[0]].out, &bounds};
    bool done = true;
    if (node.op == Op::kConv && !wide[id]) {
      Convolve(node.params, facts, values->View(node.args[0]), shapes[id],
               ElementsSink(values->MakePacked(id, shapes[id], NarrowestType(bounds.out))));
    } else if (node.op == Op::kConv) {
      Convolve(node.params, facts, values->View(node.args[0]), shapes[id],
               ElementsSink(values->MakeWide(id, shapes[id])));
    } else {
      std::vector<const Tensor*> args;
      for (const uint32_t arg : node.args) args.push_back(&values->Wide(arg));
      done = EvaluateNode(node, facts, args, values->MakeWide(id, shapes[id]));
    }
    if (!done) {
      return Refusal{Code::kCheck, At("node", i) + "an element is outside " +
                                       std::to_string(node.params.lo) + ".." +
                                       std::to_string(node.params.hi)};
    }
    for (const uint32_t arg : node.args) {
      if (last_use[arg] == i) values->Drop(arg);
    }
  }

  for (const uint32_t id : graph.updates) updated->push_back(values->TakeWide(id, false));
  return std::nullopt;
}

Result<std::vector<Tensor>> Instance::Decode(const std::vector<Tensor>& inputs) {
  return DecodeValues(inputs, graph_->graph.outputs);
}

Result<std::vector<Tensor>> Instance::DecodeValues(const std::vector<Tensor>& inputs,
                                                   const std::vector<uint32_t>& ids) {
  const Result<std::vector<Shape>> shapes = Admit({inputs.begin(), inputs.end()});
  if (!shapes.ok()) return shapes.refusal();
  Values values(graph_->graph.values());
  BorrowInputs(graph_->graph, inputs, &values);
  std::vector<Tensor> updated;
  const std::optional<Refusal> refusal = Evaluate(shapes.value(), ids, false, &values, &updated);
  if (refusal) return *refusal;
  std::vector<size_t> mentions = Mentions(ids, graph_->graph.values());
  std::vector<Tensor> outputs;
  for (const uint32_t id : ids) outputs.push_back(values.TakeWide(id, --mentions[id] == 0));
  states_ = std::move(updated);
  return outputs;
}

int64_t Instance::ElementsOf(const std::vector<Tensor>& inputs) const {
  const Result<std::vector<Shape>> shapes = Admit({inputs.begin(), inputs.end()});
  if (!shapes.ok()) return 0;
  // At most 2^16 + 2^8 values of less than 2^31 elements.
  int64_t elements = 0;
  for (const Shape& shape : shapes.value()) elements += shape.elements();
  return elements;
}

Result<std::vector<PackedTensor>> Instance::DecodePacked(const std::vector<PackedTensor>& inputs) {
  const std::vector<uint32_t>& ids = graph_->graph.outputs;
  const Result<std::vector<Shape>> shapes = Admit({inputs.begin(), inputs.end()});
  if (!shapes.ok()) return shapes.refusal();
  Values values(graph_->graph.values());
  BorrowInputs(graph_->graph, inputs, &values);
  std::vector<Tensor> updated;
  const std::optional<Refusal> refusal = Evaluate(shapes.value(), ids, true, &values, &updated);
  if (refusal) return *refusal;
  std::vector<size_t> mentions = Mentions(ids, graph_->graph.values());
  std::vector<PackedTensor> outputs;
  for (const uint32_t id : ids) {
    outputs.push_back(
        values.TakePacked(id, NarrowestType(graph_->bounds.values[id].out), --mentions[id] == 0));
  }
  states_ = std::move(updated);
  return outputs;
}

}  // namespace helx::ops
