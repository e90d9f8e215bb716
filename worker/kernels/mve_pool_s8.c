#include "helx_layers.h"
#include "helx_window.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

static inline int32_t average(int32_t sum, int32_t count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

/* Eight channels, or fewer, of one window that lies inside the image. */
static inline void eight(const helx_pool_params* p, const int8_t* v, int32_t rows,
                         int32_t columns, int32_t channels, int8_t* output) {
  const mve_pred16_t some = vctp16q((uint32_t)channels);
  const int32_t row_skip = (p->in_w - columns) * p->channels;
  int16x8_t sums = vdupq_n_s16(0);
  for (int32_t y = 0; y < rows; ++y, v += row_skip) {
    for (int32_t x = 0; x < columns; ++x, v += p->channels) {
      sums = vaddq_s16(sums, vldrbq_z_s16(v, some));
    }
  }
  int16_t sum[8];
  vst1q_s16(sum, sums);
  const int32_t count = rows * columns;
  for (int32_t i = 0; i < helx_min(channels, 8); ++i) {
    output[i] = (int8_t)helx_clamp(average(sum[i], count), p->lowest, p->highest);
  }
}

void helx_mve_average_pool_s8(const helx_pool_params* p, const int8_t* input, int8_t* output) {
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      const int32_t origin_y = y * p->stride_h - p->pad_h;
      const helx_taps rows = helx_inside(origin_y, p->in_h, p->filter_h, 1);
      for (int32_t x = 0; x < p->out_w; ++x) {
        const int32_t origin_x = x * p->stride_w - p->pad_w;
        const helx_taps columns = helx_inside(origin_x, p->in_w, p->filter_w, 1);
        const int8_t* v =
            input +
            ((origin_y + rows.first) * p->in_w + origin_x + columns.first) * p->channels;
        for (int32_t c = 0; c < p->channels; c += 8) {
          eight(p, v + c, rows.last - rows.first, columns.last - columns.first, p->channels - c,
                output + c);
        }
        output += p->channels;
      }
    }
    input += p->in_h * p->in_w * p->channels;
  }
}

#endif /* __ARM_FEATURE_MVE */
