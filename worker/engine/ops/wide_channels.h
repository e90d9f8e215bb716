// Output channels of layers with int16 activations.
#ifndef HELX_WORKER_ENGINE_OPS_WIDE_CHANNELS_H_
#define HELX_WORKER_ENGINE_OPS_WIDE_CHANNELS_H_

#include <string>
#include <vector>

#include "worker/engine/ops/common.h"

namespace helx::engine {

// A multiplier and right shift for 64-bit sums: the multiplier rounded to 15 bits (MultiplyByQuantizedMultiplier of int64 in
// common.cc).
struct WideMultiplier {
  int32_t multiplier;
  int32_t shift;
};
WideMultiplier Widened(FixedMultiplier fixed);

// With 64-bit sums the ratio must be below 2^7; with 32-bit sums QuantizeMultiplier's limit holds.
bool CheckWideMultiplier(Preflight& preflight, double ratio, bool narrow);

// The array of helx_channel_s16: one per ratio, with the bias (int16, int32 or int64, or none).
std::string WideChannels(const LowerContext& context, const Tensor* bias,
                         const std::vector<double>& ratios, bool narrow);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_WIDE_CHANNELS_H_
