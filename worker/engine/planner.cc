#include "worker/engine/planner.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace helx::engine {
namespace {

int64_t Aligned(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool LiveTogether(const PlannedBuffer& a, const PlannedBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// Bytes alive after each step at which something begins to live.
std::map<int32_t, int64_t> Loads(const std::vector<PlannedBuffer>& buffers) {
  std::map<int32_t, int64_t> change;
  for (const PlannedBuffer& b : buffers) {
    change[b.first] += Aligned(b.bytes);
    change[b.last + 1] -= Aligned(b.bytes);
  }
  int64_t load = 0;
  for (auto& [step, delta] : change) {
    load += delta;
    delta = load;
  }
  return change;
}

// Places the buffers in the given order, each at the lowest gap; returns the arena's bytes.
int64_t PlaceInOrder(const std::vector<size_t>& order, std::vector<PlannedBuffer>* buffers) {
  std::vector<size_t> placed;  // by offset
  int64_t arena = 0;
  for (size_t index : order) {
    PlannedBuffer& buffer = (*buffers)[index];
    int64_t offset = 0;
    for (size_t other : placed) {
      const PlannedBuffer& taken = (*buffers)[other];
      if (!LiveTogether(buffer, taken)) continue;
      if (offset + Aligned(buffer.bytes) <= taken.offset) break;
      offset = std::max(offset, taken.offset + Aligned(taken.bytes));
    }
    buffer.offset = offset;
    arena = std::max(arena, offset + Aligned(buffer.bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](int64_t at, size_t other) { return at < (*buffers)[other].offset; }),
        index);
  }
  return arena;
}

}  // namespace

int64_t PeakBytes(const std::vector<PlannedBuffer>& buffers) {
  int64_t peak = 0;
  for (const auto& [step, load] : Loads(buffers)) peak = std::max(peak, load);
  return peak;
}

int64_t PlanArena(std::vector<PlannedBuffer>* buffers) {
  const std::vector<PlannedBuffer>& given = *buffers;
  const std::map<int32_t, int64_t> loads = Loads(given);
  std::vector<int64_t> heaviest(given.size(), 0);
  for (size_t i = 0; i < given.size(); ++i) {
    for (auto it = loads.lower_bound(given[i].first);
         it != loads.end() && it->first <= given[i].last; ++it) {
      heaviest[i] = std::max(heaviest[i], it->second);
    }
  }
  using Before = std::function<bool(size_t, size_t)>;
  const std::vector<Before> orders = {
      [&](size_t a, size_t b) { return given[a].bytes > given[b].bytes; },
      [&](size_t a, size_t b) {
        return heaviest[a] != heaviest[b] ? heaviest[a] > heaviest[b]
                                          : given[a].bytes > given[b].bytes;
      },
      [&](size_t a, size_t b) {
        return given[a].first != given[b].first ? given[a].first < given[b].first
                                                : given[a].bytes > given[b].bytes;
      },
  };
  const int64_t lowest = PeakBytes(given);
  std::vector<PlannedBuffer> best;
  int64_t best_arena = 0;
  for (const Before& before : orders) {
    std::vector<size_t> order(given.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), before);
    std::vector<PlannedBuffer> plan = given;
    const int64_t arena = PlaceInOrder(order, &plan);
    if (best.empty() || arena < best_arena) {
      best = std::move(plan);
      best_arena = arena;
    }
    if (best_arena == lowest) break;
  }
  *buffers = std::move(best);
  return best_arena;
}

}  // namespace helx::engine
