#include <math.h>
#include <string.h>

#include "helx_arith.h"
#include "helx_layers.h"

typedef struct {
  int32_t low, high;
  float part; /* of `high` */
} spot_f32;

static spot_f32 locate_f32(int32_t at, float ratio, int32_t half, int32_t size) {
  const float exact = half ? ((float)at + 0.5f) * ratio - 0.5f : (float)at * ratio;
  spot_f32 s;
  s.low = helx_max((int32_t)floorf(exact), 0);
  s.high = helx_min((int32_t)ceilf(exact), size - 1);
  s.part = exact - (float)s.low;
  return s;
}

void helx_resize_bilinear_f32(const helx_resize_params* p, const float* input, float* output) {
  for (int32_t b = 0; b < p->batches; ++b, input += p->in_h * p->in_w * p->channels) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      const spot_f32 v = locate_f32(y, p->ratio_h, p->half_pixel_centers, p->in_h);
      for (int32_t x = 0; x < p->out_w; ++x) {
        const spot_f32 h = locate_f32(x, p->ratio_w, p->half_pixel_centers, p->in_w);
        const float* low_low = input + (v.low * p->in_w + h.low) * p->channels;
        const float* high_low = input + (v.high * p->in_w + h.low) * p->channels;
        const float* low_high = input + (v.low * p->in_w + h.high) * p->channels;
        const float* high_high = input + (v.high * p->in_w + h.high) * p->channels;
        for (int32_t c = 0; c < p->channels; ++c) {
          *output++ = low_low[c] * (1 - v.part) * (1 - h.part) +
                      high_low[c] * v.part * (1 - h.part) +
                      low_high[c] * (1 - v.part) * h.part + high_high[c] * v.part * h.part;
        }
      }
    }
  }
}

typedef struct {
  int32_t low, high;
  int32_t part; /* of `high`, in 1024ths */
} spot_int;

static spot_int locate_int(int32_t at, int32_t scale, int32_t half, int32_t size) {
  const int32_t exact = half ? at * scale + scale / 2 - (1 << 9) : at * scale;
  spot_int s;
  s.low = helx_max(exact / (1 << 10), 0);
  s.high = helx_min((exact + (1 << 10) - 1) / (1 << 10), size - 1);
  s.part = exact - (1 << 10) * s.low;
  return s;
}

#define HELX_RESIZE_BILINEAR(NAME, TYPE)                                                       \
  void NAME(const helx_resize_params* p, const TYPE* input, TYPE* output) {                    \
    for (int32_t b = 0; b < p->batches; ++b, input += p->in_h * p->in_w * p->channels) {       \
      for (int32_t y = 0; y < p->out_h; ++y) {                                                 \
        const spot_int v = locate_int(y, p->scale_h, p->half_pixel_centers, p->in_h);          \
        for (int32_t x = 0; x < p->out_w; ++x) {                                               \
          const spot_int h = locate_int(x, p->scale_w, p->half_pixel_centers, p->in_w);        \
          const TYPE* low_low = input + (v.low * p->in_w + h.low) * p->channels;               \
          const TYPE* high_low = input + (v.high * p->in_w + h.low) * p->channels;             \
          const TYPE* low_high = input + (v.low * p->in_w + h.high) * p->channels;             \
          const TYPE* high_high = input + (v.high * p->in_w + h.high) * p->channels;           \
          for (int32_t c = 0; c < p->channels; ++c) {                                          \
            const int64_t sum = (int64_t)low_low[c] * (1024 - v.part) * (1024 - h.part) +      \
                                (int64_t)high_low[c] * v.part * (1024 - h.part) +              \
                                (int64_t)low_high[c] * (1024 - v.part) * h.part +              \
                                (int64_t)high_high[c] * v.part * h.part;                       \
            *output++ = (TYPE)((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));          \
          }                                                                                    \
        }                                                                                      \
      }                                                                                        \
    }                                                                                          \
  }

HELX_RESIZE_BILINEAR(helx_resize_bilinear_s8, int8_t)
HELX_RESIZE_BILINEAR(helx_resize_bilinear_u8, uint8_t)
HELX_RESIZE_BILINEAR(helx_resize_bilinear_s16, int16_t)

static int32_t nearest(const helx_resize_params* p, int32_t at, float ratio, int32_t size) {
  const float exact = ((float)at + (p->half_pixel_centers ? 0.5f : 0.0f)) * ratio;
  const int32_t index = (int32_t)(p->align_corners ? roundf(exact) : floorf(exact));
  return helx_max(helx_min(index, size - 1), 0);
}

void helx_resize_nearest(const helx_resize_params* p, const void* input, void* output) {
  const uint8_t* image = (const uint8_t*)input;
  uint8_t* to = (uint8_t*)output;
  const int32_t run = p->channels * p->bytes;
  for (int32_t b = 0; b < p->batches; ++b, image += p->in_h * p->in_w * run) {
    for (int32_t y = 0; y < p->out_h; ++y) {
      const uint8_t* row = image + nearest(p, y, p->ratio_h, p->in_h) * p->in_w * run;
      for (int32_t x = 0; x < p->out_w; ++x, to += run) {
        memcpy(to, row + nearest(p, x, p->ratio_w, p->in_w) * run, (size_t)run);
      }
    }
  }
}
