#include "helx_arith.h"
#include "helx_layers.h"

/* Linear interpolation between the entries of a table over [-32768, 32767]. */
static inline int32_t interpolate(int32_t x, const int16_t* table) {
  const int32_t index = 256 + (x >> 7);
  const int32_t slope = (int16_t)(table[index + 1] - table[index]);
  return (int16_t)(table[index] + ((slope * (x & 0x7f) + 64) >> 7));
}

static inline int32_t leading_zeros(uint32_t x) {
  int32_t n = 0;
  for (; n < 32 && !(x & 0x80000000u); x <<= 1) ++n;
  return n;
}

void helx_softmax_s16(const helx_softmax_s16_params* p, const int16_t* input, int16_t* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    int32_t highest = -32768;
    int32_t sum = 0; /* Q16.15 */
    for (int32_t c = 0; c < p->depth; ++c) highest = helx_max(highest, input[c]);
    for (int32_t c = 0; c < p->depth; ++c) {
      const int32_t scaled = helx_requantize(input[c] - highest, p->multiplier, p->shift);
      output[c] =
          (int16_t)interpolate(helx_clamp(scaled + 32767, -32768, 32767), p->exp_table);
      sum += output[c];
    }
    const int32_t headroom = leading_zeros((uint32_t)sum);
    const int32_t shifted =
        (int32_t)(((headroom > 0 ? (int64_t)sum << (headroom - 1) : sum) + (1 << 13)) >> 14);
    const int32_t reciprocal = interpolate(
        helx_clamp(shifted - ((1 << 15) + (1 << 16)), -32768, 32767), p->reciprocal_table);
    const int32_t shift = 31 - headroom;
    for (int32_t c = 0; c < p->depth; ++c) {
      const int64_t round = shift > 0 ? (int64_t)1 << (shift - 1) : 0;
      const int32_t y = (int32_t)(((int64_t)output[c] * reciprocal + round) >> shift);
      output[c] = (int16_t)helx_clamp(y, 0, 32767);
    }
  }
}
