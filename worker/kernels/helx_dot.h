/* Dot products of int8 runs. `offset` is added to every x; it is a literal at each call, so that 0 costs nothing. */
#ifndef HELX_DOT_H_
#define HELX_DOT_H_

#include <stdint.h>

static inline int32_t helx_dot_s8(const int8_t* x, const int8_t* w, int32_t n, int32_t offset) {
  int32_t acc = 0;
  for (int32_t k = 0; k < n; ++k) acc += w[k] * (x[k] + offset);
  return acc;
}

/* Four filters, `stride` bytes apart, over the same run; adds to acc[0..3]. */
static inline void helx_dot4_s8(const int8_t* x, const int8_t* w, int32_t stride, int32_t n,
                                int32_t offset, int32_t* acc) {
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
}

#endif /* HELX_DOT_H_ */
