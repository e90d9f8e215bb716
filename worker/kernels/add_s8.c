#include "helx_arith.h"
#include "helx_kernels.h"

static inline int8_t add(const helx_add_s8_params* p, int32_t a, int32_t b) {
  const int32_t left = (int32_t)1 << p->left_shift;
  const int32_t scaled_a =
      helx_round_shift(helx_high_mul((a - p->a_zero_point) * left, p->a_multiplier), -p->a_shift);
  const int32_t scaled_b =
      helx_round_shift(helx_high_mul((b - p->b_zero_point) * left, p->b_multiplier), -p->b_shift);
  const int32_t y = helx_round_shift(helx_high_mul(scaled_a + scaled_b, p->output_multiplier),
                                     -p->output_shift);
  return (int8_t)helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

void helx_add_s8(const helx_add_s8_params* p, const int8_t* a, const int8_t* b, int8_t* output) {
  const helx_broadcast* s = &p->shape;
  const int32_t inner = s->rank - 1;
  const int32_t a_step = s->a_stride[inner];
  const int32_t b_step = s->b_stride[inner];
  int32_t at[6] = {0, 0, 0, 0, 0, 0};
  for (;;) {
    const int8_t* x = a;
    const int8_t* y = b;
    for (int32_t i = 0; i < s->size[inner]; ++i, x += a_step, y += b_step) {
      *output++ = add(p, *x, *y);
    }
    int32_t d = inner - 1;
    for (; d >= 0; --d) {
      a += s->a_stride[d];
      b += s->b_stride[d];
      if (++at[d] < s->size[d]) break;
      at[d] = 0;
      a -= s->a_stride[d] * s->size[d];
      b -= s->b_stride[d] * s->size[d];
    }
    if (d < 0) return;
  }
}
