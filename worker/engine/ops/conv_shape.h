// The geometry that all convolutions share.
#ifndef HELX_WORKER_ENGINE_OPS_CONV_SHAPE_H_
#define HELX_WORKER_ENGINE_OPS_CONV_SHAPE_H_

#include <optional>
#include <string>

#include "worker/engine/ops/common.h"

namespace helx::engine {

// A convolution as its operator describes it. TRANSPOSE_CONV: `rows` and `columns` are those of the output, from which its
// padding follows.
struct ConvGeometry {
  const Tensor* input = nullptr;
  const Tensor* filter = nullptr;
  const Tensor* bias = nullptr;  // may be absent
  int32_t input_number = -1, filter_number = -1, bias_number = -1;
  tflite::ActivationFunctionType activation = tflite::ActivationFunctionType::NONE;
  Window rows{}, columns{};
  int32_t out_channels = 0;
  int32_t groups = 1;      // CONV_2D
  int32_t multiplier = 1;  // DEPTHWISE_CONV_2D
  int32_t depth = 1;       // input channels that one output channel is made of

  int64_t macs(const Tensor& output) const;
};

// Reads and checks CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV: operands' ranks and shapes, strides, the output's shape.
// Types and quantisation are the caller's. Empty after a refusal.
std::optional<ConvGeometry> CheckConv(Preflight& preflight);
// The same for an operator that has been checked.
ConvGeometry GeometryOf(const OperatorView& view);

// The fields of a helx_conv_shape, and the initialiser made of them.
std::vector<std::string> ConvShapeFields(const OperatorView& view, const ConvGeometry& g);
std::string ConvShapeInitialiser(const OperatorView& view, const ConvGeometry& g);

// The dimension of the filter that runs over output channels.
size_t ChannelDimension(const OperatorView& view);
// The scale of output channel `c` of a quantised filter.
float FilterScale(const Tensor& filter, int32_t c);
// Per tensor, or per output channel; symmetric when asked.
bool CheckFilterQuantization(Preflight& preflight, const ConvGeometry& g, bool symmetric);
// input scale × filter scale / output scale in double precision, as TFLite computes it per channel.
double ChannelRatio(const OperatorView& view, const ConvGeometry& g, int32_t c);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_OPS_CONV_SHAPE_H_
