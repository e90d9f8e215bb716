#include "helx_arith.h"
#include "helx_dot.h"
#include "helx_kernels.h"

static inline int8_t finish(const helx_fully_connected_s8_params* p, int32_t c, int32_t acc) {
  const int32_t multiplier = p->scales ? p->scales[c].multiplier : p->multiplier;
  const int32_t shift = p->scales ? p->scales[c].shift : p->shift;
  const int32_t y = helx_requantize(acc, multiplier, shift);
  return (int8_t)helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

void helx_fully_connected_s8(const helx_fully_connected_s8_params* p, const int8_t* input,
                             int8_t* output) {
  for (int32_t row = 0; row < p->rows; ++row) {
    const int8_t* w = p->weights;
    int32_t c = 0;
    for (; c + 4 <= p->out_depth; c += 4) {
      int32_t acc[4];
      for (int32_t i = 0; i < 4; ++i) acc[i] = p->bias[c + i];
      helx_dot4_s8(input, w, p->in_depth, p->in_depth, 0, acc);
      for (int32_t i = 0; i < 4; ++i) output[c + i] = finish(p, c + i, acc[i]);
      w += 4 * p->in_depth;
    }
    for (; c < p->out_depth; ++c) {
      output[c] = finish(p, c, p->bias[c] + helx_dot_s8(input, w, p->in_depth, 0));
      w += p->in_depth;
    }
    input += p->in_depth;
    output += p->out_depth;
  }
}
