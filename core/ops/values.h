// The values of one decode while it runs.
#ifndef HELX_CORE_OPS_VALUES_H_
#define HELX_CORE_OPS_VALUES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "core/ops/packed.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// Each value is held as i64 elements, packed, or both; borrowed from who called, or owned.
class Values {
 public:
  explicit Values(size_t count) : values_(count) {}

  // `tensor` outlives this.
  void Borrow(size_t id, const Tensor* tensor) { values_[id].wide = tensor; }
  void Borrow(size_t id, const PackedTensor* tensor) { values_[id].packed = tensor; }

  // A tensor of this shape, owned here, for the caller to write.
  Tensor* MakeWide(size_t id, const Shape& shape) {
    Value& value = values_[id];
    value.own_wide.shape = shape;
    value.own_wide.data.resize(shape.elements());
    value.wide = &value.own_wide;
    return &value.own_wide;
  }
  PackedTensor* MakePacked(size_t id, const Shape& shape, ElementType type) {
    Value& value = values_[id];
    value.own_packed = {shape, type, {}};
    value.own_packed.bytes.resize(shape.elements() * ElementBytes(type));
    value.packed = &value.own_packed;
    return &value.own_packed;
  }

  // The value as i64 elements, unpacked at the first call.
  const Tensor& Wide(size_t id) {
    Value& value = values_[id];
    if (value.wide == nullptr) {
      value.own_wide = Unpack(*value.packed);
      value.wide = &value.own_wide;
    }
    return *value.wide;
  }
  // The value as it is.
  ElementsView View(size_t id) const {
    const Value& value = values_[id];
    return value.packed != nullptr ? ElementsView(*value.packed) : ElementsView(*value.wide);
  }

  // The value as a tensor of its own; `last` says that nothing asks for it again.
  Tensor TakeWide(size_t id, bool last) {
    Value& value = values_[id];
    Wide(id);
    return last && value.wide == &value.own_wide ? std::move(value.own_wide) : *value.wide;
  }
  PackedTensor TakePacked(size_t id, ElementType type, bool last) {
    Value& value = values_[id];
    if (value.packed == nullptr || value.packed->type != type) return Pack(View(id), type);
    return last && value.packed == &value.own_packed ? std::move(value.own_packed)
                                                     : *value.packed;
  }

  void Drop(size_t id) { values_[id] = Value(); }

 private:
  struct Value {
    const Tensor* wide = nullptr;
    const PackedTensor* packed = nullptr;
    Tensor own_wide;
    PackedTensor own_packed;
  };

  std::vector<Value> values_;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_VALUES_H_
