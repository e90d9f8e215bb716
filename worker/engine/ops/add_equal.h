// int8 ADD of equal shapes, for instruction-set extensions (worker/kernels/helx_add_equal_s8.h).
#ifndef HELX_WORKER_ENGINE_OPS_ADD_EQUAL_H_
#define HELX_WORKER_ENGINE_OPS_ADD_EQUAL_H_

#include <optional>

#include "worker/engine/ops/common.h"

namespace helx::engine {

// The rescalings of ADD (add_common.cc): of the operands to twice the larger scale, of their sum to the output.
struct AddScales {
  FixedMultiplier a, b, output;
};

// Function, parameters and arguments; nothing where the board's core has no kernel that does the case exactly.
// REQUIRES: the operator is an int8 ADD that passed its check.
std::optional<Lowering> LowerAddEqual(const LowerContext& context, const AddScales& scales,
                                      const IntegerRange& range);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_ADD_EQUAL_H_
