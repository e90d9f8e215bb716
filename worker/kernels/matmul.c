#include "helx_arith.h"
#include "helx_requantize16.h"

static inline int32_t finish(const helx_matmul_params* p, int32_t sum) {
  const int32_t v = helx_requantize(sum, p->multiplier, p->shift) + p->output_zero_point;
  return helx_clamp(v, p->lowest, p->highest);
}

static inline int32_t finish_wide(const helx_matmul_params* p, int64_t sum) {
  const int32_t v = helx_requantize_wide(sum, p->multiplier, p->shift) + p->output_zero_point;
  return helx_clamp(v, p->lowest, p->highest);
}

/* Defines NAME over every batch; FINISH gives the output from `sum` and `p`. */
#define HELX_MATMUL(NAME, IN_A, IN_B, SUM, OUT, FINISH)                                      \
  void NAME(const helx_matmul_params* p, const IN_A* a, const IN_B* b, OUT* output) {        \
    int32_t at[5] = {0, 0, 0, 0, 0};                                                         \
    const SUM a_zero = (SUM)p->a_zero_point, b_zero = (SUM)p->b_zero_point;                  \
    for (;;) {                                                                               \
      for (int32_t m = 0; m < p->rows; ++m) {                                                \
        for (int32_t n = 0; n < p->columns; ++n) {                                           \
          const IN_A* x = a + m * p->a_row;                                                  \
          const IN_B* y = b + n * p->b_column;                                               \
          SUM sum = 0;                                                                       \
          for (int32_t k = 0; k < p->depth; ++k, x += p->a_depth, y += p->b_depth) {         \
            sum += ((SUM)*x - a_zero) * ((SUM)*y - b_zero);                                  \
          }                                                                                  \
          *output++ = (OUT)(FINISH);                                                         \
        }                                                                                    \
      }                                                                                      \
      int32_t d = p->batch_rank - 1;                                                         \
      for (; d >= 0; --d) {                                                                  \
        a += p->a_batch[d];                                                                  \
        b += p->b_batch[d];                                                                  \
        if (++at[d] < p->batch_size[d]) break;                                               \
        at[d] = 0;                                                                           \
        a -= p->a_batch[d] * p->batch_size[d];                                               \
        b -= p->b_batch[d] * p->batch_size[d];                                               \
      }                                                                                      \
      if (d < 0) return;                                                                     \
    }                                                                                        \
  }

HELX_MATMUL(helx_matmul_f32, float, float, float, float, sum)
HELX_MATMUL(helx_matmul_i32, int32_t, int32_t, int32_t, int32_t, sum)
HELX_MATMUL(helx_matmul_s8_i32, int8_t, int8_t, int32_t, int32_t, sum)
HELX_MATMUL(helx_matmul_s8, int8_t, int8_t, int32_t, int8_t, finish(p, sum))
HELX_MATMUL(helx_matmul_u8, uint8_t, uint8_t, int32_t, uint8_t, finish(p, sum))
HELX_MATMUL(helx_matmul_s16, int16_t, int16_t, int64_t, int16_t, finish_wide(p, sum))
HELX_MATMUL(helx_matmul_s16_s8, int16_t, int8_t, int64_t, int16_t, finish_wide(p, sum))
