// The formulas of the graph operators (docs/integer-operators.md, section 5) on tensors.
#ifndef HELX_CORE_OPS_EVALUATE_H_
#define HELX_CORE_OPS_EVALUATE_H_

#include <vector>

#include "core/ops/bounds.h"
#include "core/ops/graph.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// What the bounds pass proved about a node; narrower arithmetic is chosen from it.
struct NodeFacts {
  // The first argument's interval.
  Interval input;
  const ValueBounds* bounds = nullptr;
};

// Writes every element of the node's value to `y`, whose shape and size are set. False only for a `check` that finds
// an element outside its limits. The bounds pass has shown that every named value fits i64, and the
// elements are within the intervals it used.
bool EvaluateNode(const Node& node, const NodeFacts& facts, const std::vector<const Tensor*>& args,
                  Tensor* y);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_EVALUATE_H_
