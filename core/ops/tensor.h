// Tensors of wai-ops/1 (docs/integer-operators.md, section 3): (C, H, W) and planar i64 elements.
#ifndef HELX_CORE_OPS_TENSOR_H_
#define HELX_CORE_OPS_TENSOR_H_

#include <cstdint>
#include <vector>

namespace helx::ops {

inline constexpr int64_t kMaxDim = 65535;
// A dim that is not known at load (section 10.6).
inline constexpr int64_t kUnknown = -1;

struct Shape {
  int64_t c = 0;
  int64_t h = 0;
  int64_t w = 0;

  bool known() const { return c >= 0 && h >= 0 && w >= 0; }
  // Exact below 2^48; REQUIRES: known().
  int64_t elements() const { return c * h * w; }
  bool operator==(const Shape&) const = default;
};

struct Tensor {
  Shape shape;
  // Element (c, y, x) is data[(c * h + y) * w + x].
  std::vector<int64_t> data;
  bool operator==(const Tensor&) const = default;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_TENSOR_H_
