#include "helx_walk.h"

/* round(x / scale) + zero_point within [lowest, highest]; at most 16 bits are asked for. */
static inline int32_t quantised(float x, float scale, int32_t zero_point, int32_t lowest,
                                int32_t highest) {
  /* Quotients beyond this saturate whatever the zero point is, and below it a float holds halves exactly. */
  const float limit = 131072.0f;
  const float v = x / scale;
  int32_t y = -131072;
  if (v >= limit) {
    y = 131072;
  } else if (v > -limit) {
    y = (int32_t)v;
    const float rest = v - (float)y;
    if (rest >= 0.5f) ++y;
    if (rest <= -0.5f) --y;
  }
  y += zero_point;
  return y < lowest ? lowest : (y > highest ? highest : y);
}

#define QUANTIZE(NAME, OUT, LOWEST, HIGHEST)            \
  HELX_UNARY(NAME, helx_affine_params, float, OUT,      \
             quantised(x, p->scale, p->zero_point, LOWEST, HIGHEST))

QUANTIZE(helx_quantize_f32_s8, int8_t, -128, 127)
QUANTIZE(helx_quantize_f32_u8, uint8_t, 0, 255)
QUANTIZE(helx_quantize_f32_s16, int16_t, -32768, 32767)

#define DEQUANTIZE(NAME, IN) \
  HELX_UNARY(NAME, helx_affine_params, IN, float, p->scale * (float)(x - p->zero_point))

DEQUANTIZE(helx_dequantize_s8_f32, int8_t)
DEQUANTIZE(helx_dequantize_u8_f32, uint8_t)
DEQUANTIZE(helx_dequantize_s16_f32, int16_t)
HELX_UNARY(helx_dequantize_s32_f32, helx_affine_params, int32_t, float,
           (double)p->scale * ((double)x - (double)p->zero_point))

/* IEEE 754 binary16 to binary32: exact. */
static float widened(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u;
  uint32_t fraction = half & 0x3ffu;
  union {
    uint32_t bits;
    float value;
  } result;
  if (exponent == 0) {
    result.value = (float)fraction * 0x1p-24f;
    result.bits |= sign;
  } else {
    result.bits = sign | ((exponent == 31 ? 255u : exponent + 112u) << 23) | (fraction << 13);
  }
  return result.value;
}

HELX_UNARY(helx_dequantize_f16_f32, helx_affine_params, uint16_t, float, widened(x))

void helx_dequantize_channels_s8_f32(const helx_channel_affine_params* p, const int8_t* input,
                                     float* output) {
  for (int32_t o = 0; o < p->outer; ++o) {
    for (int32_t c = 0; c < p->channels; ++c) {
      for (int32_t i = 0; i < p->inner; ++i) {
        *output++ = p->scales[c] * (float)(*input++ - p->zero_points[c]);
      }
    }
  }
}

void helx_quantize_channels_f32_s8(const helx_channel_affine_params* p, const float* input,
                                   int8_t* output) {
  for (int32_t o = 0; o < p->outer; ++o) {
    for (int32_t c = 0; c < p->channels; ++c) {
      for (int32_t i = 0; i < p->inner; ++i) {
        *output++ = (int8_t)quantised(*input++, p->scales[c], p->zero_points[c], -128, 127);
      }
    }
  }
}
