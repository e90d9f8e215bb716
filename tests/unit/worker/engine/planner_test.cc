#include "worker/engine/planner.h"

#include <gtest/gtest.h>

#include "core/base/splitmix64.h"

namespace helx::engine {
namespace {

void ExpectNoOverlap(const std::vector<PlannedBuffer>& buffers, int64_t arena) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlannedBuffer& a = buffers[i];
    EXPECT_EQ(a.offset % kArenaAlignment, 0);
    EXPECT_GE(a.offset, 0);
    EXPECT_LE(a.offset + a.bytes, arena);
    for (size_t j = 0; j < i; ++j) {
      const PlannedBuffer& b = buffers[j];
      const bool together = a.first <= b.last && b.first <= a.last;
      const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

TEST(PlanArena, ReusesWhatADeadBufferLeft) {
  // A chain of three: the third may take the first one's place.
  std::vector<PlannedBuffer> buffers = {{64, -1, 0, 0}, {32, 0, 1, 0}, {64, 1, 2, 0}};
  EXPECT_EQ(PlanArena(&buffers), 96);
  ExpectNoOverlap(buffers, 96);
}

TEST(PlanArena, AlignsOddSizes) {
  std::vector<PlannedBuffer> buffers = {{1, 0, 0, 0}, {17, 0, 0, 0}};
  EXPECT_EQ(PlanArena(&buffers), 48);  // 16 + 32
  ExpectNoOverlap(buffers, 48);
}

TEST(PlanArena, KeepsAChainWithinItsPeak) {
  // Alive together: {a, b}, {b, c}, {c, d}: 80 bytes each.
  std::vector<PlannedBuffer> buffers = {{48, 0, 1, 0}, {32, 1, 2, 0}, {48, 2, 3, 0}, {32, 3, 4, 0}};
  EXPECT_EQ(PlanArena(&buffers), 80);
  ExpectNoOverlap(buffers, 80);
}

TEST(PlanArena, NothingIsNothing) {
  std::vector<PlannedBuffer> buffers;
  EXPECT_EQ(PlanArena(&buffers), 0);
}

TEST(PlanArena, NeverOverlapsOnRandomLifetimes) {
  SplitMix64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<PlannedBuffer> buffers(1 + random.Next() % 40);
    for (PlannedBuffer& b : buffers) {
      b.bytes = static_cast<int64_t>(1 + random.Next() % 5000);
      b.first = static_cast<int32_t>(random.Next() % 30) - 1;
      b.last = b.first + static_cast<int32_t>(random.Next() % 6);
    }
    const int64_t arena = PlanArena(&buffers);
    ExpectNoOverlap(buffers, arena);
    EXPECT_GE(arena, PeakBytes(buffers));
  }
}

}  // namespace
}  // namespace helx::engine
