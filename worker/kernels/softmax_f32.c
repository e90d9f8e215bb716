#include <math.h>

#include "helx_layers.h"

static inline float largest(const float* v, int32_t n) {
  float highest = v[0];
  for (int32_t c = 1; c < n; ++c) {
    if (v[c] > highest) highest = v[c];
  }
  return highest;
}

void helx_softmax_f32(const helx_rows_params* p, const float* input, float* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    const float highest = largest(input, p->depth);
    float sum = 0.0f;
    for (int32_t c = 0; c < p->depth; ++c) {
      output[c] = expf((input[c] - highest) * p->beta);
      sum += output[c];
    }
    for (int32_t c = 0; c < p->depth; ++c) output[c] /= sum;
  }
}

/* x - max - log(sum(exp(x - max))), summed in the order of the elements. */
void helx_log_softmax_f32(const helx_rows_params* p, const float* input, float* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    const float highest = largest(input, p->depth);
    float sum = 0.0f;
    for (int32_t c = 0; c < p->depth; ++c) sum += expf(input[c] - highest);
    const float log_sum = logf(sum);
    for (int32_t c = 0; c < p->depth; ++c) output[c] = input[c] - highest - log_sum;
  }
}

/* x / max(sqrt(sum of squares), 1e-6). */
void helx_l2_normalize_f32(const helx_rows_params* p, const float* input, float* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    float sum = 0.0f;
    for (int32_t c = 0; c < p->depth; ++c) sum += input[c] * input[c];
    float norm = sqrtf(sum);
    if (norm < 1e-6f) norm = 1e-6f;
    for (int32_t c = 0; c < p->depth; ++c) output[c] = input[c] / norm;
  }
}
