#include "helx_move.h"

/* Strides and runs are in bytes; the element's size divides them. */
#define HELX_SCATTER_ND(NAME, TYPE)                                                        \
  int32_t NAME(const helx_gather_nd_params* p, const int32_t* indices,                     \
               const TYPE* updates, TYPE* output) {                                        \
    const int32_t run = p->run / (int32_t)sizeof(TYPE);                                    \
    for (int32_t r = 0; r < p->rows; ++r, indices += p->depth, updates += run) {           \
      TYPE* to = output;                                                                   \
      for (int32_t d = 0; d < p->depth; ++d) {                                             \
        if (indices[d] < 0 || indices[d] >= p->size[d]) return 0;                          \
        to += indices[d] * (p->stride[d] / (int32_t)sizeof(TYPE));                         \
      }                                                                                    \
      for (int32_t i = 0; i < run; ++i) to[i] = (TYPE)(to[i] + updates[i]);                \
    }                                                                                      \
    return 1;                                                                              \
  }

HELX_SCATTER_ND(helx_scatter_nd_f32, float)
HELX_SCATTER_ND(helx_scatter_nd_i32, int32_t)
HELX_SCATTER_ND(helx_scatter_nd_8, uint8_t)
