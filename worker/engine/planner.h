// Static memory planning: offsets for buffers whose lifetimes are known.
#ifndef HELX_WORKER_ENGINE_PLANNER_H_
#define HELX_WORKER_ENGINE_PLANNER_H_

#include <cstdint>
#include <vector>

namespace helx::engine {

// A buffer that must keep its content from step `first` to step `last`, both included.
struct PlannedBuffer {
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  int64_t offset = 0;  // the result: a multiple of kArenaAlignment
};

inline constexpr int64_t kArenaAlignment = 16;

// Places every buffer so that no two that live at the same step overlap; returns the bytes of the arena. Several greedy
// orders are tried (by size; by the load of the heaviest step a buffer lives in; by first step) and the best is kept, the
// earlier order on a tie. Each buffer takes the lowest gap it fits. Time is quadratic in the number of buffers.
int64_t PlanArena(std::vector<PlannedBuffer>* buffers);

// The bytes alive at the heaviest step: no plan can need less.
int64_t PeakBytes(const std::vector<PlannedBuffer>& buffers);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_PLANNER_H_
