/* Which taps of a sliding window lie inside the image. */
#ifndef HELX_WINDOW_H_
#define HELX_WINDOW_H_

#include "helx_arith.h"

/* Taps [first, last) of one dimension are inside; position = origin + tap * dilation. */
typedef struct {
  int32_t first;
  int32_t last;
} helx_taps;

static inline helx_taps helx_inside(int32_t origin, int32_t size, int32_t taps, int32_t dilation) {
  helx_taps t;
  t.first = origin < 0 ? (-origin + dilation - 1) / dilation : 0;
  t.last = helx_min(taps, origin >= size ? 0 : (size - origin + dilation - 1) / dilation);
  if (t.last < t.first) t.last = t.first;
  return t;
}

#endif /* HELX_WINDOW_H_ */
