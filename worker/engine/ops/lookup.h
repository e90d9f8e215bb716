// Functions of one 8-bit element, tabulated when the model is built.
#ifndef HELX_WORKER_ENGINE_OPS_LOOKUP_H_
#define HELX_WORKER_ENGINE_OPS_LOOKUP_H_

#include <functional>

#include "worker/engine/operator.h"

namespace helx::engine {

// A call that replaces every element x of `input` (int8 or uint8) by function(x), of which the low 8 bits are kept.
Call LookupCall(const LowerContext& context, const model::Tensor& input,
                const std::function<int32_t(int32_t)>& function, Argument from, Argument to);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_LOOKUP_H_
