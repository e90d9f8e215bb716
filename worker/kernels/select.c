#include <string.h>

#include "helx_elementwise.h"

void helx_select(const helx_select_params* p, const uint8_t* condition, const void* a,
                 const void* b, void* output) {
  uint8_t* to = (uint8_t*)output;
  int32_t at[6] = {0, 0, 0, 0, 0, 0};
  int32_t c_at = 0, a_at = 0, b_at = 0; /* elements */
  for (;;) {
    const uint8_t* from = condition[c_at] ? (const uint8_t*)a + a_at * p->bytes
                                          : (const uint8_t*)b + b_at * p->bytes;
    memcpy(to, from, (size_t)p->bytes);
    to += p->bytes;
    int32_t d = p->rank - 1;
    for (; d >= 0; --d) {
      c_at += p->condition_stride[d];
      a_at += p->a_stride[d];
      b_at += p->b_stride[d];
      if (++at[d] < p->size[d]) break;
      at[d] = 0;
      c_at -= p->condition_stride[d] * p->size[d];
      a_at -= p->a_stride[d] * p->size[d];
      b_at -= p->b_stride[d] * p->size[d];
    }
    if (d < 0) return;
  }
}
