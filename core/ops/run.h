// Running a loaded graph (docs/integer-operators.md, sections 4 and 6).
#ifndef HELX_CORE_OPS_RUN_H_
#define HELX_CORE_OPS_RUN_H_

#include <vector>

#include "core/ops/load.h"
#include "core/ops/result.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// One instance of a loaded graph: its states start at their initial values and are carried from
// decode to decode. Not thread-safe; instances of one graph are independent.
class Instance {
 public:
  // `graph` has passed LoadWhg1 and outlives the instance.
  explicit Instance(const PlannedGraph* graph);

  // One decode on the data inputs in table order. A tensor whose shape is not three dims in
  // 1..65535, or whose data is not that many elements, is refused with kInputs. A refused decode
  // (kInputs, kRange, kCaps, kShape, kMaxElems or kCheck) changes no state.
  Result<std::vector<Tensor>> Decode(const std::vector<Tensor>& inputs);

  // As Decode, returning the values of the ids asked for instead of the outputs' (all of them
  // known to the graph): to look inside a network.
  Result<std::vector<Tensor>> DecodeValues(const std::vector<Tensor>& inputs,
                                           const std::vector<uint32_t>& ids);

 private:
  // Run steps 1 to 3; on success every value's shape.
  Result<std::vector<Shape>> Admit(const std::vector<Tensor>& inputs) const;

  const PlannedGraph* graph_;
  std::vector<Tensor> states_;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_RUN_H_
