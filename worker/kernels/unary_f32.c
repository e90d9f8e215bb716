#include <math.h>

#include "helx_walk.h"

/* Beyond these the quotient is 1, or the exponential itself, to single precision. */
static inline float logistic(float x) {
  if (x > 16.619047164916992188f) return 1.0f;
  return x < -9.0f ? expf(x) : 1.0f / (1.0f + expf(-x));
}

static inline float hard_swish(float x) {
  float gate = x + 3.0f;
  gate = gate < 0.0f ? 0.0f : gate;
  gate = gate > 6.0f ? 6.0f : gate;
  return x * gate / 6.0f;
}

static inline float gelu(const helx_unary_f32_params* p, float x) {
  if (p->alpha != 0.0f) {
    const float argument = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + tanhf(argument));
  }
  return 0.5f * x * erfcf(x * -0.70710678118654752440f);
}

static inline float clamp(const helx_unary_f32_params* p, float x) {
  return x > p->highest ? p->highest : (x < p->lowest ? p->lowest : x);
}

#define F32(NAME, EXPRESSION) HELX_UNARY(NAME, helx_unary_f32_params, float, float, EXPRESSION)

F32(helx_abs_f32, fabsf(x))
F32(helx_neg_f32, -x)
F32(helx_sqrt_f32, sqrtf(x))
F32(helx_rsqrt_f32, 1.0f / sqrtf(x))
F32(helx_square_f32, x * x)
F32(helx_exp_f32, expf(x))
F32(helx_log_f32, logf(x))
F32(helx_sin_f32, sinf(x))
F32(helx_cos_f32, cosf(x))
F32(helx_ceil_f32, ceilf(x))
F32(helx_floor_f32, floorf(x))
F32(helx_round_f32, rintf(x))
F32(helx_sign_f32, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x))
F32(helx_tanh_f32, tanhf(x))
F32(helx_logistic_f32, logistic(x))
F32(helx_elu_f32, x < 0.0f ? expm1f(x) : x)
F32(helx_hard_swish_f32, hard_swish(x))
F32(helx_leaky_relu_f32, x > 0.0f ? x : x * p->alpha)
F32(helx_gelu_f32, gelu(p, x))
F32(helx_clamp_f32, clamp(p, x))
