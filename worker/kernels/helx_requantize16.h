/* Requantisation of int16 layers' sums. */
#ifndef HELX_REQUANTIZE16_H_
#define HELX_REQUANTIZE16_H_

#include "helx_arith.h"
#include "helx_layers.h"

/* (sum * multiplier + 2^(shift - 1)) >> shift, the multiplier of 15 bits; 1 <= shift <= 46. */
static inline int32_t helx_requantize_wide(int64_t sum, int32_t multiplier, int32_t shift) {
  return (int32_t)((sum * multiplier + ((int64_t)1 << (shift - 1))) >> shift);
}

static inline int32_t helx_requantize16(int64_t sum, const helx_channel_s16* channel,
                                        int32_t narrow) {
  if (narrow) return helx_requantize((int32_t)sum, channel->multiplier, channel->shift);
  return helx_requantize_wide(sum, channel->multiplier, channel->shift);
}

#endif /* HELX_REQUANTIZE16_H_ */
