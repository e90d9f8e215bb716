#include "core/ops/packed.h"

#include <algorithm>
#include <limits>

#include "core/ops/simd.h"

namespace helx::ops {
namespace {

template <typename T>
bool Holds(Interval interval) {
  return interval.lo >= std::numeric_limits<T>::min() &&
         interval.hi <= std::numeric_limits<T>::max();
}

}  // namespace

size_t ElementBytes(ElementType type) {
  return WithType(type, [](auto element) { return sizeof(element); });
}

ElementType NarrowestType(Interval interval) {
  if (Holds<int8_t>(interval)) return ElementType::kI8;
  if (Holds<int16_t>(interval)) return ElementType::kI16;
  return Holds<int32_t>(interval) ? ElementType::kI32 : ElementType::kI64;
}

bool AllWithin(const ElementsView& x, int64_t lo, int64_t hi) {
  return WithType(x.type, [&](auto element) {
    using T = decltype(element);
    return AllWithin(static_cast<const T*>(x.data), static_cast<int64_t>(x.bytes / sizeof(T)), lo,
                     hi);
  });
}

Tensor Unpack(const ElementsView& x) {
  Tensor tensor{x.shape, {}};
  tensor.data.resize(x.shape.elements());
  WithType(x.type, [&](auto element) {
    std::copy_n(static_cast<const decltype(element)*>(x.data), tensor.data.size(),
                tensor.data.data());
  });
  return tensor;
}

void Pack(const ElementsView& x, ElementsSink y) {
  WithType(x.type, [&](auto from) {
    WithType(y.type, [&](auto to) {
      const auto* source = static_cast<const decltype(from)*>(x.data);
      std::transform(source, source + x.shape.elements(), static_cast<decltype(to)*>(y.data),
                     [](auto v) { return static_cast<decltype(to)>(v); });
    });
  });
}

PackedTensor Pack(const ElementsView& x, ElementType type) {
  PackedTensor packed{x.shape, type, {}};
  packed.bytes.resize(x.shape.elements() * ElementBytes(type));
  Pack(x, ElementsSink(&packed));
  return packed;
}

}  // namespace helx::ops
