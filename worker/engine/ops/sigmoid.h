// LOGISTIC and TANH of quantised tensors.
#ifndef HELX_WORKER_ENGINE_OPS_SIGMOID_H_
#define HELX_WORKER_ENGINE_OPS_SIGMOID_H_

#include "worker/engine/operator.h"

namespace helx::engine {

// The scales and zero points that TFLite's arithmetic is defined for. REQUIRES: one scale each; types alike.
bool CheckSigmoid(Preflight& preflight);
// The value for an int8 or uint8 element.
int32_t EightBitSigmoid(const OperatorView& view, int32_t x);
// The kernel for int16, without its arguments.
Call SixteenBitSigmoid(const LowerContext& context);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_SIGMOID_H_
