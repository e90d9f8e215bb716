// The compile-time half of TFLite's integer arithmetic: multipliers, activation ranges, exponential tables.
#ifndef HELX_WORKER_ENGINE_FIXED_POINT_H_
#define HELX_WORKER_ENGINE_FIXED_POINT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

// real = multiplier / 2^31 * 2^shift.
struct FixedMultiplier {
  int32_t multiplier = 0;  // 0, or in [2^30, 2^31)
  int32_t shift = 0;       // >= -31
};

// TFLite's QuantizeMultiplier (tensorflow/lite/kernels/internal/quantization_util.cc): a 31-bit mantissa rounded half away
// from zero; values below 2^-32 become 0. Empty when `real` is negative, not finite, or needs a left shift above 30.
std::optional<FixedMultiplier> QuantizeMultiplier(double real);

struct IntegerRange {
  int32_t lowest;
  int32_t highest;
};

// The range of an integer storage type of at most 16 bits; empty for others.
std::optional<IntegerRange> StorageRange(model::TensorType type);

// The storage range narrowed by a fused activation: 0, 6, -1 and 1 quantised as round(f / scale) + zero_point
// (CalculateActivationRangeQuantized in kernel_util.cc). Empty for activations that are not ranges (TANH, SIGN_BIT), for
// types without a storage range, and for quotients that leave 32 bits.
std::optional<IntegerRange> ActivationRange(tflite::ActivationFunctionType activation,
                                            const model::Tensor& output);

// round(a * b / 2^31) and round(x / 2^exponent), as the kernels compute them (worker/kernels/helx_arith.h).
int32_t HighMul(int32_t a, int32_t b);
int32_t RoundShift(int32_t x, int exponent);

// x * multiplier / 2^31 * 2^shift, rounded twice, as helx_requantize computes it.
int32_t Requantize(int32_t x, FixedMultiplier fixed);

// The logistic function and the hyperbolic tangent of an argument in Q4.27, in Q0.31 (gemmlowp's fixedpoint.h).
int32_t FixedLogistic(int32_t argument);
int32_t FixedTanh(int32_t argument);

// 1 / sqrt(x) for x > 0 as multiplier / 2^31 * 2^shift (GetInvSqrtQuantizedMultiplierExp in common.h).
FixedMultiplier InverseSquareRoot(int32_t x);

// The logistic function at i / 24 for i = 0 .. 255, in Q0.16: what int16 LOGISTIC and TANH interpolate in. TFLite's table is
// one higher than the rounded value at some places.
std::vector<uint16_t> LogisticTable();

// Beyond this many steps from the zero point an argument with `integer_bits` saturates (CalculateInputRadius).
int64_t InputRadius(int integer_bits, int left_shift);

// exp over [-10, 0] and 1 / (1 + x) over [0, 1] in Q0.15 at 513 places (LUTPopulateInt16): for int16 SOFTMAX.
std::vector<int16_t> ExpTable16();
std::vector<int16_t> ReciprocalTable16();

// What an int8 SOFTMAX needs of exp(-difference * beta * scale), as Q0.31, for difference = 0, 1, ...: gemmlowp's
// exp_on_negative_values on Q5.26, cut off where TFLite cuts it off (diff_min) or where it reaches 0. At most 256 entries.
// Empty when beta * scale * 2^26 <= 1 or is not finite: TFLite's arithmetic has no meaning there.
std::optional<std::vector<int32_t>> SoftmaxExpTable(double beta, double scale);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_FIXED_POINT_H_
