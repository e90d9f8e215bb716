#include "helx_arith.h"
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

/* The logistic function of |x| in Q0.(16 + bits), interpolated; `bits` of the argument lie within a step. */
static inline uint32_t interpolated(const helx_sigmoid_s16_params* p, uint32_t x, int32_t bits,
                                    uint32_t saturated) {
  const uint32_t step = x >> bits;
  if (step >= 255) return saturated;
  const uint32_t low = p->table[step];
  return (low << bits) + (x & ((1u << bits) - 1)) * (p->table[step + 1] - low);
}

static inline int32_t argument(const helx_sigmoid_s16_params* p, int32_t x) {
  const int32_t round = p->shift > 0 ? 1 << (p->shift - 1) : 0;
  return (x * p->multiplier + round) >> p->shift;
}

static inline int32_t logistic(const helx_sigmoid_s16_params* p, int32_t x) {
  const int32_t at = argument(p, x);
  uint32_t y = interpolated(p, (uint32_t)(at < 0 ? -at : at), 9, 0x7fffu << 10);
  y = at >= 0 ? y + (1 << 9) : (1u << 25) - y + (1 << 9) - 1;
  return (int32_t)(y >> 10);
}

static inline int32_t hyperbolic_tangent(const helx_sigmoid_s16_params* p, int32_t x) {
  const int32_t at = argument(p, x);
  int32_t y = (int32_t)interpolated(p, (uint32_t)(at < 0 ? -at : at), 8, 0xffffu << 8);
  y = at >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
  return y >> 8;
}

HELX_UNARY(helx_logistic_s16, helx_sigmoid_s16_params, int16_t, int16_t, logistic(p, x))
HELX_UNARY(helx_tanh_s16, helx_sigmoid_s16_params, int16_t, int16_t, hyperbolic_tangent(p, x))
