#include <string.h>

#include "helx_move.h"

#define HELX_REVERSE_SEQUENCE(NAME, LENGTH)                                                \
  int32_t NAME(const helx_reverse_sequence_params* p, const void* input,                   \
               const LENGTH* lengths, void* output) {                                      \
    for (int32_t b = 0; b < p->batches; ++b) {                                             \
      if (lengths[b] < 0 || lengths[b] > p->entries) return 0;                             \
      const int32_t length = (int32_t)lengths[b];                                          \
      for (int32_t o = 0; o < p->others; ++o) {                                            \
        for (int32_t m = 0; m < p->middles; ++m) {                                         \
          const int32_t base =                                                             \
              b * p->batch_stride + o * p->other_stride + m * p->middle_stride;            \
          for (int32_t e = 0; e < p->entries; ++e) {                                       \
            const int32_t source = e < length ? length - 1 - e : e;                        \
            memcpy((uint8_t*)output + (base + e * p->entry_stride) * p->run,               \
                   (const uint8_t*)input + (base + source * p->entry_stride) * p->run,     \
                   (size_t)p->run);                                                        \
          }                                                                                \
        }                                                                                  \
      }                                                                                    \
    }                                                                                      \
    return 1;                                                                              \
  }

HELX_REVERSE_SEQUENCE(helx_reverse_sequence_i32, int32_t)
HELX_REVERSE_SEQUENCE(helx_reverse_sequence_i64, int64_t)
