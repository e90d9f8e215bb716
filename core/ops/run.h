// Running a loaded graph (docs/integer-operators.md, sections 4 and 6).
#ifndef HELX_CORE_OPS_RUN_H_
#define HELX_CORE_OPS_RUN_H_

#include <optional>
#include <vector>

#include "core/ops/load.h"
#include "core/ops/packed.h"
#include "core/ops/result.h"
#include "core/ops/tensor.h"

namespace helx::ops {

class Values;

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

  // As Decode, on elements of the types the caller has (values, not types, are what the ranges
  // limit) and with each output in the narrowest type that holds its certified interval: a fraction
  // of the memory traffic where convolutions follow one another.
  Result<std::vector<PackedTensor>> DecodePacked(const std::vector<PackedTensor>& inputs);

  // As Decode, returning the values of the ids asked for instead of the outputs' (all of them
  // known to the graph): to look inside a network.
  Result<std::vector<Tensor>> DecodeValues(const std::vector<Tensor>& inputs,
                                           const std::vector<uint32_t>& ids);

  // The elements of all values of a decode together, 0 of one that run steps 1 to 3 refuse: what a
  // caller needs to decline, as section 4 lets it, what would fill its memory.
  int64_t ElementsOf(const std::vector<Tensor>& inputs) const;

 private:
  // Run steps 1 to 3; on success every value's shape.
  Result<std::vector<Shape>> Admit(const std::vector<ElementsView>& inputs) const;
  // Run step 4 on admitted inputs, which `values` holds; on success it holds `ids` too, packed ones
  // only if `packed`, and `updated` is what the states become.
  std::optional<Refusal> Evaluate(const std::vector<Shape>& shapes,
                                  const std::vector<uint32_t>& ids, bool packed, Values* values,
                                  std::vector<Tensor>* updated);

  const PlannedGraph* graph_;
  std::vector<Tensor> states_;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_RUN_H_
