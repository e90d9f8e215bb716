#include "helx_arith.h"
#include "helx_kernels.h"

/* The sum over every reduced position from `v` on, `dimension` being the next one to walk. */
static int32_t sum_of(const helx_reduction* s, const int8_t* v, int32_t dimension) {
  int32_t sum = 0;
  if (dimension == s->reduced_rank) return *v;
  for (int32_t i = 0; i < s->reduced_size[dimension]; ++i, v += s->reduced_stride[dimension]) {
    sum += dimension + 1 == s->reduced_rank ? *v : sum_of(s, v, dimension + 1);
  }
  return sum;
}

void helx_mean_s8(const helx_mean_s8_params* p, const int8_t* input, int8_t* output) {
  const helx_reduction* s = &p->shape;
  int32_t at[4] = {0, 0, 0, 0};
  for (;;) {
    const int32_t sum = sum_of(s, input, 0) + p->sum_offset;
    const int32_t y = helx_requantize(sum, p->multiplier, p->shift) + p->output_zero_point;
    *output++ = (int8_t)helx_clamp(y, -128, 127);
    int32_t d = s->kept_rank - 1;
    for (; d >= 0; --d) {
      input += s->kept_stride[d];
      if (++at[d] < s->kept_size[d]) break;
      at[d] = 0;
      input -= s->kept_stride[d] * s->kept_size[d];
    }
    if (d < 0) return;
  }
}
