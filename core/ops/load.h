// Loading a WHG1 file (docs/integer-operators.md, section 10.5): steps 1 to 8.
#ifndef HELX_CORE_OPS_LOAD_H_
#define HELX_CORE_OPS_LOAD_H_

#include <string_view>
#include <vector>

#include "core/ops/bounds.h"
#include "core/ops/graph.h"
#include "core/ops/result.h"

namespace helx::ops {

// A graph that passed steps 1 to 7, with what the bounds pass found: what a certificate is made of.
// It is a loaded graph only if the verdict is not kNone.
struct PlannedGraph {
  Graph graph;
  // Per value id; h and w are kUnknown where a decode decides them (section 10.6).
  std::vector<Shape> shapes;
  Bounds bounds;
  Verdict verdict = Verdict::kNone;
};

// Step 7 alone, on a graph that passed steps 1 to 6: every value's shape, or kPlan.
Result<std::vector<Shape>> PlanShapes(const Graph& graph);

// Steps 1 to 7 and the bounds pass; never refuses with kBounds.
Result<PlannedGraph> PlanWhg1(std::string_view bytes);

// Steps 1 to 8.
Result<PlannedGraph> LoadWhg1(std::string_view bytes);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_LOAD_H_
