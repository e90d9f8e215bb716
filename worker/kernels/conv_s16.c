#include "helx_requantize16.h"
#include "helx_window.h"

/* Runs of 2^7 products of 16 by 8 bits fit 32 bits. */
static inline int64_t dot(const int16_t* v, const int8_t* w, int32_t n) {
  int64_t sum = 0;
  while (n > 0) {
    const int32_t run = helx_min(n, 128);
    int32_t part = 0;
    for (int32_t k = 0; k < run; ++k) part += v[k] * w[k];
    sum += part;
    v += run;
    w += run;
    n -= run;
  }
  return sum;
}

void helx_conv_s16(const helx_conv_s16_params* p, const int16_t* input, int16_t* output) {
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
          int64_t sum = p->channels[c].bias;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            for (int32_t kx = columns.first; kx < columns.last; ++kx) {
              const int32_t at = (origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                 kx * s->dilation_w;
              sum += dot(input + at * s->in_c + c / per_group * depth,
                         p->weights + ((c * s->filter_h + ky) * s->filter_w + kx) * depth, depth);
            }
          }
          const int32_t v = helx_requantize16(sum, p->channels + c, p->narrow);
          *output++ = (int16_t)helx_clamp(v, p->lowest, p->highest);
        }
      }
    }
  }
}

void helx_depthwise_conv_s16(const helx_conv_s16_params* p, const int16_t* input,
                             int16_t* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
    for (int32_t y = 0; y < s->out_h; ++y) {
      const int32_t origin_y = y * s->stride_h - s->pad_h;
      const helx_taps rows = helx_inside(origin_y, s->in_h, s->filter_h, s->dilation_h);
      for (int32_t x = 0; x < s->out_w; ++x) {
        const int32_t origin_x = x * s->stride_w - s->pad_w;
        const helx_taps columns = helx_inside(origin_x, s->in_w, s->filter_w, s->dilation_w);
        for (int32_t c = 0; c < s->out_c; ++c) {
          int64_t sum = p->channels[c].bias;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            for (int32_t kx = columns.first; kx < columns.last; ++kx) {
              const int32_t at = (origin_y + ky * s->dilation_h) * s->in_w + origin_x +
                                 kx * s->dilation_w;
              sum += input[at * s->in_c + c / s->multiplier] *
                     p->weights[(ky * s->filter_w + kx) * s->out_c + c];
            }
          }
          const int32_t v = helx_requantize16(sum, p->channels + c, p->narrow);
          *output++ = (int16_t)helx_clamp(v, p->lowest, p->highest);
        }
      }
    }
  }
}

void helx_fully_connected_s16(const helx_fully_connected_s16_params* p, const int16_t* input,
                              int16_t* output) {
  for (int32_t row = 0; row < p->rows; ++row, input += p->in_depth) {
    for (int32_t c = 0; c < p->out_depth; ++c) {
      const int64_t sum =
          p->channels[c].bias + dot(input, p->weights + c * p->in_depth, p->in_depth);
      const int32_t v = helx_requantize16(sum, p->channels + c, p->narrow);
      *output++ = (int16_t)helx_clamp(v, p->lowest, p->highest);
    }
  }
}
