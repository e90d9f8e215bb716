#include <math.h>

#include "helx_kernels.h"

/* x - max - log(sum(exp(x - max))), summed in the order of the elements. */
void helx_log_softmax_f32(const helx_rows_params* p, const float* input, float* output) {
  for (int32_t r = 0; r < p->rows; ++r, input += p->depth, output += p->depth) {
    float highest = input[0];
    for (int32_t c = 1; c < p->depth; ++c) {
      if (input[c] > highest) highest = input[c];
    }
    float sum = 0.0f;
    for (int32_t c = 0; c < p->depth; ++c) sum += expf(input[c] - highest);
    const float log_sum = logf(sum);
    for (int32_t c = 0; c < p->depth; ++c) output[c] = input[c] - highest - log_sum;
  }
}
