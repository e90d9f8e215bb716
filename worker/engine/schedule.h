// The order in which operators run, where another one than the model's needs less memory.
#ifndef HELX_WORKER_ENGINE_SCHEDULE_H_
#define HELX_WORKER_ENGINE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace helx::engine {

// A block of memory that operators hand to one another.
struct ScheduledBlock {
  int64_t bytes = 0;
  bool given = false;  // alive before the first operator
  bool kept = false;   // alive after the last one
};

// An operator by the blocks it reads and writes, each named once; views of a block read it.
struct ScheduledOperator {
  std::vector<size_t>
      after;  // operators that must run before it; they come before it in the given order
  std::vector<int32_t> reads;
  std::vector<int32_t> writes;
  // Pairs (written block, read block): the first may lie where the second lies if nobody else reads
  // that one afterwards.
  std::vector<std::pair<int32_t, int32_t>> in_place;
  int64_t scratch_bytes = 0;
  bool ordered = false;  // stays in its place relative to all other ordered operators
};

// Larger graphs keep their order: the search takes a time that grows with the square of their size.
inline constexpr size_t kMaxScheduled = 256;

// The order with the lowest peak of live bytes that a beam search over topological orders finds:
// positions in `operators`. Every block is written by at most one operator. Deterministic. Empty
// when the given order is not improved on, or when there are more than kMaxScheduled operators.
std::vector<size_t> LowerPeakOrder(const std::vector<ScheduledOperator>& operators,
                                   const std::vector<ScheduledBlock>& blocks);

// The peak of the given order, by the same measure: blocks alive while an operator runs, and its
// scratch memory.
int64_t OrderPeak(const std::vector<ScheduledOperator>& operators,
                  const std::vector<ScheduledBlock>& blocks, const std::vector<size_t>& order);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_SCHEDULE_H_
