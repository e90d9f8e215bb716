// Channels of int8 layers that no output depends on.
#ifndef HELX_WORKER_ENGINE_DEAD_CHANNELS_H_
#define HELX_WORKER_ENGINE_DEAD_CHANNELS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

// Removes channels of int8 tensors between CONV_2D, DEPTHWISE_CONV_2D (one channel each), pooling,
// RESHAPE that keeps the last dimension, and FULLY_CONNECTED: those that no later layer reads, and
// those that hold one value whatever the input is, when a later bias can take it over. Every value
// that remains is what it was, bit for bit. Each tensor keeps a multiple of `unit` channels, or
// all: kernels that compute several at once gain nothing from an odd number. New filters and biases
// are kept in `storage`. REQUIRES: every operator that is not `folded` has passed its check.
void RemoveDeadChannels(model::Model& model, size_t subgraph, const std::vector<bool>& folded,
                        int32_t unit, std::deque<std::vector<uint8_t>>* storage);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_DEAD_CHANNELS_H_
