#include "helx_add_equal_s8.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

/* Four lanes: the exact operand with 19 fractional bits, the other one with 20. */
static inline int32x4_t sum4(const helx_add_equal_s8_params* p, int32x4_t a, int32x4_t b) {
  b = vqrdmulhq_n_s32(b, p->b_multiplier);
  b = vaddq_s32(b, vshlq_r_s32(b, p->b_sign));
  b = vrshlq_n_s32(b, p->b_shift);
  a = vqrdmulhq_n_s32(vaddq_s32(a, b), p->output_multiplier);
  a = vaddq_s32(a, vshlq_r_s32(a, p->output_sign));
  return vrshlq_n_s32(a, p->output_shift);
}

static inline int8x16_t add16(const helx_add_equal_s8_params* p, int8x16_t a, int8x16_t b) {
  int16x8_t y[2];
  for (int i = 0; i < 2; ++i) {
    int16x8_t u = i ? vmovltq_s8(a) : vmovlbq_s8(a);
    int16x8_t v = i ? vmovltq_s8(b) : vmovlbq_s8(b);
    u = vshlq_n_s16(vsubq_n_s16(u, (int16_t)p->a_zero_point), 3);
    v = vshlq_n_s16(vsubq_n_s16(v, (int16_t)p->b_zero_point), 4);
    const int32x4_t bottom = sum4(p, vshllbq_n_s16(u, 16), vshllbq_n_s16(v, 16));
    const int32x4_t top = sum4(p, vshlltq_n_s16(u, 16), vshlltq_n_s16(v, 16));
    y[i] = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), bottom), top);
    y[i] = vqaddq_n_s16(y[i], (int16_t)p->output_zero_point);
  }
  const int8x16_t z = vqmovntq_s16(vqmovnbq_s16(vuninitializedq_s8(), y[0]), y[1]);
  return vminq_s8(vmaxq_s8(z, vdupq_n_s8((int8_t)p->lowest)), vdupq_n_s8((int8_t)p->highest));
}

void helx_mve_add_s8(const helx_add_equal_s8_params* p, const int8_t* a, const int8_t* b,
                     int8_t* output) {
  const helx_add_equal_s8_params params = *p; /* stores could change *p, as far as a compiler knows */
  int32_t left = params.count;
  for (; left >= 16; left -= 16, a += 16, b += 16, output += 16) {
    vst1q_s8(output, add16(&params, vld1q_s8(a), vld1q_s8(b)));
  }
  if (left > 0) {
    const mve_pred16_t some = vctp8q((uint32_t)left);
    vst1q_p_s8(output, add16(&params, vld1q_z_s8(a, some), vld1q_z_s8(b, some)), some);
  }
}

#endif /* __ARM_FEATURE_MVE */
