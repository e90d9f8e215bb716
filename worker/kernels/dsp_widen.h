/* int8 to pairs of int16, and clamping of packed int8, with the DSP extension. */
#ifndef HELX_DSP_WIDEN_H_
#define HELX_DSP_WIDEN_H_

#include <arm_acle.h>
#include <stdint.h>

/* Bytes 1 and 3, sign-extended; the intrinsics have no rotation for it. */
static inline int16x2_t helx_dsp_odd(uint32_t four) {
  int16x2_t odd;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(four));
  return odd;
}

/* `bytes`, a multiple of 4, to words (k, k+2), (k+1, k+3), every `step` words. Returns the end. */
static inline uint32_t* helx_dsp_widen(uint32_t* to, const int8_t* from, int32_t bytes,
                                       int32_t step) {
#pragma GCC unroll 4
  for (int32_t i = 0; i < bytes; i += 4) {
    uint32_t four;
    __builtin_memcpy(&four, from + i, 4);
    to[0] = (uint32_t)__sxtb16((int8x4_t)four);
    to[step] = (uint32_t)helx_dsp_odd(four);
    to += 2 * step;
  }
  return to;
}

/* Two rows at once, in alternate words. */
static inline void helx_dsp_widen_two(uint32_t* to, const int8_t* row0, const int8_t* row1,
                                      int32_t bytes) {
#pragma GCC unroll 2
  for (int32_t i = 0; i < bytes; i += 4) {
    uint32_t four0, four1;
    __builtin_memcpy(&four0, row0 + i, 4);
    __builtin_memcpy(&four1, row1 + i, 4);
    to[0] = (uint32_t)__sxtb16((int8x4_t)four0);
    to[1] = (uint32_t)__sxtb16((int8x4_t)four1);
    to[2] = (uint32_t)helx_dsp_odd(four0);
    to[3] = (uint32_t)helx_dsp_odd(four1);
    to += 4;
  }
}

static inline void helx_dsp_clamp(int8_t* y, int32_t count, int32_t lowest, int32_t highest) {
  const int8x4_t low = (int8x4_t)((uint32_t)(uint8_t)lowest * 0x01010101u);
  const int8x4_t high = (int8x4_t)((uint32_t)(uint8_t)highest * 0x01010101u);
  for (; count >= 4; count -= 4, y += 4) {
    int8x4_t four;
    __builtin_memcpy(&four, y, 4);
    __ssub8(four, low);
    four = (int8x4_t)__sel((uint8x4_t)four, (uint8x4_t)low);
    __ssub8(high, four);
    four = (int8x4_t)__sel((uint8x4_t)four, (uint8x4_t)high);
    __builtin_memcpy(y, &four, 4);
  }
  for (; count > 0; --count, ++y) {
    *y = (int8_t)(*y < lowest ? lowest : *y > highest ? highest : *y);
  }
}

#endif /* HELX_DSP_WIDEN_H_ */
