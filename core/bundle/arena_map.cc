#include "core/bundle/arena_map.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace helx {
namespace {

// A segment tree over the stretches between neighbouring ends of extents: how often each is
// covered, and the bytes that are covered at all.
class CoveredBytes {
 public:
  explicit CoveredBytes(std::vector<int64_t> ends) : ends_(std::move(ends)) {
    std::sort(ends_.begin(), ends_.end());
    ends_.erase(std::unique(ends_.begin(), ends_.end()), ends_.end());
    nodes_.resize(4 * std::max<size_t>(ends_.size(), 1));
  }

  void Add(const ArenaExtent& extent, int32_t times) {
    if (extent.bytes == 0) return;
    Add(1, 0, ends_.size() - 1, Index(extent.offset), Index(extent.offset + extent.bytes), times);
  }

  int64_t bytes() const { return nodes_[1].bytes; }

 private:
  struct Node {
    int32_t times = 0;
    int64_t bytes = 0;
  };

  size_t Index(int64_t end) const {
    return std::lower_bound(ends_.begin(), ends_.end(), end) - ends_.begin();
  }

  // The node covers the stretches from ends_[low] to ends_[high].
  void Add(size_t node, size_t low, size_t high, size_t from, size_t to, int32_t times) {
    if (to <= low || high <= from) return;
    Node& at = nodes_[node];
    const bool leaf = high - low == 1;
    if (from <= low && high <= to) {
      at.times += times;
    } else {
      const size_t middle = low + (high - low) / 2;
      Add(2 * node, low, middle, from, to, times);
      Add(2 * node + 1, middle, high, from, to, times);
    }
    at.bytes = at.times > 0 ? ends_[high] - ends_[low]
               : leaf       ? 0
                            : nodes_[2 * node].bytes + nodes_[2 * node + 1].bytes;
  }

  std::vector<int64_t> ends_;
  std::vector<Node> nodes_;
};

template <typename Key>
std::vector<size_t> OrderedBy(size_t count, const Key& key) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

std::vector<int64_t> LiveBytes(const std::vector<ArenaExtent>& extents,
                               const std::vector<int64_t>& steps) {
  std::vector<int64_t> ends;
  for (const ArenaExtent& extent : extents) {
    ends.push_back(extent.offset);
    ends.push_back(extent.offset + extent.bytes);
  }
  CoveredBytes covered(std::move(ends));
  const auto begins = OrderedBy(extents.size(), [&](size_t i) { return extents[i].first; });
  const auto finishes = OrderedBy(extents.size(), [&](size_t i) { return extents[i].last; });
  std::vector<int64_t> live(steps.size());
  size_t begun = 0, finished = 0;
  for (const size_t i : OrderedBy(steps.size(), [&](size_t i) { return steps[i]; })) {
    while (begun < begins.size() && extents[begins[begun]].first <= steps[i]) {
      covered.Add(extents[begins[begun++]], 1);
    }
    while (finished < finishes.size() && extents[finishes[finished]].last < steps[i]) {
      covered.Add(extents[finishes[finished++]], -1);
    }
    live[i] = covered.bytes();
  }
  return live;
}

}  // namespace helx
