#include <math.h>

#include "helx_arith.h"
#include "helx_layers.h"
#include "helx_window.h"

static inline uint8_t finish(const helx_conv_u8_params* p, int32_t c, int32_t sum) {
  float y = (float)(sum + p->channels[c].bias) * p->channels[c].scale;
  const float lowest = (float)(p->lowest - p->output_zero_point);
  const float highest = (float)(p->highest - p->output_zero_point);
  y = y < lowest ? lowest : (y > highest ? highest : y);
  return (uint8_t)((int32_t)rintf(y) + p->output_zero_point);
}

void helx_conv_u8(const helx_conv_u8_params* p, const uint8_t* input, uint8_t* output) {
  const helx_conv_shape* s = &p->shape;
  const int32_t depth = s->in_c / s->groups;
  const int32_t per_group = s->out_c / s->groups;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
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
              const uint8_t* v = input +
                                 ((origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                  kx * s->dilation_w) * s->in_c + c / per_group * depth;
              const uint8_t* w = p->weights + ((c * s->filter_h + ky) * s->filter_w + kx) * depth;
              for (int32_t k = 0; k < depth; ++k) {
                sum += (v[k] - p->input_zero_point) * (w[k] - p->filter_zero_point);
              }
            }
          }
          *output++ = finish(p, c, sum);
        }
      }
    }
  }
}

void helx_depthwise_conv_u8(const helx_conv_u8_params* p, const uint8_t* input, uint8_t* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
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
              sum += (input[at * s->in_c + c / s->multiplier] - p->input_zero_point) *
                     (p->weights[(ky * s->filter_w + kx) * s->out_c + c] - p->filter_zero_point);
            }
          }
          *output++ = finish(p, c, sum);
        }
      }
    }
  }
}
