#include "helx_add_equal_s8.h"

#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_FEATURE_MVE)
#include "dsp_widen.h"

/* The high word of a product, rounded: helx_high_mul() of half of `doubled`. */
static inline int32_t high_mul(int32_t doubled, int32_t multiplier) {
  int32_t y;
  __asm__("smmulr %0, %1, %2" : "=r"(y) : "r"(doubled), "r"(multiplier));
  return y;
}

/* Rounds negative halves away from zero where `b_shifted` and `away` say so; literals at each call, so that the loop's constants
 * fit the registers. */
static inline __attribute__((always_inline)) void add_all(const helx_add_equal_s8_params* p,
                                                          const int8_t* a, const int8_t* b,
                                                          int8_t* output, int b_shifted,
                                                          int away) {
  const int32_t b_n = -p->b_shift;
  const int32_t n = -p->output_shift;
  const int32_t b_offset = -p->b_zero_point * (1 << 21);
  const int32_t b_multiplier = p->b_multiplier;
  const int32_t b_round = (int32_t)(1u << b_n >> 1);
  const int32_t sum_offset = -p->a_zero_point * (1 << 20); /* of twice the sum */
  const int32_t multiplier = p->output_multiplier;
  const int32_t round = (int32_t)(1u << n >> 1) + p->output_zero_point * (1 << n);
  const int8_t* end = a + p->count;
  while (a != end) {
    int32_t y = high_mul((int32_t)((uint32_t)*b++ << 21) + b_offset, b_multiplier);
    if (b_shifted) y = (y + (y >> 31) + b_round) >> b_n;
    y = high_mul(2 * y + (int32_t)((uint32_t)*a++ << 20) + sum_offset, multiplier);
    if (away) y += y >> 31;
    *output++ = (int8_t)__ssat((y + round) >> n, 8);
  }
}

void helx_dsp_add_s8(const helx_add_equal_s8_params* p, const int8_t* a, const int8_t* b,
                     int8_t* output) {
  /* What is below the zero point will be clamped to it: how it is rounded does not matter. */
  const int away = p->lowest < p->output_zero_point && p->output_shift < 0;
  if (p->b_shift < 0) {
    if (away) {
      add_all(p, a, b, output, 1, 1);
    } else {
      add_all(p, a, b, output, 1, 0);
    }
  } else {
    if (away) {
      add_all(p, a, b, output, 0, 1);
    } else {
      add_all(p, a, b, output, 0, 0);
    }
  }
  if (p->lowest != -128 || p->highest != 127) {
    helx_dsp_clamp(output, p->count, p->lowest, p->highest);
  }
}

#endif
