/* 16-bit fixed point: the logistic function, the hyperbolic tangent and the inverse square root as gemmlowp's fixedpoint.h and
 * TFLite's common.h compute them. Values have the sign, `bits` integer bits and 15 - bits fraction bits. */
#ifndef HELX_FIXED16_H_
#define HELX_FIXED16_H_

#include "helx_arith.h"

static inline int32_t helx_saturate16(int32_t x) { return helx_clamp(x, -32768, 32767); }

/* round(a * b / 2^15), saturated. */
static inline int32_t helx_mul16(int32_t a, int32_t b) {
  return helx_saturate16((a * b + (1 << 14)) >> 15);
}

/* x * 2^bits, saturated. */
static inline int32_t helx_up16(int32_t x, int32_t bits) { return helx_saturate16(x * (1 << bits)); }

/* exp(a) for a in [-1/4, 0), in Q0.15. */
static inline int32_t helx_exp_quarter16(int32_t a) {
  const int32_t x = (int16_t)(a + (1 << 12));
  const int32_t x2 = helx_mul16(x, x);
  const int32_t x3 = helx_mul16(x2, x);
  const int32_t x4 = helx_mul16(x2, x2);
  const int32_t third = helx_mul16((int16_t)(helx_round_shift(x4, 2) + x3), 10923);
  const int32_t higher = helx_round_shift((int16_t)(third + x2), 1);
  return helx_saturate16(28918 + helx_mul16(28918, (int16_t)(x + higher)));
}

/* exp(a) for a <= 0, in Q0.15. */
static inline int32_t helx_exp16(int32_t a, int32_t bits) {
  static const int16_t powers[] = {25520, 19875, 12055, 4435, 600, 11, 0}; /* exp(-2^k), k = -2.. */
  const int32_t fraction_bits = 15 - bits;
  const int32_t quarter = 1 << (fraction_bits - 2);
  const int32_t fraction = (a & (quarter - 1)) - quarter;
  const int32_t rest = fraction - a;
  int32_t result = helx_exp_quarter16(helx_up16(fraction, bits));
  if (a == 0) return 32767;
  for (int32_t k = -2; k < bits && k <= 4; ++k) {
    if (rest & (1 << (fraction_bits + k))) result = helx_mul16(result, powers[k + 2]);
  }
  if (bits > 5 && a < -(1 << (fraction_bits + 5))) return 0;
  return result;
}

/* 1 / (1 + a) in Q2.13 for a in [0, 1) in Q0.15. */
static inline int32_t helx_half_reciprocal16(int32_t a) {
  const int32_t half = (a + 32767 + 1) / 2;
  int32_t x = (int16_t)(23130 + helx_mul16(half, -15420));
  for (int32_t step = 0; step < 3; ++step) {
    const int32_t error = (int16_t)((1 << 13) - helx_mul16(half, x));
    x = (int16_t)(x + helx_up16(helx_mul16(x, error), 2));
  }
  return x;
}

static inline int32_t helx_fixed_logistic16(int32_t x, int32_t bits) {
  if (x == 0) return 1 << 14;
  const int32_t negative = x > 0 ? -x : x;
  const int32_t y = helx_up16(helx_half_reciprocal16(helx_exp16(negative, bits)), 1);
  return x > 0 ? y : 32767 - y;
}

static inline int32_t helx_fixed_tanh16(int32_t x, int32_t bits) {
  if (x == 0) return 0;
  const int32_t negative = x > 0 ? -x : x;
  /* Reading the argument with one integer bit more doubles it. */
  const int32_t y = helx_up16(helx_half_reciprocal16(helx_exp16(negative, bits + 1)) - (1 << 13), 2);
  return x > 0 ? y : -y;
}

/* x * 2^bits in 32 bits, saturated. */
static inline int32_t helx_up32(int32_t x, int32_t bits) {
  const int64_t wide = (int64_t)x * ((int64_t)1 << bits);
  if (wide > 0x7fffffff) return 0x7fffffff;
  return wide < -0x7fffffff - 1 ? -0x7fffffff - 1 : (int32_t)wide;
}

/* 1 / sqrt(x) as multiplier / 2^31 * 2^shift, for x > 0. */
static inline void helx_inverse_sqrt(int32_t x, int32_t* multiplier, int32_t* shift) {
  int32_t right = 11, free_bits = 0;
  if (x <= 1) {
    *multiplier = 0x7fffffff;
    *shift = 0;
    return;
  }
  for (; x >= (1 << 29); x /= 4) ++right;
  while (free_bits < 30 && ((int64_t)x << (free_bits + 1)) < ((int64_t)1 << 31)) ++free_bits;
  const int32_t pairs = free_bits / 2 - 1;
  right -= pairs;
  x <<= 2 * pairs;
  const int32_t half = helx_round_shift(x >> 1, 1);
  int32_t y = 1 << 28; /* Q3.28 */
  for (int32_t step = 0; step < 5; ++step) {
    const int32_t cube = helx_up32(helx_high_mul(helx_high_mul(y, y), y), 6);
    y = helx_up32(helx_high_mul((1 << 28) + (1 << 27), y) - helx_high_mul(half, cube), 3);
  }
  y = helx_high_mul(y, 1518500250);
  if (right < 0) {
    y <<= -right;
    right = 0;
  }
  *multiplier = y;
  *shift = -right;
}

#endif /* HELX_FIXED16_H_ */
