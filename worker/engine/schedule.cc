#include "worker/engine/schedule.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/base/splitmix64.h"

namespace helx::engine {
namespace {

constexpr size_t kBeamWidth = 16;
constexpr uint64_t kHashSeed = 1;

// What has run so far, and what it needed.
struct PartialOrder {
  std::vector<size_t> order;
  std::vector<int32_t> waiting;  // by operator: operators that must run before it and have not
  std::vector<int32_t> readers;  // by block: operators that have yet to read it
  std::vector<bool> done;
  uint64_t hash = 0;  // of the set of operators that have run
  int64_t live = 0;
  int64_t peak = 0;
};

struct Extension {
  size_t from = 0;  // in the beam
  size_t op = 0;
  uint64_t hash = 0;
  int64_t live = 0;
  int64_t peak = 0;
};

class Search {
 public:
  Search(const std::vector<ScheduledOperator>& operators, const std::vector<ScheduledBlock>& blocks)
      : operators_(operators), blocks_(blocks), followers_(operators.size()) {
    SplitMix64 random(kHashSeed);
    for (size_t i = 0; i < operators.size(); ++i) hashes_.push_back(random.Next());
    start_.waiting.assign(operators.size(), 0);
    start_.readers.assign(blocks.size(), 0);
    start_.done.assign(operators.size(), false);
    int64_t last_ordered = -1;
    for (size_t i = 0; i < operators.size(); ++i) {
      for (int32_t block : operators[i].reads) ++start_.readers[block];
      for (size_t before : operators[i].after) Precede(before, i);
      if (!operators[i].ordered) continue;
      if (last_ordered >= 0) Precede(static_cast<size_t>(last_ordered), i);
      last_ordered = static_cast<int64_t>(i);
    }
    for (const ScheduledBlock& block : blocks) start_.live += block.given ? block.bytes : 0;
    start_.peak = start_.live;
  }

  const PartialOrder& start() const { return start_; }

  Extension Extend(const PartialOrder& state, size_t from, size_t op) const {
    const ScheduledOperator& current = operators_[op];
    int64_t added = 0, released = 0;
    for (int32_t block : current.writes) {
      added += blocks_[block].bytes;
      if (state.readers[block] == 0 && !blocks_[block].kept) released += blocks_[block].bytes;
    }
    int64_t shared = 0;
    for (int32_t block : current.reads) {
      if (state.readers[block] == 1 && !blocks_[block].kept) released += blocks_[block].bytes;
    }
    for (const auto& [written, read] : current.in_place) {
      if (state.readers[read] == 1 && !blocks_[read].kept) {
        shared += std::min(blocks_[written].bytes, blocks_[read].bytes);
        break;  // several outputs never take the place of several inputs
      }
    }
    Extension next{from, op, state.hash ^ hashes_[op], 0, 0};
    next.peak = std::max(state.peak, state.live + added - shared + current.scratch_bytes);
    next.live = state.live + added - released;
    return next;
  }

  PartialOrder Follow(PartialOrder state, const Extension& step) const {
    for (int32_t block : operators_[step.op].reads) --state.readers[block];
    for (size_t follower : followers_[step.op]) --state.waiting[follower];
    state.done[step.op] = true;
    state.order.push_back(step.op);
    state.hash = step.hash;
    state.live = step.live;
    state.peak = step.peak;
    return state;
  }

  std::vector<size_t> Best() const {
    std::vector<PartialOrder> beam = {start_};
    for (size_t step = 0; step < operators_.size(); ++step) {
      std::vector<Extension> steps;
      for (size_t b = 0; b < beam.size(); ++b) {
        for (size_t op = 0; op < operators_.size(); ++op) {
          if (beam[b].done[op] || beam[b].waiting[op] > 0) continue;
          steps.push_back(Extend(beam[b], b, op));
        }
      }
      std::stable_sort(steps.begin(), steps.end(), [](const Extension& a, const Extension& b) {
        return a.peak != b.peak ? a.peak < b.peak : a.live < b.live;
      });
      std::vector<PartialOrder> next;
      std::set<uint64_t> seen;
      for (const Extension& extension : steps) {
        if (next.size() == kBeamWidth) break;
        if (!seen.insert(extension.hash).second) continue;
        next.push_back(Follow(beam[extension.from], extension));
      }
      beam = std::move(next);
    }
    return beam.front().order;
  }

 private:
  void Precede(size_t first, size_t second) {
    followers_[first].push_back(second);
    ++start_.waiting[second];
  }

  const std::vector<ScheduledOperator>& operators_;
  const std::vector<ScheduledBlock>& blocks_;
  std::vector<std::vector<size_t>> followers_;
  std::vector<uint64_t> hashes_;
  PartialOrder start_;
};

}  // namespace

int64_t OrderPeak(const std::vector<ScheduledOperator>& operators,
                  const std::vector<ScheduledBlock>& blocks, const std::vector<size_t>& order) {
  const Search search(operators, blocks);
  PartialOrder state = search.start();
  for (size_t op : order) {
    const Extension step = search.Extend(state, 0, op);
    state = search.Follow(std::move(state), step);
  }
  return state.peak;
}

std::vector<size_t> LowerPeakOrder(const std::vector<ScheduledOperator>& operators,
                                   const std::vector<ScheduledBlock>& blocks) {
  if (operators.size() > kMaxScheduled || operators.empty()) return {};
  std::vector<size_t> given(operators.size());
  std::iota(given.begin(), given.end(), size_t{0});
  const std::vector<size_t> found = Search(operators, blocks).Best();
  if (OrderPeak(operators, blocks, found) >= OrderPeak(operators, blocks, given)) return {};
  return found;
}

}  // namespace helx::engine
