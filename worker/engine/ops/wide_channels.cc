#include "worker/engine/ops/wide_channels.h"

namespace helx::engine {
namespace {

// helx_channel_s16.
struct WideChannel {
  int64_t bias;
  int32_t multiplier;
  int32_t shift;
};

}  // namespace

WideMultiplier Widened(FixedMultiplier fixed) {
  const int32_t reduced =
      fixed.multiplier < 0x7fff0000 ? (fixed.multiplier + (1 << 15)) >> 16 : 0x7fff;
  return {reduced, 15 - fixed.shift};
}

bool CheckWideMultiplier(Preflight& preflight, double ratio, bool narrow) {
  if (!CheckMultiplier(preflight, "output", ratio)) return false;
  if (narrow || QuantizeMultiplier(ratio)->shift < 8) return true;
  return preflight.Refuse("unsupported_quantization",
                          "the ratio of scales " + std::to_string(ratio) +
                              " is beyond 2^7, the largest that 64-bit sums are rescaled by");
}

std::string WideChannels(const LowerContext& context, const Tensor* bias,
                         const std::vector<double>& ratios, bool narrow) {
  const std::vector<int64_t> biases =
      bias == nullptr ? std::vector<int64_t>(ratios.size(), 0) : IntegerValues(*bias);
  std::vector<WideChannel> channels;
  for (size_t c = 0; c < ratios.size(); ++c) {
    const FixedMultiplier fixed = *QuantizeMultiplier(ratios[c]);
    const WideMultiplier wide = Widened(fixed);
    channels.push_back({biases[c], narrow ? fixed.multiplier : wide.multiplier,
                        narrow ? fixed.shift : wide.shift});
  }
  return context.ConstantArray("helx_channel_s16", channels);
}

}  // namespace helx::engine
