#include "helx_arith.h"
#include "helx_layers.h"

/* In floats by table, as TFLite's runtime for applications computes it. */
void helx_softmax_u8(const helx_softmax_u8_params* p, const uint8_t* input, uint8_t* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    int32_t highest = 0;
    float sum = 0.0f;
    for (int32_t c = 0; c < p->depth; ++c) highest = helx_max(highest, input[c]);
    for (int32_t c = 0; c < p->depth; ++c) sum += p->exp_table[highest - input[c]];
    const float inverse = 1.0f / (sum * p->output_scale);
    for (int32_t c = 0; c < p->depth; ++c) {
      const float y = p->exp_table[highest - input[c]] * inverse;
      output[c] = (uint8_t)helx_clamp((int32_t)(y + 0.5f) + p->output_zero_point, 0, 255);
    }
  }
}
