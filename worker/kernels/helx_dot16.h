/* Dot products of int16 activations by int8 weights, and of int16 by int16, by the core's instructions. Nothing outside the runs
 * is read. */
#ifndef HELX_DOT16_H_
#define HELX_DOT16_H_

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

static inline int64_t helx_dot_s16(const int16_t* x, const int8_t* w, int32_t n) {
  int64_t acc = 0;
  for (; n >= 8; n -= 8, x += 8, w += 8) {
    acc = vmlaldavaq_s16(acc, vld1q_s16(x), vldrbq_s16(w));
  }
  if (n > 0) {
    const mve_pred16_t some = vctp16q((uint32_t)n);
    acc = vmlaldavaq_s16(acc, vldrhq_z_s16(x, some), vldrbq_z_s16(w, some));
  }
  return acc;
}

/* Two filters, `stride` bytes apart; adds to acc[0..1]. */
static inline void helx_dot2_s16(const int16_t* x, const int8_t* w, int32_t stride, int32_t n,
                                 int64_t* acc) {
  const int8_t* v = w + stride;
  int64_t a0 = acc[0], a1 = acc[1];
  for (; n >= 8; n -= 8, x += 8, w += 8, v += 8) {
    const int16x8_t u = vld1q_s16(x);
    a0 = vmlaldavaq_s16(a0, u, vldrbq_s16(w));
    a1 = vmlaldavaq_s16(a1, u, vldrbq_s16(v));
  }
  if (n > 0) {
    const mve_pred16_t some = vctp16q((uint32_t)n);
    const int16x8_t u = vldrhq_z_s16(x, some);
    a0 = vmlaldavaq_s16(a0, u, vldrbq_z_s16(w, some));
    a1 = vmlaldavaq_s16(a1, u, vldrbq_z_s16(v, some));
  }
  acc[0] = a0;
  acc[1] = a1;
}

static inline int64_t helx_dot_s16_s16(const int16_t* x, const int16_t* w, int32_t n) {
  int64_t acc = 0;
  for (; n >= 8; n -= 8, x += 8, w += 8) acc = vmlaldavaq_s16(acc, vld1q_s16(x), vld1q_s16(w));
  if (n > 0) {
    const mve_pred16_t some = vctp16q((uint32_t)n);
    acc = vmlaldavaq_s16(acc, vldrhq_z_s16(x, some), vldrhq_z_s16(w, some));
  }
  return acc;
}

#elif defined(__ARM_FEATURE_DSP)
#include "dsp_widen.h"

static inline int64_t helx_dot_s16(const int16_t* x, const int8_t* w, int32_t n) {
  int64_t acc = 0;
  for (; n >= 4; n -= 4, x += 4, w += 4) {
    uint32_t low, high, v;
    __builtin_memcpy(&low, x, 4);
    __builtin_memcpy(&high, x + 2, 4);
    __builtin_memcpy(&v, w, 4);
    const uint32_t even = (uint32_t)__sxtb16((int8x4_t)v), odd = (uint32_t)helx_dsp_odd(v);
    acc = __smlald((int16x2_t)low, (int16x2_t)((even & 0xffffu) | odd << 16), acc);
    acc = __smlald((int16x2_t)high, (int16x2_t)(even >> 16 | (odd & 0xffff0000u)), acc);
  }
  for (; n > 0; --n) acc += *w++ * *x++;
  return acc;
}

/* Two filters, `stride` bytes apart, of which every four whole weights are stored in the order 0, 2, 1, 3: widening them by
 * twos then gives neighbours. Adds to acc[0..1]. */
static inline void helx_dsp_dot2_packed_s16(const int16_t* x, const int8_t* w, int32_t stride,
                                            int32_t n, int64_t* acc) {
  while (n >= 4) {
    /* 508 products of at most 2^22 fit 32 bits. */
    const int32_t count = n < 508 ? n & ~3 : 508;
    const int16_t* end = x + count;
    int32_t a0 = 0, a1 = 0;
#pragma GCC unroll 2
    for (; x != end; x += 4, w += 4) {
      uint32_t low, high, first, second;
      __builtin_memcpy(&low, x, 4);
      __builtin_memcpy(&high, x + 2, 4);
      __builtin_memcpy(&first, w, 4);
      __builtin_memcpy(&second, w + stride, 4);
      a0 = __smlad((int16x2_t)low, __sxtb16((int8x4_t)first), a0);
      a0 = __smlad((int16x2_t)high, helx_dsp_odd(first), a0);
      a1 = __smlad((int16x2_t)low, __sxtb16((int8x4_t)second), a1);
      a1 = __smlad((int16x2_t)high, helx_dsp_odd(second), a1);
    }
    acc[0] += a0;
    acc[1] += a1;
    n -= count;
  }
  for (; n > 0; --n, ++x, ++w) {
    acc[0] += *x * w[0];
    acc[1] += *x * w[stride];
  }
}

static inline int64_t helx_dot_s16_s16(const int16_t* x, const int16_t* w, int32_t n) {
  int64_t acc = 0;
  for (; n >= 2; n -= 2, x += 2, w += 2) {
    uint32_t u, v;
    __builtin_memcpy(&u, x, 4);
    __builtin_memcpy(&v, w, 4);
    acc = __smlald((int16x2_t)u, (int16x2_t)v, acc);
  }
  if (n > 0) acc += *w * *x;
  return acc;
}

#else

static inline int64_t helx_dot_s16(const int16_t* x, const int8_t* w, int32_t n) {
  int64_t acc = 0;
  for (int32_t k = 0; k < n; ++k) acc += w[k] * x[k];
  return acc;
}

static inline int64_t helx_dot_s16_s16(const int16_t* x, const int16_t* w, int32_t n) {
  int64_t acc = 0;
  for (int32_t k = 0; k < n; ++k) acc += w[k] * x[k];
  return acc;
}

#endif

#if !defined(__ARM_FEATURE_MVE)
/* Two filters, `stride` bytes apart; adds to acc[0..1]. */
static inline void helx_dot2_s16(const int16_t* x, const int8_t* w, int32_t stride, int32_t n,
                                 int64_t* acc) {
  acc[0] += helx_dot_s16(x, w, n);
  acc[1] += helx_dot_s16(x, w + stride, n);
}
#endif

#endif /* HELX_DOT16_H_ */
