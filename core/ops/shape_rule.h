// Shape rules (docs/integer-operators.md, section 5) with dims that may be unknown, for the plan at
// load (section 10.6) and for run step 3b, where every dim is known.
#ifndef HELX_CORE_OPS_SHAPE_RULE_H_
#define HELX_CORE_OPS_SHAPE_RULE_H_

#include <string>
#include <vector>

#include "core/ops/graph.h"

namespace helx::ops {

// The output shape of `node` on arguments of these shapes (one per argument; h and w may be
// kUnknown, c may not). False, with `*why`, when a clause that mentions only known dims fails or a
// known output dim is outside 1..65535. An output dim is unknown when the rule needs an unknown
// one.
bool InferShape(const Node& node, const std::vector<Shape>& args, Shape* out, std::string* why);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_SHAPE_RULE_H_
