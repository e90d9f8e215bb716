/* Integer arithmetic shared by the kernels: TFLite's requantisation with two roundings, as its reference kernels do it
 * (tensorflow/lite/kernels/internal/common.h, MultiplyByQuantizedMultiplier without TFLITE_SINGLE_ROUNDING).
 *
 * Kernels are compiled with -fwrapv: sums wrap modulo 2^32, as the reference does on two's complement machines.
 */
#ifndef HELX_ARITH_H_
#define HELX_ARITH_H_

#include <stdint.h>

/* round(a * b / 2^31), ties upwards; a and b are not both -2^31, the one product that would saturate. */
static inline int32_t helx_high_mul(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + ((int64_t)1 << 30)) >> 31);
}

/* round(x / 2^exponent), ties away from zero; 0 <= exponent <= 31. */
static inline int32_t helx_round_shift(int32_t x, int32_t exponent) {
  const int32_t mask = (int32_t)(((uint32_t)1 << exponent) - 1u);
  const int32_t threshold = (mask >> 1) + (x < 0);
  return (x >> exponent) + ((x & mask) > threshold);
}

/* x * multiplier / 2^31 * 2^shift, rounded twice; -31 <= shift <= 30. */
static inline int32_t helx_requantize(int32_t x, int32_t multiplier, int32_t shift) {
  if (shift > 0) return helx_high_mul((int32_t)((uint32_t)x << shift), multiplier);
  return helx_round_shift(helx_high_mul(x, multiplier), -shift);
}

static inline int32_t helx_clamp(int32_t x, int32_t lowest, int32_t highest) {
  return x < lowest ? lowest : (x > highest ? highest : x);
}

static inline int32_t helx_min(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t helx_max(int32_t a, int32_t b) { return a > b ? a : b; }

#endif /* HELX_ARITH_H_ */
