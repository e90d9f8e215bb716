/* Walking the kept positions of a reduction, and the reduced positions of each. */
#ifndef HELX_REDUCE_H_
#define HELX_REDUCE_H_

#include "helx_layers.h"

/* The next position of a box; 0 at the end. `at` starts as zeros and `offset` follows it. */
static inline int32_t helx_next(int32_t rank, const int32_t* size, const int32_t* stride,
                                int32_t* at, int32_t* offset) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    *offset += stride[d];
    if (++at[d] < size[d]) return 1;
    at[d] = 0;
    *offset -= stride[d] * size[d];
  }
  return 0;
}

/* Defines NAME: `total` starts as START, takes in every reduced element `v` by STEP, and FINISH gives the output. */
#define HELX_REDUCE(NAME, PARAMS, IN, TOTAL, OUT, START, STEP, FINISH)                        \
  void NAME(const PARAMS* p, const IN* input, OUT* output) {                                  \
    const helx_reduction* s = &p->shape;                                                      \
    const int32_t inner = s->reduced_rank - 1;                                                \
    const int32_t run = inner < 0 ? 1 : s->reduced_size[inner];                               \
    const int32_t step = inner < 0 ? 0 : s->reduced_stride[inner];                            \
    int32_t kept[4] = {0, 0, 0, 0};                                                           \
    int32_t base = 0;                                                                         \
    do {                                                                                      \
      TOTAL total = START;                                                                    \
      int32_t at[4] = {0, 0, 0, 0};                                                           \
      int32_t offset = base;                                                                  \
      do {                                                                                    \
        const IN* from = input + offset;                                                      \
        for (int32_t i = 0; i < run; ++i, from += step) {                                     \
          const IN v = *from;                                                                 \
          STEP;                                                                               \
        }                                                                                     \
      } while (helx_next(inner, s->reduced_size, s->reduced_stride, at, &offset));            \
      *output++ = (OUT)(FINISH);                                                              \
    } while (helx_next(s->kept_rank, s->kept_size, s->kept_stride, kept, &base));             \
  }

#endif /* HELX_REDUCE_H_ */
