#include "helx_arith.h"
#include "helx_layers.h"

#define HELX_CUMSUM(NAME, TYPE, SUM, START, TERM, FINISH)                                    \
  void NAME(const helx_cumsum_params* p, const TYPE* input, TYPE* output) {                  \
    for (int32_t o = 0; o < p->outer; ++o) {                                                 \
      for (int32_t i = 0; i < p->inner; ++i) {                                               \
        SUM sum = START;                                                                     \
        for (int32_t a = 0; a < p->axis; ++a) {                                              \
          const int32_t at = p->reverse ? p->axis - 1 - a : a;                               \
          const int32_t index = (o * p->axis + at) * p->inner + i;                           \
          const SUM before = sum;                                                            \
          const TYPE v = input[index];                                                       \
          sum += (SUM)(TERM);                                                                \
          const SUM total = p->exclusive ? before : sum;                                     \
          output[index] = (TYPE)(FINISH);                                                    \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }

static inline int32_t term(const helx_cumsum_params* p, int32_t v) {
  const int32_t shifted = (v - p->input_zero_point) * ((int32_t)1 << p->left_shift);
  return helx_round_shift(helx_high_mul(shifted, p->input_multiplier), -p->input_shift);
}

static inline int32_t finish(const helx_cumsum_params* p, int32_t sum) {
  const int32_t y = helx_round_shift(helx_high_mul(sum, p->output_multiplier), -p->output_shift);
  return helx_clamp(y + p->output_zero_point, -128, 127);
}

HELX_CUMSUM(helx_cumsum_f32, float, float, 0.0f, v, total)
HELX_CUMSUM(helx_cumsum_i32, int32_t, uint32_t, 0, v, total)
HELX_CUMSUM(helx_cumsum_i64, int64_t, uint64_t, 0, v, total)
/* The sum begins with what TFLite's begins with: the rescaled difference of 0 and the zero point. */
HELX_CUMSUM(helx_cumsum_s8, int8_t, int32_t, term(p, 0), term(p, v), finish(p, total))
