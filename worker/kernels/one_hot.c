#include <string.h>

#include "helx_move.h"

#define HELX_ONE_HOT(NAME, INDEX)                                                          \
  void NAME(const helx_one_hot_params* p, const INDEX* indices, const void* on,            \
            const void* off, void* output) {                                               \
    uint8_t* to = (uint8_t*)output;                                                        \
    for (int32_t o = 0; o < p->outer; ++o, indices += p->inner) {                          \
      for (int32_t d = 0; d < p->depth; ++d) {                                             \
        for (int32_t i = 0; i < p->inner; ++i, to += p->bytes) {                           \
          memcpy(to, indices[i] == d ? on : off, (size_t)p->bytes);                        \
        }                                                                                  \
      }                                                                                    \
    }                                                                                      \
  }

HELX_ONE_HOT(helx_one_hot_i32, int32_t)
HELX_ONE_HOT(helx_one_hot_i64, int64_t)
