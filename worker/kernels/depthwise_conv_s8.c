#include "helx_kernels.h"
#include "helx_window.h"

typedef struct {
  const int8_t* image;
  int32_t origin_y, origin_x;
  helx_taps rows, columns;
} window;

static inline int8_t finish(const helx_conv_s8_params* p, const helx_channel* channel,
                            int32_t acc) {
  const int32_t y = helx_requantize(acc, channel->multiplier, channel->shift);
  return (int8_t)helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
}

/* Output channels c..c+3 with one input channel each. */
static inline void four(const helx_conv_s8_params* p, const window* at, int32_t c, int32_t offset,
                        int32_t* acc) {
  int32_t a0 = acc[0], a1 = acc[1], a2 = acc[2], a3 = acc[3];
  for (int32_t ky = at->rows.first; ky < at->rows.last; ++ky) {
    const int32_t row = (at->origin_y + ky * p->dilation_h) * p->in_w + at->origin_x;
    for (int32_t kx = at->columns.first; kx < at->columns.last; ++kx) {
      const int8_t* x = at->image + (row + kx * p->dilation_w) * p->in_c + c;
      const int8_t* w = p->weights + (ky * p->filter_w + kx) * p->out_c + c;
      a0 += w[0] * (x[0] + offset);
      a1 += w[1] * (x[1] + offset);
      a2 += w[2] * (x[2] + offset);
      a3 += w[3] * (x[3] + offset);
    }
  }
  acc[0] = a0;
  acc[1] = a1;
  acc[2] = a2;
  acc[3] = a3;
}

static inline int32_t one(const helx_conv_s8_params* p, const window* at, int32_t c,
                          int32_t in_channel, int32_t offset, int32_t acc) {
  for (int32_t ky = at->rows.first; ky < at->rows.last; ++ky) {
    const int32_t row = (at->origin_y + ky * p->dilation_h) * p->in_w + at->origin_x;
    for (int32_t kx = at->columns.first; kx < at->columns.last; ++kx) {
      const int32_t x = at->image[(row + kx * p->dilation_w) * p->in_c + in_channel];
      acc += p->weights[(ky * p->filter_w + kx) * p->out_c + c] * (x + offset);
    }
  }
  return acc;
}

static void position(const helx_conv_s8_params* p, const window* at, int8_t* output) {
  const int32_t whole = at->rows.last - at->rows.first == p->filter_h &&
                        at->columns.last - at->columns.first == p->filter_w;
  const int32_t offset = -p->input_zero_point;
  int32_t c = 0;
  if (p->multiplier == 1) {
    for (; c + 4 <= p->out_c; c += 4) {
      const helx_channel* channel = p->channels + c;
      int32_t acc[4];
      if (whole) {
        for (int32_t i = 0; i < 4; ++i) acc[i] = channel[i].bias;
        four(p, at, c, 0, acc);
      } else {
        for (int32_t i = 0; i < 4; ++i) acc[i] = channel[i].border_bias;
        four(p, at, c, offset, acc);
      }
      for (int32_t i = 0; i < 4; ++i) output[c + i] = finish(p, channel + i, acc[i]);
    }
  }
  for (; c < p->out_c; ++c) {
    const helx_channel* channel = p->channels + c;
    const int32_t in_channel = c / p->multiplier;
    const int32_t acc = whole ? one(p, at, c, in_channel, 0, channel->bias)
                              : one(p, at, c, in_channel, offset, channel->border_bias);
    output[c] = finish(p, channel, acc);
  }
}

void helx_depthwise_conv_s8(const helx_conv_s8_params* p, const int8_t* input, int8_t* output) {
  window at;
  at.image = input;
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      at.origin_y = y * p->stride_h - p->pad_h;
      at.rows = helx_inside(at.origin_y, p->in_h, p->filter_h, p->dilation_h);
      for (int32_t x = 0; x < p->out_w; ++x) {
        at.origin_x = x * p->stride_w - p->pad_w;
        at.columns = helx_inside(at.origin_x, p->in_w, p->filter_w, p->dilation_w);
        position(p, &at, output);
        output += p->out_c;
      }
    }
    at.image += p->in_h * p->in_w * p->in_c;
  }
}
