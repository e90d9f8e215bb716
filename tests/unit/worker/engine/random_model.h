// Random int8 models: layers of every shape that kernels tell apart, with extreme numbers.
#ifndef HELX_TESTS_UNIT_WORKER_ENGINE_RANDOM_MODEL_H_
#define HELX_TESTS_UNIT_WORKER_ENGINE_RANDOM_MODEL_H_

#include <cstdint>
#include <string>

namespace helx::engine {

// `layers` independent layers (CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, ADD, AVERAGE_POOL_2D), each with inputs and an output
// of its own: random shapes, strides, dilations, paddings, groups, scales, zero points, activations, per-tensor and per-channel
// filters; weights and biases include the extremes.
std::string RandomLayers(uint64_t seed, int layers);

// `layers` independent layers with state, in turn UNIDIRECTIONAL_SEQUENCE_LSTM of int8, the same of int16, SVDF with int8 and with
// int16 state: random sizes, steps, scales, zero points, clips; weights and biases include the extremes.
std::string RandomRecurrentLayers(uint64_t seed, int layers);

// A chain of seven convolutions with filters of zeros in it, a pooling, a RESHAPE and a FULLY_CONNECTED. With `open`, every tensor is an output, so that no channel may go.
std::string RandomChain(uint64_t seed, bool open);

}  // namespace helx::engine

#endif  // HELX_TESTS_UNIT_WORKER_ENGINE_RANDOM_MODEL_H_
