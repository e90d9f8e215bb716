// Output channels of uint8 layers, rescaled in single precision.
#ifndef HELX_WORKER_ENGINE_OPS_UINT8_CHANNELS_H_
#define HELX_WORKER_ENGINE_OPS_UINT8_CHANNELS_H_

#include <string>

#include "worker/engine/ops/common.h"

namespace helx::engine {

// input scale × filter scale / output scale is below 256, the largest that XNNPACK's fp32 requantisation allows.
bool CheckFloatRescaling(Preflight& preflight, const Tensor& input, const Tensor& filter);

// The array of helx_channel_u8: `bias` (int32, or nullptr) and the one ratio.
std::string FloatChannels(const LowerContext& context, const Tensor& input, const Tensor& filter,
                          const Tensor* bias, int32_t count);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_UINT8_CHANNELS_H_
