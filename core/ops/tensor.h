// Tensors of wai-ops/1 (docs/integer-operators.md, section 3): (C, H, W) and planar i64 elements.
#ifndef HELX_CORE_OPS_TENSOR_H_
#define HELX_CORE_OPS_TENSOR_H_

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
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

// Allocates elements that resize() leaves unwritten: an operator writes each of its value's.
template <typename T>
struct UnwrittenAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnwrittenAllocator<U>;
  };
  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};

using Elements = std::vector<int64_t, UnwrittenAllocator<int64_t>>;

struct Tensor {
  Shape shape;
  // Element (c, y, x) is data[(c * h + y) * w + x].
  Elements data;
  bool operator==(const Tensor&) const = default;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_TENSOR_H_
