#include "helx_arith.h"
#include "helx_sigmoid16.h"
#include "helx_walk.h"

HELX_UNARY(helx_abs_i16, helx_count_params, int16_t, int16_t, x < 0 ? -x : x)
HELX_UNARY(helx_abs_i32, helx_count_params, int32_t, int32_t, x < 0 ? (int32_t)(0u - (uint32_t)x) : x)
HELX_UNARY(helx_neg_i32, helx_count_params, int32_t, int32_t, 0u - (uint32_t)x)
HELX_UNARY(helx_neg_i64, helx_count_params, int64_t, int64_t, (uint64_t)0 - (uint64_t)x)
HELX_UNARY(helx_sign_i32, helx_count_params, int32_t, int32_t, (x > 0) - (x < 0))
HELX_UNARY(helx_logical_not, helx_count_params, uint8_t, uint8_t, x == 0)

void helx_lookup_8(const helx_lookup_8_params* p, const void* input, void* output) {
  const uint8_t* from = (const uint8_t*)input;
  uint8_t* to = (uint8_t*)output;
  for (int32_t i = 0; i < p->count; ++i) to[i] = p->table[from[i]];
}

static inline int32_t slopes(const helx_slopes_params* p, int32_t x) {
  const int32_t value = x - p->input_zero_point;
  int32_t y;
  if (value >= 0) {
    y = helx_requantize(value, p->multiplier, p->shift);
  } else {
    y = p->negative_sign * helx_requantize(value, p->negative_multiplier, p->negative_shift);
  }
  return helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

HELX_UNARY(helx_slopes_s16, helx_slopes_params, int16_t, int16_t, slopes(p, x))

static inline int32_t magnitude(const helx_slopes_params* p, int32_t x) {
  const int32_t value = x - p->input_zero_point;
  const int32_t y = helx_requantize(value < 0 ? -value : value, p->multiplier, p->shift);
  return helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

HELX_UNARY(helx_abs_s16, helx_slopes_params, int16_t, int16_t, magnitude(p, x))

static inline int32_t requantize(const helx_slopes_params* p, int32_t x) {
  const int32_t y = helx_requantize(x - p->input_zero_point, p->multiplier, p->shift);
  return helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

#define REQUANTIZE(NAME, IN, OUT) HELX_UNARY(NAME, helx_slopes_params, IN, OUT, requantize(p, x))

REQUANTIZE(helx_requantize_s8_s16, int8_t, int16_t)
REQUANTIZE(helx_requantize_s8_s32, int8_t, int32_t)
REQUANTIZE(helx_requantize_s16_s8, int16_t, int8_t)
REQUANTIZE(helx_requantize_s16_s16, int16_t, int16_t)
REQUANTIZE(helx_requantize_s16_s32, int16_t, int32_t)
REQUANTIZE(helx_requantize_s32_s8, int32_t, int8_t)
REQUANTIZE(helx_requantize_s32_s16, int32_t, int16_t)

HELX_UNARY(helx_logistic_s16, helx_sigmoid_s16_params, int16_t, int16_t,
           helx_logistic16(p->table, x, p->multiplier, p->shift))
HELX_UNARY(helx_tanh_s16, helx_sigmoid_s16_params, int16_t, int16_t,
           helx_tanh16(p->table, x, p->multiplier, p->shift))
