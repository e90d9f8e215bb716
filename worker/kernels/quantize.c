#include "helx_kernels.h"

void helx_quantize_f32_s8(const helx_affine_params* p, const float* input, int8_t* output) {
  /* Quotients beyond this saturate whatever the zero point is, and below it a float holds halves exactly. */
  const float limit = 1024.0f;
  for (int32_t i = 0; i < p->count; ++i) {
    const float v = input[i] / p->scale;
    int32_t y = -1024;
    if (v >= limit) {
      y = 1024;
    } else if (v > -limit) {
      y = (int32_t)v;
      const float rest = v - (float)y;
      if (rest >= 0.5f) ++y;
      if (rest <= -0.5f) --y;
    }
    y += p->zero_point;
    output[i] = (int8_t)(y < -128 ? -128 : (y > 127 ? 127 : y));
  }
}

void helx_dequantize_s8_f32(const helx_affine_params* p, const int8_t* input, float* output) {
  for (int32_t i = 0; i < p->count; ++i) {
    output[i] = p->scale * (float)(input[i] - p->zero_point);
  }
}
