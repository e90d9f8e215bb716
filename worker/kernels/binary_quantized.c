#include "helx_arith.h"
#include "helx_walk.h"

/* An operand on the common scale. */
static inline int32_t rescaled(int32_t x, int32_t zero_point, int32_t left_shift,
                               int32_t multiplier, int32_t shift) {
  const int32_t left = (int32_t)1 << left_shift;
  return helx_round_shift(helx_high_mul((x - zero_point) * left, multiplier), -shift);
}

static inline int32_t first(const helx_sum_params* p, int32_t x) {
  return rescaled(x, p->a_zero_point, p->left_shift, p->a_multiplier, p->a_shift);
}

static inline int32_t second(const helx_sum_params* p, int32_t y) {
  return rescaled(y, p->b_zero_point, p->left_shift, p->b_multiplier, p->b_shift);
}

static inline int32_t finish(const helx_sum_params* p, int32_t sum) {
  const int32_t y =
      helx_round_shift(helx_high_mul(sum, p->output_multiplier), -p->output_shift);
  return helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

static inline int32_t finish_square(const helx_sum_params* p, int32_t difference) {
  const int32_t y =
      helx_requantize(difference * difference, p->output_multiplier, p->output_shift);
  return helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

#define SUM(NAME, TYPE, EXPRESSION) HELX_BINARY(NAME, helx_sum_params, TYPE, TYPE, TYPE, EXPRESSION)

SUM(helx_add_s8, int8_t, finish(p, first(p, x) + second(p, y)))
SUM(helx_add_u8, uint8_t, finish(p, first(p, x) + second(p, y)))
SUM(helx_add_s16, int16_t, finish(p, first(p, x) + second(p, y)))
SUM(helx_sub_s8, int8_t, finish(p, first(p, x) - second(p, y)))
SUM(helx_sub_u8, uint8_t, finish(p, first(p, x) - second(p, y)))
SUM(helx_sub_s16, int16_t, finish(p, first(p, x) - second(p, y)))
SUM(helx_squared_difference_s8, int8_t, finish_square(p, first(p, x) - second(p, y)))
SUM(helx_squared_difference_s16, int16_t, finish_square(p, first(p, x) - second(p, y)))

#define COMPARE(NAME, TYPE, RELATION) \
  HELX_BINARY(NAME, helx_sum_params, TYPE, TYPE, uint8_t, first(p, x) RELATION second(p, y))
#define COMPARISONS(SUFFIX, TYPE)                  \
  COMPARE(helx_equal_##SUFFIX, TYPE, ==)           \
  COMPARE(helx_not_equal_##SUFFIX, TYPE, !=)       \
  COMPARE(helx_greater_##SUFFIX, TYPE, >)          \
  COMPARE(helx_greater_equal_##SUFFIX, TYPE, >=)   \
  COMPARE(helx_less_##SUFFIX, TYPE, <)             \
  COMPARE(helx_less_equal_##SUFFIX, TYPE, <=)

COMPARISONS(s8, int8_t)
COMPARISONS(u8, uint8_t)

static inline int32_t product(const helx_mul_params* p, int32_t x, int32_t y) {
  const int32_t raw = (x - p->a_zero_point) * (y - p->b_zero_point);
  return helx_clamp(helx_requantize(raw, p->multiplier, p->shift) + p->output_zero_point,
                    p->lowest, p->highest);
}

HELX_BINARY(helx_mul_s8, helx_mul_params, int8_t, int8_t, int8_t, product(p, x, y))
HELX_BINARY(helx_mul_u8, helx_mul_params, uint8_t, uint8_t, uint8_t, product(p, x, y))
HELX_BINARY(helx_mul_s16, helx_mul_params, int16_t, int16_t, int16_t, product(p, x, y))

static inline int32_t prelu(const helx_prelu_params* p, int32_t x, int32_t alpha) {
  const int32_t value = x - p->a_zero_point;
  if (value >= 0) return helx_requantize(value, p->multiplier, p->shift) + p->output_zero_point;
  return helx_requantize(value * (alpha - p->b_zero_point), p->alpha_multiplier, p->alpha_shift) +
         p->output_zero_point;
}

HELX_BINARY(helx_prelu_s8, helx_prelu_params, int8_t, int8_t, int8_t,
            helx_clamp(prelu(p, x, y), -128, 127))
HELX_BINARY(helx_prelu_u8, helx_prelu_params, uint8_t, uint8_t, uint8_t,
            helx_clamp(prelu(p, x, y), 0, 255))
HELX_BINARY(helx_prelu_s16, helx_prelu_params, int16_t, int8_t, int16_t,
            helx_clamp(prelu(p, x, y), -32768, 32767))
