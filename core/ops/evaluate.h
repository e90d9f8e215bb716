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

// Writes the node's value to `y`, whose shape and size are set. False only for a `check` that finds
// an element outside its limits. The bounds pass has shown that every named value fits i64, and the
// elements are within the intervals it used.
bool EvaluateNode(const Node& node, const NodeFacts& facts, const std::vector<const Tensor*>& args,
                  Tensor* y);

// conv (section 5.1): the sums alone, acc(o, oy, ox), into `acc` (y's shape). Exact in the
// narrowest of int32 and int64 lanes that the node's certificate allows.
void ConvolutionSums(const Params& p, const NodeFacts& facts, const Tensor& x, const Shape& y,
                     std::vector<int64_t>* acc);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_EVALUATE_H_
