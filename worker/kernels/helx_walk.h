/* Walking two broadcast operands and writing the output from one end to the other. */
#ifndef HELX_WALK_H_
#define HELX_WALK_H_

#include "helx_elementwise.h"

/* Moves on to the next run of the innermost dimension; 0 at the end. `at` starts as zeros. */
static inline int32_t helx_next_run(const helx_broadcast* s, int32_t* at, int32_t* a, int32_t* b) {
  for (int32_t d = s->rank - 2; d >= 0; --d) {
    *a += s->a_stride[d];
    *b += s->b_stride[d];
    if (++at[d] < s->size[d]) return 1;
    at[d] = 0;
    *a -= s->a_stride[d] * s->size[d];
    *b -= s->b_stride[d] * s->size[d];
  }
  return 0;
}

/* Defines NAME; EXPRESSION gives the output from `x`, `y` and `p`. */
#define HELX_BINARY(NAME, PARAMS, IN_A, IN_B, OUT, EXPRESSION)                             \
  void NAME(const PARAMS* p, const IN_A* a, const IN_B* b, OUT* output) {                  \
    const helx_broadcast* s = &p->shape;                                                   \
    const int32_t inner = s->rank - 1;                                                     \
    const int32_t a_step = s->a_stride[inner];                                             \
    const int32_t b_step = s->b_stride[inner];                                             \
    int32_t at[6] = {0, 0, 0, 0, 0, 0};                                                    \
    int32_t a_at = 0, b_at = 0;                                                            \
    do {                                                                                   \
      const IN_A* from_a = a + a_at;                                                       \
      const IN_B* from_b = b + b_at;                                                       \
      for (int32_t i = 0; i < s->size[inner]; ++i, from_a += a_step, from_b += b_step) {   \
        const IN_A x = *from_a;                                                            \
        const IN_B y = *from_b;                                                            \
        *output++ = (OUT)(EXPRESSION);                                                     \
      }                                                                                    \
    } while (helx_next_run(s, at, &a_at, &b_at));                                          \
  }

#define HELX_UNARY(NAME, PARAMS, IN, OUT, EXPRESSION)             \
  void NAME(const PARAMS* p, const IN* input, OUT* output) {      \
    for (int32_t i = 0; i < p->count; ++i) {                      \
      const IN x = input[i];                                      \
      output[i] = (OUT)(EXPRESSION);                              \
    }                                                             \
  }

#endif /* HELX_WALK_H_ */
