#include "worker/engine/ops/broadcast.h"

#include <algorithm>

#include "worker/engine/ops/common.h"

namespace helx::engine {
namespace {

constexpr size_t kBroadcastMaxRank = 6;

// The size of `shape` in dimension `d` of `rank`, counting from the left; missing leading
// dimensions are 1.
int32_t SizeAt(const std::vector<int32_t>& shape, size_t rank, size_t d) {
  return d + shape.size() < rank ? 1 : shape[d + shape.size() - rank];
}

}  // namespace

std::optional<BroadcastShape> Broadcast(const std::vector<int32_t>& a,
                                        const std::vector<int32_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  BroadcastShape shape;
  std::vector<bool> a_repeats, b_repeats;
  for (size_t d = 0; d < rank; ++d) {
    const int32_t x = SizeAt(a, rank, d);
    const int32_t y = SizeAt(b, rank, d);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    const int32_t size = std::max(x, y);
    shape.output.push_back(size);
    if (size == 1) continue;
    const bool mergeable =
        !shape.size.empty() && a_repeats.back() == (x == 1) && b_repeats.back() == (y == 1);
    if (mergeable) {
      shape.size.back() *= size;
    } else {
      shape.size.push_back(size);
      a_repeats.push_back(x == 1);
      b_repeats.push_back(y == 1);
    }
  }
  if (shape.size.empty()) {
    shape.size = {1};
    a_repeats = b_repeats = {false};
  }
  if (shape.size.size() > kBroadcastMaxRank) return std::nullopt;
  shape.a_stride.assign(shape.size.size(), 0);
  shape.b_stride.assign(shape.size.size(), 0);
  int64_t a_step = 1;
  int64_t b_step = 1;
  for (size_t d = shape.size.size(); d-- > 0;) {
    if (!a_repeats[d]) {
      shape.a_stride[d] = a_step;
      a_step *= shape.size[d];
    }
    if (!b_repeats[d]) {
      shape.b_stride[d] = b_step;
      b_step *= shape.size[d];
    }
  }
  return shape;
}

std::string BroadcastInitialiser(const BroadcastShape& shape) {
  return "{" + Field("rank", static_cast<int64_t>(shape.size.size())) + ", " +
         ArrayField("size", shape.size) + ", " + ArrayField("a_stride", shape.a_stride) + ", " +
         ArrayField("b_stride", shape.b_stride) + "}";
}

}  // namespace helx::engine
