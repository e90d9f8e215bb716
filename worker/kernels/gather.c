#include <string.h>

#include "helx_move.h"

/* One function per type of index: C has no templates. */
#define HELX_GATHER(NAME, INDEX)                                                           \
  int32_t NAME(const helx_gather_params* p, const void* input, const INDEX* indices,       \
               void* output) {                                                             \
    const uint8_t* from = (const uint8_t*)input;                                           \
    uint8_t* to = (uint8_t*)output;                                                        \
    for (int32_t b = 0; b < p->batches; ++b, indices += p->indices) {                      \
      for (int32_t o = 0; o < p->outer; ++o, from += p->axis * p->run) {                   \
        for (int32_t i = 0; i < p->indices; ++i, to += p->run) {                           \
          if (indices[i] < 0 || indices[i] >= p->axis) return 0;                           \
          memcpy(to, from + (int32_t)indices[i] * p->run, (size_t)p->run);                 \
        }                                                                                  \
      }                                                                                    \
    }                                                                                      \
    return 1;                                                                              \
  }

HELX_GATHER(helx_gather_i16, int16_t)
HELX_GATHER(helx_gather_i32, int32_t)
HELX_GATHER(helx_gather_i64, int64_t)

#define HELX_GATHER_ND(NAME, INDEX)                                                        \
  int32_t NAME(const helx_gather_nd_params* p, const void* input, const INDEX* indices,    \
               void* output) {                                                             \
    uint8_t* to = (uint8_t*)output;                                                        \
    for (int32_t r = 0; r < p->rows; ++r, indices += p->depth, to += p->run) {             \
      const uint8_t* from = (const uint8_t*)input;                                         \
      for (int32_t d = 0; d < p->depth; ++d) {                                             \
        if (indices[d] < 0 || indices[d] >= p->size[d]) return 0;                          \
        from += (int32_t)indices[d] * p->stride[d];                                        \
      }                                                                                    \
      memcpy(to, from, (size_t)p->run);                                                    \
    }                                                                                      \
    return 1;                                                                              \
  }

HELX_GATHER_ND(helx_gather_nd_i16, int16_t)
HELX_GATHER_ND(helx_gather_nd_i32, int32_t)
HELX_GATHER_ND(helx_gather_nd_i64, int64_t)
