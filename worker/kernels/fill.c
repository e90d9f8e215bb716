#include <string.h>

#include "helx_move.h"

void helx_fill_from(const helx_fill_params* p, const void* value, void* output) {
  if (p->bytes == 1) {
    memset(output, *(const uint8_t*)value, (size_t)p->count);
    return;
  }
  uint8_t* to = (uint8_t*)output;
  for (int32_t i = 0; i < p->count; ++i, to += p->bytes) memcpy(to, value, (size_t)p->bytes);
}

void helx_fill(const helx_fill_params* p, void* output) { helx_fill_from(p, &p->value, output); }
