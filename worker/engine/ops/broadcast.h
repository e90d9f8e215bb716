// Two operands over one output: TFLite's (NumPy's) broadcasting, as the kernels walk it.
#ifndef HELX_WORKER_ENGINE_OPS_BROADCAST_H_
#define HELX_WORKER_ENGINE_OPS_BROADCAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace helx::engine {

struct BroadcastShape {
  std::vector<int32_t> output;     // the broadcast shape
  std::vector<int64_t> size;       // 1 to 6 dimensions, adjacent ones merged where both operands allow it
  std::vector<int64_t> a_stride;   // 0 where the operand is repeated
  std::vector<int64_t> b_stride;
};

// Empty when the shapes do not broadcast, or need more than 6 dimensions after merging.
std::optional<BroadcastShape> Broadcast(const std::vector<int32_t>& a,
                                        const std::vector<int32_t>& b);

// The helx_broadcast initialiser of helx_kernels.h.
std::string BroadcastInitialiser(const BroadcastShape& shape);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_BROADCAST_H_
