/* Quantising a run of floats to int8 when it arrives (TFLite's portable_tensor_utils.cc). */
#ifndef HELX_HYBRID_H_
#define HELX_HYBRID_H_

#include <math.h>
#include <stdint.h>

typedef struct {
  float scale;
  int32_t zero_point;
} helx_range;

static inline int32_t helx_saturated(float x, int32_t lowest) {
  if (x <= (float)lowest) return lowest;
  return x >= 127.0f ? 127 : (int32_t)roundf(x);
}

/* Symmetric: the largest magnitude becomes 127. */
static inline helx_range helx_quantize_symmetric(const float* v, int32_t n, int8_t* q) {
  helx_range r = {1.0f, 0};
  float largest = 0.0f;
  for (int32_t i = 0; i < n; ++i) largest = fabsf(v[i]) > largest ? fabsf(v[i]) : largest;
  const float inverse = largest == 0.0f ? 0.0f : 127.0f / largest;
  if (largest != 0.0f) r.scale = largest / 127.0f;
  for (int32_t i = 0; i < n; ++i) q[i] = (int8_t)helx_saturated(v[i] * inverse, -127);
  return r;
}

/* Asymmetric: the range, with 0 in it, becomes [-128, 127]. */
static inline helx_range helx_quantize_asymmetric(const float* v, int32_t n, int8_t* q) {
  helx_range r = {1.0f, 0};
  float low = 0.0f, high = 0.0f;
  for (int32_t i = 0; i < n; ++i) {
    low = v[i] < low ? v[i] : low;
    high = v[i] > high ? v[i] : high;
  }
  if (low != high) {
    const double scale = ((double)high - (double)low) / 255.0;
    const double below = (double)low / scale, above = (double)high / scale;
    const double zero =
        128.0 + fabs(below) < 127.0 + fabs(above) ? -128.0 - below : 127.0 - above;
    r.zero_point = zero <= -128.0 ? -128 : (zero >= 127.0 ? 127 : (int32_t)round(zero));
    r.scale = (float)scale;
  }
  const float inverse = low == high ? 0.0f : 1.0f / r.scale;
  for (int32_t i = 0; i < n; ++i) {
    q[i] = (int8_t)helx_saturated((float)r.zero_point + v[i] * inverse, -128);
  }
  return r;
}

#endif /* HELX_HYBRID_H_ */
