#include "worker/engine/fixed_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace helx::engine {
namespace {

// The bits of the integer part of the exponential's argument; the fraction has 31 - 5 = 26.
constexpr int kArgumentIntegerBits = 5;
constexpr int kArgumentFractionBits = 31 - kArgumentIntegerBits;

int32_t WrapAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

int32_t ShiftLeftSaturating(int32_t x, int bits) {
  const int64_t wide = static_cast<int64_t>(x) * (int64_t{1} << bits);
  return static_cast<int32_t>(std::clamp<int64_t>(wide, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

// exp(a) for a in [-1/4, 0) in Q0.31: a Taylor polynomial of degree 4 around -1/8.
int32_t ExpOfLastQuarter(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 1895147668;
  constexpr int32_t kOneThird = 715827883;
  const int32_t x = WrapAdd(a, 1 << 28);
  const int32_t x2 = HighMul(x, x);
  const int32_t x3 = HighMul(x2, x);
  const int32_t x4 = HighMul(x2, x2);
  const int32_t x4_over_4 = RoundShift(x4, 2);
  // x^2/2 + x^3/6 + x^4/24
  const int32_t higher =
      RoundShift(WrapAdd(HighMul(WrapAdd(x4_over_4, x3), kOneThird), x2), 1);
  return WrapAdd(kExpOfMinusEighth, HighMul(kExpOfMinusEighth, WrapAdd(x, higher)));
}

// exp(a) in Q0.31 for a <= 0 in Q5.26.
int32_t ExpOfNegative(int32_t a) {
  if (a == 0) return std::numeric_limits<int32_t>::max();
  constexpr int32_t kQuarter = 1 << (kArgumentFractionBits - 2);
  const int32_t fraction = (a & (kQuarter - 1)) - kQuarter;  // in [-1/4, 0)
  int32_t result = ExpOfLastQuarter(ShiftLeftSaturating(fraction, kArgumentIntegerBits));
  const int32_t remainder = WrapAdd(fraction, static_cast<int32_t>(0u - static_cast<uint32_t>(a)));
  // exp(-2^k) in Q0.31 for k = -2 .. 4.
  constexpr int32_t kPowers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int k = -2; k <= 4; ++k) {
    if (remainder & (1 << (kArgumentFractionBits + k))) result = HighMul(result, kPowers[k + 2]);
  }
  return result;
}

}  // namespace

std::optional<FixedMultiplier> QuantizeMultiplier(double real) {
  if (!std::isfinite(real) || real < 0) return std::nullopt;
  if (real == 0) return FixedMultiplier{};
  int shift = 0;
  const double mantissa = std::frexp(real, &shift);
  int64_t fixed = static_cast<int64_t>(std::round(mantissa * static_cast<double>(1LL << 31)));
  if (fixed == (1LL << 31)) {
    fixed /= 2;
    ++shift;
  }
  if (shift < -31) return FixedMultiplier{};
  if (shift > 30) return std::nullopt;
  return FixedMultiplier{static_cast<int32_t>(fixed), shift};
}

std::optional<IntegerRange> StorageRange(model::TensorType type) {
  switch (type) {
    case model::TensorType::INT8: return IntegerRange{-128, 127};
    case model::TensorType::UINT8: return IntegerRange{0, 255};
    case model::TensorType::INT16: return IntegerRange{-32768, 32767};
    default: return std::nullopt;
  }
}

std::optional<IntegerRange> ActivationRange(tflite::ActivationFunctionType activation,
                                            const model::Tensor& output) {
  std::optional<IntegerRange> range = StorageRange(output.type);
  if (!range || !output.quantization.present()) return std::nullopt;
  const float scale = output.quantization.scale[0];
  const int64_t zero_point = output.quantization.zero_point[0];
  bool representable = true;
  auto quantised = [&](float value) -> int32_t {
    const float quotient = std::round(value / scale);
    if (!(std::fabs(quotient) < 2147483648.0f)) {
      representable = false;
      return 0;
    }
    return static_cast<int32_t>(std::clamp<int64_t>(static_cast<int64_t>(quotient) + zero_point,
                                                    std::numeric_limits<int32_t>::min(),
                                                    std::numeric_limits<int32_t>::max()));
  };
  switch (activation) {
    case tflite::ActivationFunctionType::NONE: break;
    case tflite::ActivationFunctionType::RELU:
      range->lowest = std::max(range->lowest, quantised(0.0f));
      break;
    case tflite::ActivationFunctionType::RELU6:
      range->lowest = std::max(range->lowest, quantised(0.0f));
      range->highest = std::min(range->highest, quantised(6.0f));
      break;
    case tflite::ActivationFunctionType::RELU_N1_TO_1:
      range->lowest = std::max(range->lowest, quantised(-1.0f));
      range->highest = std::min(range->highest, quantised(1.0f));
      break;
    default: return std::nullopt;
  }
  if (!representable) return std::nullopt;
  return range;
}

int32_t HighMul(int32_t a, int32_t b) {
  return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 30)) >> 31);
}

int32_t RoundShift(int32_t x, int exponent) {
  const int32_t mask = static_cast<int32_t>((uint32_t{1} << exponent) - 1u);
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}

std::optional<std::vector<int32_t>> SoftmaxExpTable(double beta, double scale) {
  const double highest = static_cast<double>((1LL << 31) - 1);
  const double real = std::min(beta * scale * static_cast<double>(1 << kArgumentFractionBits),
                               highest);
  if (!(real > 1.0)) return std::nullopt;
  const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(real);
  // real < 2^31, so that the shift is at most 31; at 31 TFLite multiplies by 2^31 in 32 bits, which only difference 0 survives.
  const int shift = fixed ? fixed->shift : 31;
  const double radius = static_cast<double>((1 << kArgumentIntegerBits) - 1) *
                        static_cast<double>(1LL << kArgumentFractionBits) /
                        static_cast<double>(1LL << shift);
  const int64_t largest = std::min<int64_t>(static_cast<int64_t>(std::floor(radius)), 255);
  std::vector<int32_t> table = {ExpOfNegative(0)};
  for (int64_t difference = 1; difference <= largest && fixed; ++difference) {
    const int32_t argument =
        HighMul(static_cast<int32_t>(-difference * (int64_t{1} << shift)), fixed->multiplier);
    table.push_back(ExpOfNegative(argument));
  }
  while (table.size() > 1 && table.back() == 0) table.pop_back();
  return table;
}

}  // namespace helx::engine
