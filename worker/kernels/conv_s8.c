#include "helx_dot.h"
#include "helx_kernels.h"
#include "helx_window.h"

/* The filters [first, first + count) of one group at one output position; count <= 4. `offset` is 0 for windows inside the
 * image, where the zero point is in the bias, and -zero_point where taps are missing. */
static inline void block(const helx_conv_s8_params* p, const int8_t* image, int32_t origin_y,
                         int32_t origin_x, helx_taps rows, helx_taps columns, int32_t group,
                         int32_t first, int32_t count, int32_t offset, int32_t* acc) {
  const int32_t depth = p->in_c / p->groups;
  const int32_t filter_row = p->filter_w * depth;
  const int32_t filter_size = p->filter_h * filter_row;
  /* Neighbouring taps are one run when nothing lies between them. */
  const int32_t joined = p->groups == 1 && p->dilation_w == 1;
  const int32_t runs = joined ? 1 : columns.last - columns.first;
  const int32_t length = joined ? (columns.last - columns.first) * depth : depth;
  for (int32_t ky = rows.first; ky < rows.last; ++ky) {
    const int8_t* row = image + (origin_y + ky * p->dilation_h) * p->in_w * p->in_c + group * depth;
    for (int32_t run = 0; run < runs; ++run) {
      const int32_t kx = columns.first + run;
      const int8_t* x = row + (origin_x + kx * p->dilation_w) * p->in_c;
      const int8_t* w = p->weights + first * filter_size + ky * filter_row + kx * depth;
      if (count == 4) {
        helx_dot4_s8(x, w, filter_size, length, offset, acc);
      } else {
        for (int32_t i = 0; i < count; ++i) {
          acc[i] += helx_dot_s8(x, w + i * filter_size, length, offset);
        }
      }
    }
  }
}

static void position(const helx_conv_s8_params* p, const int8_t* image, int32_t origin_y,
                     int32_t origin_x, int8_t* output) {
  const helx_taps rows = helx_inside(origin_y, p->in_h, p->filter_h, p->dilation_h);
  const helx_taps columns = helx_inside(origin_x, p->in_w, p->filter_w, p->dilation_w);
  const int32_t whole =
      rows.last - rows.first == p->filter_h && columns.last - columns.first == p->filter_w;
  const int32_t per_group = p->out_c / p->groups;
  for (int32_t group = 0; group < p->groups; ++group) {
    const int32_t end = (group + 1) * per_group;
    for (int32_t c = group * per_group; c < end; c += 4) {
      const int32_t count = helx_min(4, end - c);
      const helx_channel* channel = p->channels + c;
      int32_t acc[4];
      if (whole) {
        for (int32_t i = 0; i < count; ++i) acc[i] = channel[i].bias;
        block(p, image, origin_y, origin_x, rows, columns, group, c, count, 0, acc);
      } else {
        for (int32_t i = 0; i < count; ++i) acc[i] = channel[i].border_bias;
        block(p, image, origin_y, origin_x, rows, columns, group, c, count, -p->input_zero_point,
              acc);
      }
      for (int32_t i = 0; i < count; ++i) {
        const int32_t y = helx_requantize(acc[i], channel[i].multiplier, channel[i].shift);
        output[c + i] = (int8_t)helx_clamp(y + p->output_zero_point, p->lowest, p->highest);
      }
    }
  }
}

void helx_conv_s8(const helx_conv_s8_params* p, const int8_t* input, int8_t* output) {
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      for (int32_t x = 0; x < p->out_w; ++x) {
        position(p, input, y * p->stride_h - p->pad_h, x * p->stride_w - p->pad_w, output);
        output += p->out_c;
      }
    }
    input += p->in_h * p->in_w * p->in_c;
  }
}
