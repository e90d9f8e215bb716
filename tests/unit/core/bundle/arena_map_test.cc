#include "core/bundle/arena_map.h"

#include <gtest/gtest.h>

#include "core/base/splitmix64.h"

namespace helx {
namespace {

TEST(ArenaMap, CountsSharedBytesOnce) {
  // Drawn out by hand, bytes 0 to 79 against steps 0 to 4:
  //   step 0: [0, 32)                            32
  //   step 1: [0, 32) and [16, 48)               48
  //   step 2: [16, 48) and [64, 80)              48
  //   step 3: [16, 48) and, inside it, [20, 24)  32
  //   step 4: nothing
  const std::vector<ArenaExtent> extents = {
      {0, 32, 0, 1}, {16, 32, 1, 3}, {64, 16, 2, 2}, {20, 4, 3, 3}, {5, 0, 0, 4}};
  EXPECT_EQ(LiveBytes(extents, {0, 1, 2, 3, 4}), (std::vector<int64_t>{32, 48, 48, 32, 0}));
  EXPECT_EQ(LiveBytes(extents, {2, 4, 0, 2, -1}), (std::vector<int64_t>{48, 0, 32, 48, 0}));
  EXPECT_EQ(LiveBytes({}, {7}), std::vector<int64_t>{0});
  EXPECT_TRUE(LiveBytes(extents, {}).empty());
}

// Against counting byte by byte.
TEST(ArenaMap, EqualsACountOfBytes) {
  SplitMix64 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaExtent> extents(random.Next() % 20);
    for (ArenaExtent& extent : extents) {
      extent = {static_cast<int64_t>(random.Next() % 40), static_cast<int64_t>(random.Next() % 20),
                static_cast<int64_t>(random.Next() % 8), 0};
      extent.last = extent.first + static_cast<int64_t>(random.Next() % 4);
    }
    std::vector<int64_t> steps, expected;
    for (int64_t step = 11; step >= 0; --step) {
      steps.push_back(step);
      int64_t count = 0;
      for (int64_t byte = 0; byte < 60; ++byte) {
        bool used = false;
        for (const ArenaExtent& e : extents) {
          used = used || (e.first <= step && step <= e.last && e.offset <= byte &&
                          byte < e.offset + e.bytes);
        }
        count += used;
      }
      expected.push_back(count);
    }
    EXPECT_EQ(LiveBytes(extents, steps), expected) << round;
  }
}

}  // namespace
}  // namespace helx
