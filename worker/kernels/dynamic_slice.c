#include <string.h>

#include "helx_move.h"

/* Copies a box of p->update elements between a dense buffer and a place in a tensor of p->size. */
static void copy_box(const helx_update_slice_params* p, uint8_t* tensor, uint8_t* dense,
                     const int32_t* start, int32_t into_tensor) {
  int32_t at[8] = {0};
  const int32_t inner = p->rank - 1;
  if (p->rank == 0) {
    memcpy(into_tensor ? tensor : dense, into_tensor ? dense : tensor, (size_t)p->bytes);
    return;
  }
  const size_t run = (size_t)(p->update[inner] * p->bytes);
  for (;;) {
    int32_t offset = 0;
    for (int32_t d = 0; d < p->rank; ++d) {
      offset = offset * p->size[d] + start[d] + (d == inner ? 0 : at[d]);
    }
    uint8_t* place = tensor + offset * p->bytes;
    memcpy(into_tensor ? place : dense, into_tensor ? dense : place, run);
    dense += run;
    int32_t d = inner - 1;
    for (; d >= 0; --d) {
      if (++at[d] < p->update[d]) break;
      at[d] = 0;
    }
    if (d < 0) return;
  }
}

#define HELX_UPDATE_SLICE(NAME, INDEX)                                                     \
  void NAME(const helx_update_slice_params* p, const void* update, const INDEX* start,     \
            void* output) {                                                                \
    int32_t at[8] = {0};                                                                   \
    for (int32_t d = 0; d < p->rank; ++d) {                                                \
      const int32_t last = p->size[d] - p->update[d];                                      \
      at[d] = start[d] < 0 ? 0 : (start[d] > last ? last : (int32_t)start[d]);             \
    }                                                                                      \
    copy_box(p, (uint8_t*)output, (uint8_t*)(uintptr_t)update, at, 1);                     \
  }

HELX_UPDATE_SLICE(helx_update_slice_i32, int32_t)
HELX_UPDATE_SLICE(helx_update_slice_i64, int64_t)

#define HELX_SLICE(NAME, INDEX)                                                            \
  int32_t NAME(const helx_update_slice_params* p, const void* input, const INDEX* start,   \
               void* output) {                                                             \
    int32_t at[8] = {0};                                                                   \
    for (int32_t d = 0; d < p->rank; ++d) {                                                \
      if (start[d] < 0 || start[d] > p->size[d] - p->update[d]) return 0;                  \
      at[d] = (int32_t)start[d];                                                           \
    }                                                                                      \
    copy_box(p, (uint8_t*)(uintptr_t)input, (uint8_t*)output, at, 0);                      \
    return 1;                                                                              \
  }

HELX_SLICE(helx_slice_i32, int32_t)
HELX_SLICE(helx_slice_i64, int64_t)
