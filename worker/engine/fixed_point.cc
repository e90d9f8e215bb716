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

// exp(a) in Q0.31 for a <= 0 with that many integer bits, 5 or 4.
int32_t ExpOfNegative(int32_t a, int integer_bits = kArgumentIntegerBits) {
  if (a == 0) return std::numeric_limits<int32_t>::max();
  const int fraction_bits = 31 - integer_bits;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t fraction = (a & (quarter - 1)) - quarter;  // in [-1/4, 0)
  int32_t result = ExpOfLastQuarter(ShiftLeftSaturating(fraction, integer_bits));
  const int32_t remainder = WrapAdd(fraction, static_cast<int32_t>(0u - static_cast<uint32_t>(a)));
  // exp(-2^k) in Q0.31 for k = -2 .. 4.
  constexpr int32_t kPowers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int k = -2; k < integer_bits; ++k) {
    if (remainder & (1 << (fraction_bits + k))) result = HighMul(result, kPowers[k + 2]);
  }
  return result;
}

// 1 / (1 + a) in Q2.29 for a in [0, 1) in Q0.31, by three Newton-Raphson steps from 48/17 - 32/17 d.
int32_t HalfReciprocalOfOnePlus(int32_t a) {
  constexpr int32_t kOne = 1 << 29;
  const int32_t half = static_cast<int32_t>(
      (static_cast<int64_t>(a) + std::numeric_limits<int32_t>::max() + 1) / 2);
  int32_t x = WrapAdd(1515870810, HighMul(half, -1010580540));
  for (int step = 0; step < 3; ++step) {
    const int32_t error = kOne - HighMul(half, x);
    x = WrapAdd(x, ShiftLeftSaturating(HighMul(x, error), 2));
  }
  return x;
}

// TFLite's tables of 513 samples, each shifted by half the error of interpolation in the middle of its step.
std::vector<int16_t> Table16(float lowest, float highest, float (*function)(float)) {
  constexpr int kSteps = 512;
  const float step = (highest - lowest) / kSteps;
  const float half_step = step / 2;
  // The output's scale is 2 / 65535.
  const float output_lowest = 2.0f / 65535 * -32768;
  const float output_highest = 2.0f / 65535 * 32767;
  const float scale = 65536.0f / (output_highest - output_lowest);
  std::vector<int16_t> table;
  for (int i = 0; i < kSteps; ++i) {
    const float value = function(lowest + static_cast<float>(i) * step);
    const float middle = function(lowest + static_cast<float>(i) * step + half_step);
    const float next = function(lowest + static_cast<float>(i + 1) * step);
    const float sample = std::round(value * scale);
    const float interpolated = std::round((next * scale + std::round(value * scale)) / 2);
    const float bias = std::round((interpolated - std::round(middle * scale)) / 2);
    table.push_back(
        static_cast<int16_t>(std::min(std::max(sample - bias, -32768.0f), 32767.0f)));
  }
  const float last = std::round(function(highest) * scale);
  table.push_back(static_cast<int16_t>(std::min(std::max(last, -32768.0f), 32767.0f)));
  return table;
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

int32_t Requantize(int32_t x, FixedMultiplier fixed) {
  if (fixed.shift > 0) {
    return HighMul(static_cast<int32_t>(static_cast<uint32_t>(x) << fixed.shift), fixed.multiplier);
  }
  return RoundShift(HighMul(x, fixed.multiplier), -fixed.shift);
}

int32_t FixedLogistic(int32_t argument) {
  constexpr int32_t kOne = std::numeric_limits<int32_t>::max();
  if (argument == 0) return 1 << 30;
  const int32_t negative = argument > 0 ? -argument : argument;
  const int32_t positive =
      ShiftLeftSaturating(HalfReciprocalOfOnePlus(ExpOfNegative(negative, 4)), 1);
  return argument > 0 ? positive : kOne - positive;
}

int32_t FixedTanh(int32_t argument) {
  if (argument == 0) return 0;
  const int32_t negative = argument > 0 ? -argument : argument;
  // tanh(-x) = -(1 - e) / (1 + e) with e = exp(-2x); reading Q4.27 as Q5.26 doubles the argument.
  const int32_t x = HalfReciprocalOfOnePlus(ExpOfNegative(negative, 5));
  const int32_t magnitude = ShiftLeftSaturating(x - (1 << 29), 2);
  return argument > 0 ? magnitude : -magnitude;
}

FixedMultiplier InverseSquareRoot(int32_t x) {
  if (x <= 1) return {std::numeric_limits<int32_t>::max(), 0};
  int shift = 11;
  while (x >= (1 << 29)) {
    x /= 4;
    ++shift;
  }
  int free_bits = 0;  // leading zeros less the sign's
  while (free_bits < 30 && (int64_t{x} << (free_bits + 1)) < (int64_t{1} << 31)) ++free_bits;
  const int pairs = free_bits / 2 - 1;
  shift -= pairs;
  x <<= 2 * pairs;
  // Newton-Raphson in Q3.28 from 1.
  const int32_t half_input = RoundShift(x >> 1, 1);
  constexpr int32_t kThreeHalves = (1 << 28) + (1 << 27);
  int32_t y = 1 << 28;
  for (int step = 0; step < 5; ++step) {
    const int32_t cube = ShiftLeftSaturating(HighMul(HighMul(y, y), y), 6);
    y = ShiftLeftSaturating(HighMul(kThreeHalves, y) - HighMul(half_input, cube), 3);
  }
  y = HighMul(y, 1518500250);  // sqrt(2) / 2
  if (shift < 0) {
    y <<= -shift;
    shift = 0;
  }
  return {y, -shift};
}

std::vector<uint16_t> LogisticTable() {
  constexpr uint8_t kOneHigher[] = {4,  8,  12, 14, 15, 16, 17, 19, 20, 21, 22,  25,  27,  28, 29,
                                    30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44,  45,  46,  49, 50,
                                    54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255};
  std::vector<uint16_t> table;
  for (int i = 0; i < 256; ++i) {
    const double value = std::round(65536.0 / (1.0 + std::exp(-i / 24.0)));
    table.push_back(static_cast<uint16_t>(std::min(value, 65535.0)));
  }
  for (uint8_t i : kOneHigher) ++table[i];
  return table;
}

int64_t InputRadius(int integer_bits, int left_shift) {
  const double radius = static_cast<double>((1 << integer_bits) - 1) *
                        static_cast<double>(1LL << (31 - integer_bits)) /
                        static_cast<double>(1LL << left_shift);
  return static_cast<int64_t>(std::floor(radius));
}

std::vector<int16_t> ExpTable16() {
  // The input's scale is 10 / 65535 and its zero point 32767.
  return Table16(10.0f / 65535 * (-32768 - 32767), 10.0f / 65535 * (32767 - 32767),
                 [](float x) { return std::exp(x); });
}

std::vector<int16_t> ReciprocalTable16() {
  return Table16(1.0f / 65535 * (-32768 + 32768), 1.0f / 65535 * (32767 + 32768),
                 [](float x) { return 1.0f / (1.0f + x); });
}

std::optional<std::vector<int32_t>> SoftmaxExpTable(double beta, double scale) {
  const double highest = static_cast<double>((1LL << 31) - 1);
  const double real = std::min(beta * scale * static_cast<double>(1 << kArgumentFractionBits),
                               highest);
  if (!(real > 1.0)) return std::nullopt;
  const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(real);
  // real < 2^31, so that the shift is at most 31; at 31 TFLite multiplies by 2^31 in 32 bits, which only difference 0 survives.
  const int shift = fixed ? fixed->shift : 31;
  const int64_t largest = std::min<int64_t>(InputRadius(kArgumentIntegerBits, shift), 255);
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
