// Tensors in narrower types than i64. The certificate bounds every value, so that what an int8
// network passes from convolution to convolution need not be eight times its size.
#ifndef HELX_CORE_OPS_PACKED_H_
#define HELX_CORE_OPS_PACKED_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ops/bounds.h"
#include "core/ops/tensor.h"

namespace helx::ops {

enum class ElementType : uint8_t { kI8, kI16, kI32, kI64 };

size_t ElementBytes(ElementType type);

// The narrowest type that holds every value of `interval`, which is within i64.
ElementType NarrowestType(Interval interval);

struct PackedTensor {
  Shape shape;
  ElementType type = ElementType::kI64;
  // The elements in Tensor's order, each ElementBytes(type) in the machine's byte order.
  std::vector<std::byte, UnwrittenAllocator<std::byte>> bytes;
};

// Where elements are to be written.
struct ElementsSink {
  ElementType type = ElementType::kI64;
  void* data = nullptr;

  explicit ElementsSink(Tensor* tensor) : data(tensor->data.data()) {}
  explicit ElementsSink(PackedTensor* tensor) : type(tensor->type), data(tensor->bytes.data()) {}
};

// Elements where they lie.
struct ElementsView {
  Shape shape;
  ElementType type = ElementType::kI64;
  const void* data = nullptr;
  size_t bytes = 0;

  ElementsView(const Tensor& tensor)  // NOLINT: each tensor is a view of its elements.
      : shape(tensor.shape),
        data(tensor.data.data()),
        bytes(tensor.data.size() * sizeof(int64_t)) {}
  ElementsView(const PackedTensor& tensor)  // NOLINT: as above.
      : shape(tensor.shape),
        type(tensor.type),
        data(tensor.bytes.data()),
        bytes(tensor.bytes.size()) {}
};

// Calls f(T) with a value of the type's C++ type.
template <typename F>
auto WithType(ElementType type, F f) {
  switch (type) {
    case ElementType::kI8:
      return f(int8_t{});
    case ElementType::kI16:
      return f(int16_t{});
    case ElementType::kI32:
      return f(int32_t{});
    case ElementType::kI64:
      break;
  }
  return f(int64_t{});
}

// Whether every element is in [lo, hi].
bool AllWithin(const ElementsView& x, int64_t lo, int64_t hi);

// The view's bytes are those its shape and type need, in both.
Tensor Unpack(const ElementsView& x);
// Every element fits the sink's type.
void Pack(const ElementsView& x, ElementsSink y);
PackedTensor Pack(const ElementsView& x, ElementType type);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_PACKED_H_
