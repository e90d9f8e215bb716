#include <string.h>

#include "helx_arith.h"
#include "helx_dot.h"
#include "helx_dot16.h"
#include "helx_rows.h"
#include "helx_state.h"

/* The state moves by one over all rows; the last place of every row is written anew. */
#define HELX_SVDF(NAME, STATE, DOT, LOWEST, HIGHEST)                                           \
  void NAME(const helx_svdf_params* p, const int8_t* input, STATE* state, int8_t* output) {    \
    const int32_t count = p->batches * p->filters * p->memory;                                 \
    const int32_t unit_depth = p->rank * p->memory;                                            \
    helx_copy_bytes((int8_t*)state, (const int8_t*)(state + 1),                                \
                    (count - 1) * (int32_t)sizeof(STATE));                                     \
    for (int32_t b = 0; b < p->batches; ++b, input += p->in_depth) {                           \
      STATE* row = state + b * p->filters * p->memory;                                         \
      for (int32_t f = 0; f < p->filters; ++f, row += p->memory) {                             \
        const int8_t* w = p->feature_weights + f * p->in_depth;                                \
        int32_t sum = p->feature_bias[f] + helx_dot_s8(input, w, p->in_depth, 0);              \
        sum = helx_requantize(sum, p->multiplier_in, p->shift_in);                             \
        row[p->memory - 1] =                                                                   \
            (STATE)(p->state_zero_point + helx_clamp(sum, LOWEST, HIGHEST));                   \
      }                                                                                        \
      row = state + b * p->filters * p->memory;                                                \
      const STATE* w = (const STATE*)p->time_weights;                                          \
      for (int32_t unit = 0; unit < p->filters / p->rank; ++unit) {                            \
        const int32_t sum = p->bias[unit] + DOT(row, w, unit_depth);                           \
        row += unit_depth;                                                                     \
        w += unit_depth;                                                                       \
        const int32_t y = helx_requantize(sum, p->multiplier_out, p->shift_out);               \
        *output++ = (int8_t)helx_clamp(y + p->output_zero_point, -128, 127);                   \
      }                                                                                        \
    }                                                                                          \
  }

static inline int32_t dot_s8(const int8_t* x, const int8_t* w, int32_t n) {
  return helx_dot_s8(x, w, n, 0);
}

static inline int32_t dot_s16(const int16_t* x, const int16_t* w, int32_t n) {
  return (int32_t)helx_dot_s16_s16(x, w, n);
}

HELX_SVDF(helx_svdf_s8_s8, int8_t, dot_s8, -128, 127)
HELX_SVDF(helx_svdf_s8_s16, int16_t, dot_s16, -32768, 32767)

void helx_svdf_f32(const helx_svdf_f32_params* p, const float* input, float* state,
                   float* output) {
  const int32_t count = p->batches * p->filters * p->memory;
  memmove(state, state + 1, (size_t)(count - 1) * sizeof(float));
  for (int32_t b = 0; b < p->batches; ++b, input += p->in_depth) {
    float* row = state + b * p->filters * p->memory;
    for (int32_t f = 0; f < p->filters; ++f, row += p->memory) {
      const float* w = p->feature_weights + f * p->in_depth;
      float sum = 0.0f;
      for (int32_t k = 0; k < p->in_depth; ++k) sum += w[k] * input[k];
      row[p->memory - 1] = sum;
    }
    row = state + b * p->filters * p->memory;
    const float* w = p->time_weights;
    for (int32_t unit = 0; unit < p->filters / p->rank; ++unit) {
      float total = p->bias ? p->bias[unit] : 0.0f;
      for (int32_t r = 0; r < p->rank; ++r) {
        float sum = 0.0f;
        for (int32_t k = 0; k < p->memory; ++k) sum += *w++ * *row++;
        total += sum;
      }
      total = total < p->lowest ? p->lowest : total;
      *output++ = p->highest < total ? p->highest : total;
    }
  }
}
