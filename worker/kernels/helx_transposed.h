/* Which inputs reach an output of a transposed convolution. */
#ifndef HELX_TRANSPOSED_H_
#define HELX_TRANSPOSED_H_

#include <stdint.h>

/* The input position that tap `tap` scatters to output position `at`; -1 when there is none. */
static inline int32_t helx_source(int32_t at, int32_t pad, int32_t tap, int32_t stride,
                                  int32_t size) {
  const int32_t distance = at + pad - tap;
  if (distance < 0 || distance % stride != 0 || distance / stride >= size) return -1;
  return distance / stride;
}

#endif /* HELX_TRANSPOSED_H_ */
