/* Dot products of int8 runs, by the core's instructions. `offset` is added to every x; it is a literal at each call, so that 0
 * costs nothing. Nothing outside the runs is read. */
#ifndef HELX_DOT_H_
#define HELX_DOT_H_

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

static inline int32_t helx_dot_s8(const int8_t* x, const int8_t* w, int32_t n, int32_t offset) {
  int32_t acc = 0, sum = 0;
  for (; n >= 16; n -= 16, x += 16, w += 16) {
    const int8x16_t v = vld1q_s8(w);
    acc = vmladavaq_s8(acc, vld1q_s8(x), v);
    if (offset != 0) sum = vaddvaq_s8(sum, v);
  }
  if (n > 0) {
    const mve_pred16_t some = vctp8q((uint32_t)n);
    const int8x16_t v = vld1q_z_s8(w, some);
    acc = vmladavaq_s8(acc, vld1q_z_s8(x, some), v);
    if (offset != 0) sum = vaddvaq_s8(sum, v);
  }
  return acc + offset * sum;
}

#elif defined(__ARM_FEATURE_DSP)
#include "dsp_widen.h"

static inline int32_t helx_dot_s8(const int8_t* x, const int8_t* w, int32_t n, int32_t offset) {
  const int16x2_t ones = 0x00010001;
  int32_t acc = 0, sum = 0;
  for (; n >= 4; n -= 4, x += 4, w += 4) {
    uint32_t u, v;
    __builtin_memcpy(&u, x, 4);
    __builtin_memcpy(&v, w, 4);
    const int16x2_t even = __sxtb16((int8x4_t)v), odd = helx_dsp_odd(v);
    acc = __smlad(__sxtb16((int8x4_t)u), even, acc);
    acc = __smlad(helx_dsp_odd(u), odd, acc);
    if (offset != 0) sum = __smlad(odd, ones, __smlad(even, ones, sum));
  }
  for (; n > 0; --n, ++x, ++w) {
    acc += *w * *x;
    sum += *w;
  }
  return acc + offset * sum;
}

#else

static inline int32_t helx_dot_s8(const int8_t* x, const int8_t* w, int32_t n, int32_t offset) {
  int32_t acc = 0;
  for (int32_t k = 0; k < n; ++k) acc += w[k] * (x[k] + offset);
  return acc;
}

#endif

/* Four filters, `stride` bytes apart, over the same run; adds to acc[0..3]. */
static inline void helx_dot4_s8(const int8_t* x, const int8_t* w, int32_t stride, int32_t n,
                                int32_t offset, int32_t* acc) {
#if defined(__ARM_FEATURE_MVE)
  if (offset != 0) {
    for (int32_t i = 0; i < 4; ++i) acc[i] += helx_dot_s8(x, w + i * stride, n, offset);
    return;
  }
  const int8_t* w1 = w + stride;
  const int8_t* w2 = w1 + stride;
  const int8_t* w3 = w2 + stride;
  int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
  for (; n >= 16; n -= 16, x += 16, w += 16, w1 += 16, w2 += 16, w3 += 16) {
    const int8x16_t v = vld1q_s8(x);
    a0 = vmladavaq_s8(a0, v, vld1q_s8(w));
    a1 = vmladavaq_s8(a1, v, vld1q_s8(w1));
    a2 = vmladavaq_s8(a2, v, vld1q_s8(w2));
    a3 = vmladavaq_s8(a3, v, vld1q_s8(w3));
  }
  if (n > 0) {
    const mve_pred16_t some = vctp8q((uint32_t)n);
    const int8x16_t v = vld1q_z_s8(x, some);
    a0 = vmladavaq_s8(a0, v, vld1q_z_s8(w, some));
    a1 = vmladavaq_s8(a1, v, vld1q_z_s8(w1, some));
    a2 = vmladavaq_s8(a2, v, vld1q_z_s8(w2, some));
    a3 = vmladavaq_s8(a3, v, vld1q_z_s8(w3, some));
  }
  acc[0] = a0;
  acc[1] = a1;
  acc[2] = a2;
  acc[3] = a3;
#elif defined(__ARM_FEATURE_DSP)
  if (offset != 0) {
    for (int32_t i = 0; i < 4; ++i) acc[i] += helx_dot_s8(x, w + i * stride, n, offset);
    return;
  }
  for (int32_t i = 0; i < 4; i += 2, w += 2 * stride) {
    const int8_t* v = w;
    const int8_t* u = x;
    const int8_t* end = x + (n & ~3);
    int32_t a0 = acc[i], a1 = acc[i + 1];
#pragma GCC unroll 2
    for (; u != end; u += 4, v += 4) {
      uint32_t four, first, second;
      __builtin_memcpy(&four, u, 4);
      __builtin_memcpy(&first, v, 4);
      __builtin_memcpy(&second, v + stride, 4);
      const int16x2_t even = __sxtb16((int8x4_t)four), odd = helx_dsp_odd(four);
      a0 = __smlad(even, __sxtb16((int8x4_t)first), a0);
      a0 = __smlad(odd, helx_dsp_odd(first), a0);
      a1 = __smlad(even, __sxtb16((int8x4_t)second), a1);
      a1 = __smlad(odd, helx_dsp_odd(second), a1);
    }
    for (int32_t left = n & 3; left > 0; --left, ++u, ++v) {
      a0 += *u * v[0];
      a1 += *u * v[stride];
    }
    acc[i] = a0;
    acc[i + 1] = a1;
  }
#else
  const int8_t* w1 = w + stride;
  const int8_t* w2 = w1 + stride;
  const int8_t* w3 = w2 + stride;
  int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
  for (int32_t k = 0; k < n; ++k) {
    const int32_t v = x[k] + offset;
    a0 += w[k] * v;
    a1 += w1[k] * v;
    a2 += w2[k] * v;
    a3 += w3[k] * v;
  }
  acc[0] = a0;
  acc[1] = a1;
  acc[2] = a2;
  acc[3] = a3;
#endif
}

#endif /* HELX_DOT_H_ */
