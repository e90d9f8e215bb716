// Copies of boxes of elements between dense tensors: what TRANSPOSE, SLICE, PAD, CONCATENATION and their like come down to.
#ifndef HELX_WORKER_ENGINE_OPS_MOVE_H_
#define HELX_WORKER_ENGINE_OPS_MOVE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/engine/operator.h"

namespace helx::engine {

// A box of elements; strides and offsets are in elements. Strides may be 0 (repeat) or, of the input, negative (reverse).
struct Move {
  std::vector<int64_t> size;
  std::vector<int64_t> input_stride;
  std::vector<int64_t> output_stride;
  int64_t input_offset = 0;
  int64_t output_offset = 0;
};

// Neighbouring dimensions merged where both sides allow it, those of size 1 dropped.
Move Merged(const Move& move);

// Whether helx_move can do it: at most 8 dimensions after merging.
bool CheckMove(Preflight& preflight, const Move& move);

// The call that does it. REQUIRES: CheckMove passed.
Call MoveCall(const Move& move, int64_t element_bytes, Argument input, Argument output);

// Writes one value into every element of a tensor: an integer of the tensor's size, or for floats the value itself.
Call FillCall(const model::Tensor& tensor, int64_t value, Argument output);

// Makes a lowering of calls in order.
Lowering InOrder(std::vector<Call> calls);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_MOVE_H_
