#include <math.h>

#include "helx_walk.h"

/* NaN passes the upper bound and meets the lower one, as std::min(std::max(x, lowest), highest) lets it. */
static inline float clamp(const helx_binary_f32_params* p, float x) {
  x = x < p->lowest ? p->lowest : x;
  return p->highest < x ? p->highest : x;
}

static inline float floor_mod(float x, float y) {
  const float rest = fmodf(x, y);
  return rest != 0.0f && (y < 0.0f) != (rest < 0.0f) ? rest + y : rest;
}

#define F32(NAME, EXPRESSION) \
  HELX_BINARY(NAME, helx_binary_f32_params, float, float, float, EXPRESSION)

F32(helx_add_f32, clamp(p, x + y))
F32(helx_sub_f32, clamp(p, x - y))
F32(helx_mul_f32, clamp(p, x * y))
F32(helx_div_f32, clamp(p, x / y))
F32(helx_maximum_f32, x > y ? x : y)
F32(helx_minimum_f32, x < y ? x : y)
F32(helx_squared_difference_f32, (x - y) * (x - y))
F32(helx_floor_div_f32, floorf(x / y))
F32(helx_floor_mod_f32, floor_mod(x, y))
F32(helx_pow_f32, powf(x, y))
F32(helx_atan2_f32, atan2f(x, y))
F32(helx_prelu_f32, x >= 0.0f ? x : x * y)

#define COMPARE_F32(NAME, EXPRESSION) \
  HELX_BINARY(NAME, helx_binary_f32_params, float, float, uint8_t, EXPRESSION)

COMPARE_F32(helx_equal_f32, x == y)
COMPARE_F32(helx_not_equal_f32, x != y)
COMPARE_F32(helx_greater_f32, x > y)
COMPARE_F32(helx_greater_equal_f32, x >= y)
COMPARE_F32(helx_less_f32, x < y)
COMPARE_F32(helx_less_equal_f32, x <= y)
