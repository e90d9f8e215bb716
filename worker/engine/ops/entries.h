// The operators of the builtin engine, one entry each.
#ifndef HELX_WORKER_ENGINE_OPS_ENTRIES_H_
#define HELX_WORKER_ENGINE_OPS_ENTRIES_H_

#include "worker/engine/operator.h"

namespace helx::engine {

extern const OperatorEntry kAdd;
extern const OperatorEntry kAveragePool2d;
extern const OperatorEntry kConv2d;
extern const OperatorEntry kDepthwiseConv2d;
extern const OperatorEntry kDequantize;
extern const OperatorEntry kFullyConnected;
extern const OperatorEntry kLogSoftmax;
extern const OperatorEntry kMean;
extern const OperatorEntry kQuantize;
extern const OperatorEntry kReshape;
extern const OperatorEntry kSoftmax;

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_ENTRIES_H_
