// Reading the fields of a stage operator's `in` (docs/integer-operators.md, section 5E.0).
#ifndef HELX_CORE_OPS_STAGE_FIELDS_H_
#define HELX_CORE_OPS_STAGE_FIELDS_H_

#include <cstdint>
#include <vector>

#include "core/ops/integers.h"
#include "core/ops/json.h"
#include "core/ops/stage/stage.h"
#include "core/ops/tensor.h"

namespace helx::ops {

// An integer of any size, saturated far outside every range the operators state.
inline i128 StageInteger(const Json& value) {
  constexpr i128 kFar = static_cast<i128>(1) << 100;
  if (const auto small = value.IntegerIn(kI64Min, kI64Max)) return *small;
  return value.Text().front() == '-' ? -kFar : kFar;
}

// REQUIRES: `list.is_integers()`.
inline std::vector<i128> StageIntegers(const Json& list) {
  std::vector<i128> values;
  values.reserve(list.items().size());
  for (const Json& item : list.items()) values.push_back(StageInteger(item));
  return values;
}

inline bool FitsI32(i128 v) { return v >= kI32Min && v <= kI32Max; }
inline bool FitsI64(i128 v) { return v >= kI64Min && v <= kI64Max; }

inline StageRefusal AtOpen(Code code) { return {code, -1}; }

// `shape` and `layout` of section 5E.3.
struct StageLayout {
  Shape shape;
  bool interleaved = false;

  // Channel, row and column of element e of the layout.
  void Position(int64_t e, int64_t* c, int64_t* y, int64_t* x) const {
    if (interleaved) {
      *c = e % shape.c;
      *x = e / shape.c % shape.w;
      *y = e / shape.c / shape.w;
    } else {
      *x = e % shape.w;
      *y = e / shape.w % shape.h;
      *c = e / shape.w / shape.h;
    }
  }
  int64_t Index(int64_t c, int64_t y, int64_t x) const {
    return interleaved ? (y * shape.w + x) * shape.c + c : (c * shape.h + y) * shape.w + x;
  }
};

// False when the shape is not three dims in 1..65535 or the layout is neither name.
bool ReadLayout(const Json& shape, const Json& layout, StageLayout* out);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_STAGE_FIELDS_H_
