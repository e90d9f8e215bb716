#include "helx_layers.h"
#include "helx_window.h"

static inline float clamp(const helx_conv_f32_params* p, float x) {
  x = x < p->lowest ? p->lowest : x;
  return p->highest < x ? p->highest : x;
}

void helx_depthwise_conv_f32(const helx_conv_f32_params* p, const float* input,
                             const float* filter, const float* bias, float* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
    for (int32_t y = 0; y < s->out_h; ++y) {
      const int32_t origin_y = y * s->stride_h - s->pad_h;
      const helx_taps rows = helx_inside(origin_y, s->in_h, s->filter_h, s->dilation_h);
      for (int32_t x = 0; x < s->out_w; ++x) {
        const int32_t origin_x = x * s->stride_w - s->pad_w;
        const helx_taps columns = helx_inside(origin_x, s->in_w, s->filter_w, s->dilation_w);
        for (int32_t c = 0; c < s->out_c; ++c) {
          const int32_t in_channel = c / s->multiplier;
          float sum = 0.0f;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            for (int32_t kx = columns.first; kx < columns.last; ++kx) {
              const int32_t at = (origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                 kx * s->dilation_w;
              sum += input[at * s->in_c + in_channel] *
                     filter[(ky * s->filter_w + kx) * s->out_c + c];
            }
          }
          *output++ = clamp(p, bias ? sum + bias[c] : sum);
        }
      }
    }
  }
}

void helx_depthwise_conv_f32_no_bias(const helx_conv_f32_params* p, const float* input,
                                     const float* filter, float* output) {
  helx_depthwise_conv_f32(p, input, filter, 0, output);
}
