#include "worker/engine/ops/sigmoid.h"

#include <algorithm>
#include <cmath>

#include "worker/engine/ops/common.h"

namespace helx::engine {
namespace {

constexpr int kIntegerBits = 4;  // of the 8-bit argument

bool IsTanh(const OperatorView& view) {
  return view.op().code == model::BuiltinOperator::TANH;
}

// log2 of a scale when it is a power of two to within a thousandth (CheckedLog2 in quantization_util.cc).
std::optional<int> PowerOfTwo(float scale) {
  const float exact = std::log(scale) * (1.0f / std::log(2.0f));
  const float rounded = std::round(exact);
  if (!(std::fabs(exact - rounded) < 1e-3f)) return std::nullopt;
  return static_cast<int>(rounded);
}

// Multiplier and right shift that bring an int16 argument to 3 steps of 1/24 per 1/8 (logistic_common.cc, tanh.cc).
struct ArgumentScale {
  int32_t multiplier;
  int32_t shift;
};

ArgumentScale ArgumentScaleOf(const OperatorView& view) {
  const float scale = Scale(*view.input(0));
  const std::optional<int> log2 = PowerOfTwo(scale);
  const int left_shift = log2 ? 12 + *log2 : -1;
  if (left_shift == 0 || (left_shift == 1 && IsTanh(view))) return {3 << left_shift, 0};
  double multiplier = static_cast<double>(scale) * 4096.0 * 3.0;
  int32_t shift = 0;
  while (multiplier <= 32767.0 / 2.0 && shift <= 30) {
    ++shift;
    multiplier *= 2.0;
  }
  return {static_cast<int32_t>(multiplier), shift};
}

}  // namespace

bool CheckSigmoid(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  if (input.type == TensorType::INT16) {
    if (PowerOfTwo(Scale(output)) != -15) {
      return preflight.Refuse("unsupported_quantization", "the output's scale must be 1/32768");
    }
    if (static_cast<double>(Scale(input)) * 4096.0 * 3.0 >= 65536.0) {
      return preflight.Refuse("unsupported_quantization", "the input's scale must be below 5");
    }
    return true;
  }
  if (input.type == TensorType::INT8 && !IsTanh(view) && ZeroPoint(output) != -128) {
    return preflight.Refuse("unsupported_quantization", "the output's zero point must be -128");
  }
  return true;
}

int32_t EightBitSigmoid(const OperatorView& view, int32_t x) {
  const Tensor& input = *view.input(0);
  const Tensor& output = view.output();
  const int32_t value = x - ZeroPoint(input);
  if (input.type == TensorType::UINT8) {
    const float real = Scale(input) * static_cast<float>(value);
    const float y = IsTanh(view) ? std::tanh(real) : 1.0f / (1.0f + std::exp(-real));
    const float rescaled = std::round(y * (1 / Scale(output)));
    return static_cast<int32_t>(std::clamp<double>(
        static_cast<double>(rescaled) + ZeroPoint(output), 0, 255));
  }
  // logistic.h and tanh.h of integer_ops: outputs have scale 1/256 or 1/128 whatever the tensor says.
  const std::optional<FixedMultiplier> fixed =
      QuantizeMultiplier(static_cast<double>(Scale(input)) *
                         static_cast<double>(1 << (31 - kIntegerBits)));
  const int64_t radius = fixed && fixed->shift >= 0 ? InputRadius(kIntegerBits, fixed->shift)
                         : fixed                    ? int64_t{1} << 32
                                                    : 0;
  if (value <= -radius) return -128;
  if (value >= radius) return 127;
  const int32_t argument = Requantize(value, *fixed);
  const int32_t y = IsTanh(view) ? RoundShift(FixedTanh(argument), 24)
                                 : RoundShift(FixedLogistic(argument), 23) - 128;
  return std::clamp(y, -128, 127);
}

Call SixteenBitSigmoid(const LowerContext& context) {
  const ArgumentScale scale = ArgumentScaleOf(context.view);
  Call call;
  call.function = IsTanh(context.view) ? "helx_tanh_s16" : "helx_logistic_s16";
  call.params_type = "helx_sigmoid_s16_params";
  call.params = {
      Field("count", model::ElementCount(context.view.output())),
      Field("multiplier", scale.multiplier),
      Field("shift", scale.shift),
      Field("table", context.ConstantArray("uint16_t", LogisticTable())),
  };
  return call;
}

}  // namespace helx::engine
