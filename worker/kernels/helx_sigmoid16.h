/* The logistic function and the hyperbolic tangent of int16 by interpolation in a table of the logistic function. */
#ifndef HELX_SIGMOID16_H_
#define HELX_SIGMOID16_H_

#include <stdint.h>

/* The logistic function of |x| in Q0.(16 + bits); `bits` of the argument lie within a step. */
static inline uint32_t helx_interpolated(const uint16_t* table, uint32_t x, int32_t bits,
                                         uint32_t saturated) {
  const uint32_t step = x >> bits;
  if (step >= 255) return saturated;
  const uint32_t low = table[step];
  return (low << bits) + (x & ((1u << bits) - 1)) * (table[step + 1] - low);
}

static inline int32_t helx_sigmoid_argument(int32_t x, int32_t multiplier, int32_t shift) {
  const int32_t round = shift > 0 ? 1 << (shift - 1) : 0;
  return (x * multiplier + round) >> shift;
}

/* In Q0.15; the argument is x * multiplier / 2^shift in 3 * 4096ths. */
static inline int32_t helx_logistic16(const uint16_t* table, int32_t x, int32_t multiplier,
                                      int32_t shift) {
  const int32_t at = helx_sigmoid_argument(x, multiplier, shift);
  uint32_t y = helx_interpolated(table, (uint32_t)(at < 0 ? -at : at), 9, 0x7fffu << 10);
  y = at >= 0 ? y + (1 << 9) : (1u << 25) - y + (1 << 9) - 1;
  return (int16_t)(y >> 10);
}

static inline int32_t helx_tanh16(const uint16_t* table, int32_t x, int32_t multiplier,
                                  int32_t shift) {
  const int32_t at = helx_sigmoid_argument(x, multiplier, shift);
  int32_t y = (int32_t)helx_interpolated(table, (uint32_t)(at < 0 ? -at : at), 8, 0xffffu << 8);
  y = at >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
  return (int16_t)(y >> 8);
}

#endif /* HELX_SIGMOID16_H_ */
