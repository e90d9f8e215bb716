// A convolution's input laid out so that a tap is one offset for every output position: with its
// pads, and split by the remainders of its strides, so that neighbours in a plane are a stride
// apart in the input.
#ifndef HELX_CORE_OPS_PLANES_H_
#define HELX_CORE_OPS_PLANES_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ops/graph.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// One spatial axis: tap k of an output position reads element position * stride + k * dilation of
// the padded input, which is element position + offset[k] of those whose remainder by the stride is
// remainders[phase[k]].
struct PlaneAxis {
  std::vector<int64_t> remainders;
  std::vector<int64_t> phase;
  std::vector<int64_t> offset;
  // Elements per remainder.
  int64_t size = 0;

  PlaneAxis(int64_t kernel, int64_t stride, int64_t dilation, int64_t out) {
    std::vector<int64_t> index(stride, -1);
    for (int64_t k = 0; k < kernel; ++k) {
      int64_t& found = index[k * dilation % stride];
      if (found < 0) {
        found = static_cast<int64_t>(remainders.size());
        remainders.push_back(k * dilation % stride);
      }
      phase.push_back(found);
      offset.push_back(k * dilation / stride);
    }
    size = out + offset.back();
  }
};

struct PlaneLayout {
  PlaneAxis rows;
  PlaneAxis columns;
  // Elements of a plane's row and, rounded up, of a plane. A channel's planes, one for each pair of
  // remainders, lie one after another.
  int64_t pitch;
  int64_t size;
  // Output positions of a plane. A row of them begins every `pitch`; those past a row's end are
  // sums of other elements, and dropped.
  int64_t span;

  PlaneLayout(const Params& p, const Shape& out)
      : rows(p.kh, p.sh, p.dh, out.h),
        columns(p.kw, p.sw, p.dw, out.w),
        pitch(columns.size),
        size(RoundedUp(rows.size * pitch)),
        span((out.h - 1) * pitch + out.w) {}

  int64_t phases() const {
    return static_cast<int64_t>(rows.remainders.size() * columns.remainders.size());
  }
  // Where a channel's plane of a pair of remainders begins.
  int64_t Plane(int64_t channel, int64_t row_phase, int64_t column_phase) const {
    const auto column_phases = static_cast<int64_t>(columns.remainders.size());
    return (channel * phases() + row_phase * column_phases + column_phase) * size;
  }
  // Of tap (ky, kx) from an output position.
  int64_t Offset(int64_t channel, int64_t ky, int64_t kx) const {
    return Plane(channel, rows.phase[ky], columns.phase[kx]) + rows.offset[ky] * pitch +
           columns.offset[kx];
  }
  // Elements of a padded input's row that the planes hold.
  int64_t padded_columns(int64_t stride) const {
    return (columns.size - 1) * stride +
           *std::max_element(columns.remainders.begin(), columns.remainders.end()) + 1;
  }

 private:
  // An odd number of cache lines, so that planes of a power of two do not share a cache's sets.
  static int64_t RoundedUp(int64_t elements) {
    constexpr int64_t kLine = 16;
    return ((elements + kLine - 1) / kLine | 1) * kLine;
  }
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_PLANES_H_
