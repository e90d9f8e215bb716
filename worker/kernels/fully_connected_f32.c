#include "helx_layers.h"

void helx_fully_connected_f32(const helx_fully_connected_f32_params* p, const float* input,
                              const float* weights, const float* bias, float* output) {
  for (int32_t row = 0; row < p->rows; ++row, input += p->in_depth) {
    for (int32_t c = 0; c < p->out_depth; ++c) {
      const float* w = weights + c * p->in_depth;
      float sum = 0.0f;
      for (int32_t k = 0; k < p->in_depth; ++k) sum += input[k] * w[k];
      if (bias) sum += bias[c];
      sum = sum < p->lowest ? p->lowest : sum;
      *output++ = p->highest < sum ? p->highest : sum;
    }
  }
}

void helx_fully_connected_f32_no_bias(const helx_fully_connected_f32_params* p,
                                      const float* input, const float* weights, float* output) {
  helx_fully_connected_f32(p, input, weights, 0, output);
}
