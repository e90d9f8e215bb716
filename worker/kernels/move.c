#include <string.h>

#include "helx_move.h"

/* The length is a literal at each call, so that a short run is a load and a store. */
static inline void row(const uint8_t* input, uint8_t* output, int32_t n, int32_t input_stride,
                       int32_t output_stride, size_t run) {
  for (int32_t i = 0; i < n; ++i, input += input_stride, output += output_stride) {
    memcpy(output, input, run);
  }
}

static void any_row(const helx_move_params* p, const uint8_t* input, uint8_t* output, int32_t n,
                    int32_t input_stride, int32_t output_stride) {
  switch (p->run) {
    case 1: row(input, output, n, input_stride, output_stride, 1); break;
    case 2: row(input, output, n, input_stride, output_stride, 2); break;
    case 4: row(input, output, n, input_stride, output_stride, 4); break;
    case 8: row(input, output, n, input_stride, output_stride, 8); break;
    default: row(input, output, n, input_stride, output_stride, (size_t)p->run);
  }
}

void helx_move(const helx_move_params* p, const void* input, void* output) {
  const uint8_t* from = (const uint8_t*)input + p->input_offset;
  uint8_t* to = (uint8_t*)output + p->output_offset;
  int32_t at[8] = {0};
  if (p->rank == 0) {
    memmove(to, from, (size_t)p->run);
    return;
  }
  const int32_t inner = p->rank - 1;
  for (;;) {
    any_row(p, from, to, p->size[inner], p->input_stride[inner], p->output_stride[inner]);
    int32_t d = inner - 1;
    for (; d >= 0; --d) {
      from += p->input_stride[d];
      to += p->output_stride[d];
      if (++at[d] < p->size[d]) break;
      at[d] = 0;
      from -= p->input_stride[d] * p->size[d];
      to -= p->output_stride[d] * p->size[d];
    }
    if (d < 0) return;
  }
}
