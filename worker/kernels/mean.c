#include "helx_arith.h"
#include "helx_reduce.h"

static inline int32_t finish(const helx_mean_params* p, int32_t sum) {
  return helx_requantize(sum + p->sum_offset, p->multiplier, p->shift) + p->output_zero_point;
}

HELX_REDUCE(helx_mean_s8, helx_mean_params, int8_t, int32_t, int8_t, 0, total += v,
            helx_clamp(finish(p, total), -128, 127))
HELX_REDUCE(helx_mean_u8, helx_mean_params, uint8_t, int32_t, uint8_t, 0, total += v,
            helx_clamp(finish(p, total), 0, 255))
HELX_REDUCE(helx_mean_s16, helx_mean_params, int16_t, int32_t, int16_t, 0, total += v,
            helx_clamp(finish(p, total), -32768, 32767))
