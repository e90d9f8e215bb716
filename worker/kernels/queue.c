#include <string.h>

#include "helx_move.h"

void helx_queue(const helx_queue_params* p, const void* input, void* state, void* output) {
  uint8_t* slots = (uint8_t*)state;
  const size_t kept = (size_t)((p->slots - 1) * p->run);
  memmove(slots, slots + p->run, kept);
  memcpy(slots + kept, input, (size_t)p->run);
  memcpy(output, state, kept + (size_t)p->run);
}
