#include "helx_arith.h"
#include "helx_kernels.h"

/* x * 2^bits, saturated. */
static inline int32_t shift_left_saturating(int32_t x, int32_t bits) {
  const int32_t highest = (int32_t)(0x7fffffffu >> bits);
  if (x > highest) return 0x7fffffff;
  if (x < -highest - 1) return -0x7fffffff - 1;
  return (int32_t)((uint32_t)x << bits);
}

static inline int32_t leading_zeros(uint32_t x) {
#if defined(__GNUC__)
  return __builtin_clz(x);
#else
  int32_t n = 0;
  for (; !(x & 0x80000000u); x <<= 1) ++n;
  return n;
#endif
}

/* 1 / (1 + a) in Q0.31 for a in [0, 1) in Q0.31: three Newton-Raphson steps from 48/17 - 32/17 d, as gemmlowp's fixedpoint.h
 * does it (one_over_one_plus_x_for_x_in_0_1). The steps are in Q2.29. */
static int32_t reciprocal_of_one_plus(int32_t a) {
  const int32_t one = 1 << 29;
  const int32_t half_denominator = (int32_t)(((int64_t)a + 0x7fffffff + 1) / 2);
  int32_t x = 1515870810 + helx_high_mul(half_denominator, -1010580540);
  for (int step = 0; step < 3; ++step) {
    const int32_t error = one - helx_high_mul(half_denominator, x);
    x += shift_left_saturating(helx_high_mul(x, error), 2);
  }
  return shift_left_saturating(x, 1);
}

/* Defines NAME with outputs of BITS bits from LOWEST on; `exponent` past 31 rounds every quotient to 0. */
#define HELX_SOFTMAX(NAME, OUT, BITS, LOWEST, HIGHEST)                                        \
  void NAME(const helx_softmax_s8_params* p, const int8_t* input, OUT* output) {              \
    for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {            \
      int32_t highest = -128;                                                                 \
      for (int32_t c = 0; c < p->depth; ++c) highest = helx_max(highest, input[c]);           \
      int32_t headroom;                                                                       \
      const int32_t scale = reciprocal_of_sum(p, input, highest, &headroom);                  \
      const int32_t exponent = 12 - headroom + 31 - BITS;                                     \
      for (int32_t c = 0; c < p->depth; ++c) {                                                \
        const int32_t difference = highest - input[c];                                        \
        int32_t y = LOWEST;                                                                   \
        if (difference < p->table_size && exponent <= 31) {                                   \
          y += helx_round_shift(helx_high_mul(scale, p->exp_table[difference]), exponent);    \
        }                                                                                     \
        output[c] = (OUT)helx_clamp(y, LOWEST, HIGHEST);                                      \
      }                                                                                       \
    }                                                                                         \
  }

/* 1 / sum(exp), and by how many bits the sum in Q12.19 was shifted up to its highest one. */
static inline int32_t reciprocal_of_sum(const helx_softmax_s8_params* p, const int8_t* input,
                                        int32_t highest, int32_t* headroom) {
  int32_t sum = 0;
  for (int32_t c = 0; c < p->depth; ++c) {
    const int32_t difference = highest - input[c];
    if (difference < p->table_size) sum += helx_round_shift(p->exp_table[difference], 12);
  }
  *headroom = leading_zeros((uint32_t)sum);
  return reciprocal_of_one_plus((int32_t)(((uint32_t)sum << *headroom << 1) >> 1));
}

HELX_SOFTMAX(helx_softmax_s8, int8_t, 8, -128, 127)
HELX_SOFTMAX(helx_softmax_s8_s16, int16_t, 16, -32768, 32767)
