#include "helx_kernels.h"
#include "helx_window.h"

/* The mean of the taps inside the image, rounded half away from zero. */
static inline int32_t average(int32_t sum, int32_t count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

void helx_average_pool_s8(const helx_pool_s8_params* p, const int8_t* input, int8_t* output) {
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      const int32_t origin_y = y * p->stride_h - p->pad_h;
      const helx_taps rows = helx_inside(origin_y, p->in_h, p->filter_h, 1);
      for (int32_t x = 0; x < p->out_w; ++x) {
        const int32_t origin_x = x * p->stride_w - p->pad_w;
        const helx_taps columns = helx_inside(origin_x, p->in_w, p->filter_w, 1);
        const int32_t count = (rows.last - rows.first) * (columns.last - columns.first);
        for (int32_t c = 0; c < p->channels; ++c) {
          int32_t sum = 0;
          for (int32_t ky = rows.first; ky < rows.last; ++ky) {
            const int8_t* v =
                input + ((origin_y + ky) * p->in_w + origin_x + columns.first) * p->channels + c;
            for (int32_t kx = columns.first; kx < columns.last; ++kx, v += p->channels) sum += *v;
          }
          *output++ = (int8_t)helx_clamp(average(sum, count), p->lowest, p->highest);
        }
      }
    }
    input += p->in_h * p->in_w * p->channels;
  }
}
