#include <math.h>

#include "helx_layers.h"
#include "helx_window.h"

/* The mean of the taps inside the image, rounded half away from zero. */
static inline int32_t average(int32_t sum, int32_t count) {
  return sum > 0 ? (sum + count / 2) / count : (sum - count / 2) / count;
}

static inline float clamp(const helx_pool_params* p, float x) {
  x = x < p->lowest_f32 ? p->lowest_f32 : x;
  return p->highest_f32 < x ? p->highest_f32 : x;
}

/* Defines NAME: `total` starts as START and takes in every tap `*v` by STEP; FINISH gives the output from `total`, `count` and
 * `p`. */
#define HELX_POOL(NAME, TYPE, TOTAL, START, STEP, FINISH)                                    \
  void NAME(const helx_pool_params* p, const TYPE* input, TYPE* output) {                    \
    for (int32_t batch = 0; batch < p->batches; ++batch) {                                   \
      for (int32_t y = 0; y < p->out_h; ++y) {                                               \
        const int32_t origin_y = y * p->stride_h - p->pad_h;                                 \
        const helx_taps rows = helx_inside(origin_y, p->in_h, p->filter_h, 1);               \
        for (int32_t x = 0; x < p->out_w; ++x) {                                             \
          const int32_t origin_x = x * p->stride_w - p->pad_w;                               \
          const helx_taps columns = helx_inside(origin_x, p->in_w, p->filter_w, 1);          \
          const int32_t count = (rows.last - rows.first) * (columns.last - columns.first);   \
          (void)count;                                                                       \
          for (int32_t c = 0; c < p->channels; ++c) {                                        \
            TOTAL total = START;                                                             \
            for (int32_t ky = rows.first; ky < rows.last; ++ky) {                            \
              const TYPE* v =                                                                \
                  input + ((origin_y + ky) * p->in_w + origin_x + columns.first) *           \
                              p->channels + c;                                               \
              for (int32_t kx = columns.first; kx < columns.last; ++kx, v += p->channels) {  \
                STEP;                                                                        \
              }                                                                              \
            }                                                                                \
            *output++ = (TYPE)(FINISH);                                                      \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
      input += p->in_h * p->in_w * p->channels;                                              \
    }                                                                                        \
  }

#define AVERAGE(NAME, TYPE)                          \
  HELX_POOL(NAME, TYPE, int32_t, 0, total += *v,     \
            helx_clamp(average(total, count), p->lowest, p->highest))
#define MAXIMUM(NAME, TYPE, LOWEST)                                    \
  HELX_POOL(NAME, TYPE, int32_t, LOWEST, total = helx_max(total, *v), \
            helx_clamp(total, p->lowest, p->highest))

AVERAGE(helx_average_pool_s8, int8_t)
AVERAGE(helx_average_pool_u8, uint8_t)
AVERAGE(helx_average_pool_s16, int16_t)
MAXIMUM(helx_max_pool_s8, int8_t, -128)
MAXIMUM(helx_max_pool_u8, uint8_t, 0)
MAXIMUM(helx_max_pool_s16, int16_t, -32768)
HELX_POOL(helx_average_pool_f32, float, float, 0.0f, total += *v, clamp(p, total / (float)count))
HELX_POOL(helx_max_pool_f32, float, float, -3.402823466e+38f, total = total < *v ? *v : total,
          clamp(p, total))
HELX_POOL(helx_l2_pool_f32, float, float, 0.0f, total += *v * *v,
          clamp(p, sqrtf(total / (float)count)))
