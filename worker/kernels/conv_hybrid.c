#include "helx_hybrid.h"
#include "helx_layers.h"
#include "helx_window.h"

static inline float finish(const helx_conv_hybrid_params* p, int32_t c, int32_t sum, float scale) {
  float y = (float)sum * (p->scales[c] * scale);
  if (p->bias) y += p->bias[c];
  y = y < p->lowest ? p->lowest : y;
  return p->highest < y ? p->highest : y;
}

static inline helx_range quantize(const helx_conv_hybrid_params* p, const float* image, int32_t n,
                                  int8_t* scratch) {
  return p->asymmetric ? helx_quantize_asymmetric(image, n, scratch)
                       : helx_quantize_symmetric(image, n, scratch);
}

void helx_conv_hybrid(const helx_conv_hybrid_params* p, const float* input, int8_t* scratch,
                      float* output) {
  const helx_conv_shape* s = &p->shape;
  const int32_t image = s->in_h * s->in_w * s->in_c;
  const int32_t depth = s->in_c / s->groups;
  const int32_t per_group = s->out_c / s->groups;
  for (int32_t b = 0; b < s->batches; ++b, input += image) {
    const helx_range range = quantize(p, input, image, scratch);
    for (int32_t y = 0; y < s->out_h; ++y) {
      const int32_t origin_y = y * s->stride_h - s->pad_h;
      const helx_taps rows = helx_inside(origin_y, s->in_h, s->filter_h, s->dilation_h);
      for (int32_t x = 0; x < s->out_w; ++x) {
        const int32_t origin_x = x * s->stride_w - s->pad_w;
        const helx_taps columns = helx_inside(origin_x, s->in_w, s->filter_w, s->dilation_w);
        for (int32_t c = 0; c < s->out_c; ++c) {
          int32_t sum = 0;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            for (int32_t kx = columns.first; kx < columns.last; ++kx) {
              const int8_t* v = scratch +
                                ((origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                 kx * s->dilation_w) * s->in_c + c / per_group * depth;
              const int8_t* w =
                  p->weights + ((c * s->filter_h + ky) * s->filter_w + kx) * depth;
              for (int32_t k = 0; k < depth; ++k) sum += (v[k] - range.zero_point) * w[k];
            }
          }
          *output++ = finish(p, c, sum, range.scale);
        }
      }
    }
  }
}

void helx_depthwise_conv_hybrid(const helx_conv_hybrid_params* p, const float* input,
                                int8_t* scratch, float* output) {
  const helx_conv_shape* s = &p->shape;
  const int32_t image = s->in_h * s->in_w * s->in_c;
  for (int32_t b = 0; b < s->batches; ++b, input += image) {
    const helx_range range = quantize(p, input, image, scratch);
    for (int32_t y = 0; y < s->out_h; ++y) {
      const int32_t origin_y = y * s->stride_h - s->pad_h;
      const helx_taps rows = helx_inside(origin_y, s->in_h, s->filter_h, s->dilation_h);
      for (int32_t x = 0; x < s->out_w; ++x) {
        const int32_t origin_x = x * s->stride_w - s->pad_w;
        const helx_taps columns = helx_inside(origin_x, s->in_w, s->filter_w, s->dilation_w);
        for (int32_t c = 0; c < s->out_c; ++c) {
          int32_t sum = 0;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            for (int32_t kx = columns.first; kx < columns.last; ++kx) {
              const int32_t at = (origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                 kx * s->dilation_w;
              sum += (scratch[at * s->in_c + c / s->multiplier] - range.zero_point) *
                     p->weights[(ky * s->filter_w + kx) * s->out_c + c];
            }
          }
          *output++ = finish(p, c, sum, range.scale);
        }
      }
    }
  }
}

void helx_fully_connected_hybrid(const helx_fully_connected_hybrid_params* p, const float* input,
                                 int8_t* scratch, float* output) {
  for (int32_t row = 0; row < p->rows; ++row, input += p->in_depth) {
    const helx_range range = p->asymmetric
                                 ? helx_quantize_asymmetric(input, p->in_depth, scratch)
                                 : helx_quantize_symmetric(input, p->in_depth, scratch);
    for (int32_t c = 0; c < p->out_depth; ++c) {
      const int8_t* w = p->weights + c * p->in_depth;
      int32_t sum = -range.zero_point * p->sums[c];
      for (int32_t k = 0; k < p->in_depth; ++k) sum += scratch[k] * w[k];
      float y = (float)sum * (range.scale * p->scales[c]);
      if (p->bias) y += p->bias[c];
      y = y < p->lowest ? p->lowest : y;
      *output++ = p->highest < y ? p->highest : y;
    }
  }
}
