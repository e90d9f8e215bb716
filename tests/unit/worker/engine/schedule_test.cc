// The search for an order of operators with a lower peak, against orders worked out by hand and
// against exhaustive search.
#include "worker/engine/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/base/splitmix64.h"

namespace helx::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An image of 10 becomes x and y of 100 each, which become 1 each and then a sum of 1. The given
// order makes both large blocks before either shrinks.
std::vector<ScheduledBlock> TwoBranchesBlocks() {
  //            0 image      1 x     2 y     3 small x 4 small y 5 sum
  return {{10, true, false}, {100}, {100}, {1}, {1}, {1, false, true}};
}
std::vector<ScheduledOperator> TwoBranchesOperators(bool ordered) {
  std::vector<ScheduledOperator> operators(5);
  operators[0] = {{}, {0}, {1}, {}, 0, ordered};
  operators[1] = {{}, {0}, {2}, {}, 0, ordered};
  operators[2] = {{0}, {1}, {3}, {}, 0, ordered};
  operators[3] = {{1}, {2}, {4}, {}, 0, ordered};
  operators[4] = {{2, 3}, {3, 4}, {5}, {}, 0, ordered};
  return operators;
}

TEST(LowerPeakOrder, FinishesOneBranchBeforeTheOther) {
  const auto operators = TwoBranchesOperators(false);
  EXPECT_EQ(OrderPeak(operators, TwoBranchesBlocks(), {0, 1, 2, 3, 4}), 10 + 100 + 100);
  const std::vector<size_t> order = LowerPeakOrder(operators, TwoBranchesBlocks());
  EXPECT_THAT(order, ElementsAre(0, 2, 1, 3, 4));
  // 10 + 100, 10 + 100 + 1; then 10 + 1 + 100 and, the image being dead, 1 + 100 + 1.
  EXPECT_EQ(OrderPeak(operators, TwoBranchesBlocks(), order), 111);
}

TEST(LowerPeakOrder, KeepsOrderedOperatorsInOrder) {
  EXPECT_THAT(LowerPeakOrder(TwoBranchesOperators(true), TwoBranchesBlocks()), IsEmpty());
}

TEST(LowerPeakOrder, KeepsAChainAndNothing) {
  EXPECT_THAT(LowerPeakOrder({}, {}), IsEmpty());
  const std::vector<ScheduledOperator> chain = {{{}, {0}, {1}, {}, 0, false},
                                                {{0}, {1}, {2}, {}, 0, false}};
  EXPECT_THAT(LowerPeakOrder(chain, {{5, true, false}, {7}, {5, false, true}}), IsEmpty());
}

TEST(OrderPeak, CountsScratchAndWhatWorksInPlace) {
  const std::vector<ScheduledBlock> blocks = {{40, true, false}, {50, false, true}};
  EXPECT_EQ(OrderPeak({{{}, {0}, {1}, {}, 8, false}}, blocks, {0}), 98);
  EXPECT_EQ(OrderPeak({{{}, {0}, {1}, {{1, 0}}, 8, false}}, blocks, {0}), 58);  // 50 + 8
}

// The lowest peak of all topological orders.
int64_t ExhaustivePeak(const std::vector<ScheduledOperator>& operators,
                       const std::vector<ScheduledBlock>& blocks) {
  std::vector<size_t> order(operators.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t lowest = INT64_MAX;
  do {
    std::vector<size_t> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
    bool valid = true;
    for (size_t op = 0; op < operators.size(); ++op) {
      for (size_t before : operators[op].after) valid = valid && position[before] < position[op];
    }
    if (valid) lowest = std::min(lowest, OrderPeak(operators, blocks, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

TEST(LowerPeakOrder, FindsTheLowestPeakOfSmallRandomGraphs) {
  SplitMix64 random(11);
  for (int round = 0; round < 60; ++round) {
    const size_t count = 3 + random.Next() % 5;
    std::vector<ScheduledBlock> blocks = {{static_cast<int64_t>(random.Next() % 50), true, false}};
    std::vector<ScheduledOperator> operators;
    for (size_t i = 0; i < count; ++i) {
      ScheduledOperator op;
      for (int k = 0; k < 2; ++k) {
        const auto block = static_cast<int32_t>(random.Next() % blocks.size());
        if (std::find(op.reads.begin(), op.reads.end(), block) != op.reads.end()) continue;
        op.reads.push_back(block);
        if (block > 0) op.after.push_back(static_cast<size_t>(block) - 1);
      }
      op.writes = {static_cast<int32_t>(blocks.size())};
      if (random.Next() % 3 == 0) op.in_place = {{op.writes[0], op.reads[0]}};
      op.scratch_bytes = random.Next() % 4 == 0 ? static_cast<int64_t>(random.Next() % 40) : 0;
      blocks.push_back({static_cast<int64_t>(1 + random.Next() % 100), false, i + 1 == count});
      operators.push_back(std::move(op));
    }
    std::vector<size_t> given(count);
    std::iota(given.begin(), given.end(), size_t{0});
    const std::vector<size_t> order = LowerPeakOrder(operators, blocks);
    EXPECT_EQ(OrderPeak(operators, blocks, order.empty() ? given : order),
              ExhaustivePeak(operators, blocks))
        << "round " << round;
  }
}

}  // namespace
}  // namespace helx::engine
