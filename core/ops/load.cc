#include "core/ops/load.h"

#include <string>

#include "core/ops/shape_rule.h"
#include "core/ops/whg1.h"

namespace helx::ops {

Result<std::vector<Shape>> PlanShapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Input& input : graph.inputs) {
    shapes.push_back(input.fixed ? Shape{input.c, input.h_cap, input.w_cap}
                                 : Shape{input.c, kUnknown, kUnknown});
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::vector<Shape> args;
    for (const uint32_t arg : node.args) args.push_back(shapes[arg]);
    Shape out;
    std::string why;
    bool fits = InferShape(node, args, &out, &why);
    if (fits && out.known() && out.elements() > graph.max_elems) {
      fits = false;
      why = "the output has more than max_elems elements";
    }
    if (!fits) {
      return Refusal{Code::kPlan, "node " + std::to_string(i) + " (" +
                                      std::string(OpName(node.op)) + "): " + why};
    }
    shapes.push_back(out);
  }
  size_t state = 0;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!graph.inputs[i].state) continue;
    if (!(shapes[graph.updates[state++]] == shapes[i])) {
      return Refusal{Code::kPlan, "state " + std::to_string(i) + ": its update's shape differs"};
    }
  }
  return shapes;
}

Result<PlannedGraph> PlanWhg1(std::string_view bytes) {
  Result<Graph> graph = ReadWhg1(bytes);
  if (!graph.ok()) return graph.refusal();
  Result<std::vector<Shape>> shapes = PlanShapes(graph.value());
  if (!shapes.ok()) return shapes.refusal();
  PlannedGraph planned;
  planned.graph = std::move(graph.value());
  planned.shapes = std::move(shapes.value());
  std::vector<int64_t> channels;
  for (const Shape& shape : planned.shapes) channels.push_back(shape.c);
  planned.bounds = ComputeBounds(planned.graph, channels);
  planned.verdict = planned.bounds.verdict();
  return planned;
}

Result<PlannedGraph> LoadWhg1(std::string_view bytes) {
  Result<PlannedGraph> planned = PlanWhg1(bytes);
  if (planned.ok() && planned.value().verdict == Verdict::kNone) {
    const Failure& failure = planned.value().bounds.fail_acc64.front();
    return Refusal{Code::kBounds, "value " + std::to_string(failure.id) + ": " + failure.name +
                                      " does not meet acc64"};
  }
  return planned;
}

}  // namespace helx::ops
