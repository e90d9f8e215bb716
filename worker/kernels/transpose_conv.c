#include "helx_arith.h"
#include "helx_layers.h"
#include "helx_requantize16.h"
#include "helx_transposed.h"

/* Defines a static function that adds up one output: the sum over all taps and input channels. */
#define HELX_TRANSPOSED_SUM(NAME, IN, WEIGHT, SUM, OFFSET)                                   \
  static SUM NAME(const helx_conv_shape* s, const IN* image, const WEIGHT* filter,           \
                  int32_t out_y, int32_t out_x, int32_t c, int32_t offset) {                 \
    SUM sum = 0;                                                                             \
    (void)offset;                                                                            \
    for (int32_t ky = 0; ky < s->filter_h; ++ky) {                                           \
      const int32_t y = helx_source(out_y, s->pad_h, ky, s->stride_h, s->in_h);              \
      if (y < 0) continue;                                                                   \
      for (int32_t kx = 0; kx < s->filter_w; ++kx) {                                         \
        const int32_t x = helx_source(out_x, s->pad_w, kx, s->stride_w, s->in_w);            \
        if (x < 0) continue;                                                                 \
        const IN* v = image + (y * s->in_w + x) * s->in_c;                                   \
        const WEIGHT* w = filter + ((c * s->filter_h + ky) * s->filter_w + kx) * s->in_c;    \
        for (int32_t k = 0; k < s->in_c; ++k) sum += (v[k] OFFSET) * w[k];                   \
      }                                                                                      \
    }                                                                                        \
    return sum;                                                                              \
  }

HELX_TRANSPOSED_SUM(sum_f32, float, float, float, )
HELX_TRANSPOSED_SUM(sum_s8, int8_t, int8_t, int32_t, +offset)
HELX_TRANSPOSED_SUM(sum_s16, int16_t, int8_t, int64_t, )

void helx_transpose_conv_f32(const helx_conv_f32_params* p, const float* input,
                             const float* filter, const float* bias, float* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
    for (int32_t y = 0; y < s->out_h; ++y) {
      for (int32_t x = 0; x < s->out_w; ++x) {
        for (int32_t c = 0; c < s->out_c; ++c) {
          float v = sum_f32(s, input, filter, y, x, c, 0) + (bias ? bias[c] : 0.0f);
          v = v < p->lowest ? p->lowest : v;
          *output++ = p->highest < v ? p->highest : v;
        }
      }
    }
  }
}

void helx_transpose_conv_f32_no_bias(const helx_conv_f32_params* p, const float* input,
                                     const float* filter, float* output) {
  helx_transpose_conv_f32(p, input, filter, 0, output);
}

void helx_transpose_conv_s8(const helx_transpose_conv_s8_params* p, const int8_t* input,
                            int8_t* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
    for (int32_t y = 0; y < s->out_h; ++y) {
      for (int32_t x = 0; x < s->out_w; ++x) {
        for (int32_t c = 0; c < s->out_c; ++c) {
          const helx_channel_s8* channel = p->channels + c;
          const int32_t sum =
              channel->bias + sum_s8(s, input, p->weights, y, x, c, -p->input_zero_point);
          const int32_t v = helx_requantize(sum, channel->multiplier, channel->shift);
          *output++ = (int8_t)helx_clamp(v + p->output_zero_point, p->lowest, p->highest);
        }
      }
    }
  }
}

void helx_transpose_conv_s16(const helx_conv_s16_params* p, const int16_t* input,
                             int16_t* output) {
  const helx_conv_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b, input += s->in_h * s->in_w * s->in_c) {
    for (int32_t y = 0; y < s->out_h; ++y) {
      for (int32_t x = 0; x < s->out_w; ++x) {
        for (int32_t c = 0; c < s->out_c; ++c) {
          const int64_t sum =
              p->channels[c].bias + sum_s16(s, input, p->weights, y, x, c, 0);
          const int32_t v = helx_requantize16(sum, p->channels + c, p->narrow);
          *output++ = (int16_t)helx_clamp(v, p->lowest, p->highest);
        }
      }
    }
  }
}
