#include "worker/engine/ops/uint8_channels.h"

namespace helx::engine {
namespace {

// helx_channel_u8.
struct Uint8Channel {
  int32_t bias;
  float scale;
};

float Uint8Ratio(const OperatorView& view, const Tensor& input, const Tensor& filter) {
  return Scale(input) * Scale(filter) / Scale(view.output());
}

}  // namespace

bool CheckFloatRescaling(Preflight& preflight, const Tensor& input, const Tensor& filter) {
  const float ratio = Uint8Ratio(preflight.view(), input, filter);
  if (ratio < 256.0f) return true;
  return preflight.Refuse("unsupported_quantization",
                          "the ratio of scales " + std::to_string(ratio) + " must be below 256");
}

std::string FloatChannels(const LowerContext& context, const Tensor& input, const Tensor& filter,
                          const Tensor* bias, int32_t count) {
  const float ratio = Uint8Ratio(context.view, input, filter);
  const std::vector<int32_t> biases =
      bias == nullptr ? std::vector<int32_t>(count, 0) : Int32Values(*bias);
  std::vector<Uint8Channel> channels;
  for (int32_t value : biases) channels.push_back({value, ratio});
  return context.ConstantArray("helx_channel_u8", channels);
}

}  // namespace helx::engine
