/* The arguments of one LSTM gate for all cells: products with input and hidden state, each rescaled and saturated, then added. */
#ifndef HELX_LSTM_GATES_H_
#define HELX_LSTM_GATES_H_

#include "helx_dot.h"
#include "helx_dot16.h"
#include "helx_requantize16.h"
#include "helx_state.h"

static inline int32_t helx_lstm_saturated(int32_t x) { return helx_clamp(x, -32768, 32767); }

static inline int16_t helx_lstm_argument(int32_t from_input, int32_t from_hidden) {
  return (int16_t)helx_lstm_saturated(helx_lstm_saturated(from_input) +
                                      helx_lstm_saturated(from_hidden));
}

#if defined(__ARM_FEATURE_MVE)

/* Four sums rescaled as helx_requantize does it, saturated to 16 bits. */
static inline int32x4_t helx_lstm_rescale4(const int32_t* sum, int32_t multiplier, int32_t shift) {
  const int32_t right = helx_min(shift, 0);
  int32x4_t y = vshlq_r_s32(vld1q_s32(sum), helx_max(shift, 0));
  y = vqrdmulhq_n_s32(y, multiplier);
  y = vqaddq_s32(y, vshlq_r_s32(y, right < 0 ? -31 : 32));
  y = vrshlq_n_s32(y, right);
  return vminq_s32(vmaxq_s32(y, vdupq_n_s32(-32768)), vdupq_n_s32(32767));
}

#endif

#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_FEATURE_MVE)

/* Of every four whole x, the pairs of int16 (0, 2) and (1, 3). Returns the end. */
static inline uint32_t* helx_lstm_widen(const int8_t* x, int32_t n, uint32_t* wide) {
  return helx_dsp_widen(wide, x, n & ~3, 1);
}

/* Input and hidden state, widened once for all gates of a step. */
static inline void helx_lstm_prepare_s8(const helx_lstm_shape* s, const int8_t* input,
                                        const int8_t* hidden, int16_t* wide) {
  helx_lstm_widen(hidden, s->out_depth,
                  helx_lstm_widen(input, s->in_depth, (uint32_t*)(void*)wide));
}

/* Two filters of `n` weights by x, whose whole fours are also in `wide`. */
static inline void helx_lstm_dot2(const int8_t* x, const uint32_t* wide, const int8_t* w,
                                  int32_t stride, int32_t n, int32_t* acc) {
  const uint32_t* end = wide + (n & ~3) / 2;
  int32_t a0 = acc[0], a1 = acc[1];
  const int8_t* v = w + stride;
#pragma GCC unroll 4
  for (; wide != end; wide += 2, w += 4, v += 4) {
    uint32_t first, second;
    __builtin_memcpy(&first, w, 4);
    __builtin_memcpy(&second, v, 4);
    const int16x2_t even = (int16x2_t)wide[0], odd = (int16x2_t)wide[1];
    a0 = __smlad(even, __sxtb16((int8x4_t)first), a0);
    a1 = __smlad(even, __sxtb16((int8x4_t)second), a1);
    a0 = __smlad(odd, helx_dsp_odd(first), a0);
    a1 = __smlad(odd, helx_dsp_odd(second), a1);
  }
  x += n & ~3;
  for (int32_t left = n & 3; left > 0; --left) {
    a0 += *x * *w++;
    a1 += *x++ * *v++;
  }
  acc[0] = a0;
  acc[1] = a1;
}

/* A rescale of a gate, what depends on its shift worked out once for all cells. `rounding` is 0 where the quick way does not
 * hold: it needs -15 <= shift <= -1, so that what the addition saturates the result does too. */
typedef struct {
  int32_t multiplier, shift, rounding;
} helx_lstm_rescale;

static inline helx_lstm_rescale helx_lstm_make_rescale(int32_t multiplier, int32_t shift) {
  const int32_t quick = shift < 0 && shift >= -15;
  return (helx_lstm_rescale){multiplier, shift, quick ? 1 << (-shift - 1) : 0};
}

/* helx_requantize, saturated to 16 bits. */
static inline int32_t helx_lstm_argument_of(int32_t x, helx_lstm_rescale r) {
  return __ssat(helx_requantize(x, r.multiplier, r.shift), 16);
}

/* The same where `rounding` is not 0. */
static inline int32_t helx_lstm_argument_right(int32_t x, helx_lstm_rescale r) {
  x = helx_high_mul(x, r.multiplier);
  return __ssat(__qadd(x + (x >> 31), r.rounding) >> -r.shift, 16);
}

/* Two cells at a time; of an odd number the last one is computed twice. */
static inline void helx_lstm_gate_s8(const helx_lstm_shape* s, const helx_lstm_gate* g,
                                     const int8_t* input, const int8_t* hidden,
                                     const int16_t* wide, int16_t* out) {
  const uint32_t* wide_input = (const uint32_t*)(const void*)wide;
  const uint32_t* wide_hidden = wide_input + (s->in_depth & ~3) / 2;
  const helx_lstm_rescale by_input = helx_lstm_make_rescale(g->input_multiplier, g->input_shift);
  const helx_lstm_rescale by_hidden =
      helx_lstm_make_rescale(g->recurrent_multiplier, g->recurrent_shift);
  const int32_t quick = by_input.rounding != 0 && by_hidden.rounding != 0;
  for (int32_t c = 0; c < s->cells; c += 2) {
    const int32_t next = helx_min(1, s->cells - 1 - c);
    int32_t x[2] = {(int32_t)g->input_bias[c], (int32_t)g->input_bias[c + next]};
    int32_t h[2] = {(int32_t)g->recurrent_bias[c], (int32_t)g->recurrent_bias[c + next]};
    helx_lstm_dot2(input, wide_input, g->input_weights + c * s->in_depth, next * s->in_depth,
                   s->in_depth, x);
    helx_lstm_dot2(hidden, wide_hidden, g->recurrent_weights + c * s->out_depth,
                   next * s->out_depth, s->out_depth, h);
    for (int32_t i = 0; i <= next; ++i) {
      const int32_t sum = quick ? helx_lstm_argument_right(x[i], by_input) +
                                      helx_lstm_argument_right(h[i], by_hidden)
                                : helx_lstm_argument_of(x[i], by_input) +
                                      helx_lstm_argument_of(h[i], by_hidden);
      out[c + i] = (int16_t)__ssat(sum, 16);
    }
  }
}

#else

static inline void helx_lstm_prepare_s8(const helx_lstm_shape* s, const int8_t* input,
                                        const int8_t* hidden, int16_t* wide) {
  (void)s;
  (void)input;
  (void)hidden;
  (void)wide;
}

static inline void helx_lstm_gate_s8(const helx_lstm_shape* s, const helx_lstm_gate* g,
                                     const int8_t* input, const int8_t* hidden,
                                     const int16_t* wide, int16_t* out) {
  (void)wide;
  int32_t c = 0;
  for (; c + 4 <= s->cells; c += 4) {
    int32_t x[4], h[4];
    for (int32_t i = 0; i < 4; ++i) {
      x[i] = (int32_t)g->input_bias[c + i];
      h[i] = (int32_t)g->recurrent_bias[c + i];
    }
    helx_dot4_s8(input, g->input_weights + c * s->in_depth, s->in_depth, s->in_depth, 0, x);
    helx_dot4_s8(hidden, g->recurrent_weights + c * s->out_depth, s->out_depth, s->out_depth, 0, h);
#if defined(__ARM_FEATURE_MVE)
    const int32x4_t sum = vaddq_s32(helx_lstm_rescale4(x, g->input_multiplier, g->input_shift),
                                    helx_lstm_rescale4(h, g->recurrent_multiplier,
                                                       g->recurrent_shift));
    vstrhq_s32(out + c, vminq_s32(vmaxq_s32(sum, vdupq_n_s32(-32768)), vdupq_n_s32(32767)));
#else
    for (int32_t i = 0; i < 4; ++i) {
      out[c + i] = helx_lstm_argument(
          helx_requantize(x[i], g->input_multiplier, g->input_shift),
          helx_requantize(h[i], g->recurrent_multiplier, g->recurrent_shift));
    }
#endif
  }
  for (; c < s->cells; ++c) {
    const int32_t x = (int32_t)g->input_bias[c] +
                      helx_dot_s8(input, g->input_weights + c * s->in_depth, s->in_depth, 0);
    const int32_t h =
        (int32_t)g->recurrent_bias[c] +
        helx_dot_s8(hidden, g->recurrent_weights + c * s->out_depth, s->out_depth, 0);
    out[c] = helx_lstm_argument(
        helx_requantize(x, g->input_multiplier, g->input_shift),
        helx_requantize(h, g->recurrent_multiplier, g->recurrent_shift));
  }
}

#endif

static inline void helx_lstm_prepare_s16(const helx_lstm_shape* s, const int16_t* input,
                                         const int16_t* hidden, int16_t* wide) {
  (void)s;
  (void)input;
  (void)hidden;
  (void)wide;
}

/* Two cells at a time; of an odd number the last one is computed twice. DOT2 as helx_dot2_s16. */
#define HELX_LSTM_GATE_S16(NAME, DOT2)                                                           \
  static inline void NAME(const helx_lstm_shape* s, const helx_lstm_gate* g,                     \
                          const int16_t* input, const int16_t* hidden, const int16_t* wide,      \
                          int16_t* out) {                                                        \
    (void)wide;                                                                                  \
    for (int32_t c = 0; c < s->cells; c += 2) {                                                  \
      const int32_t next = helx_min(1, s->cells - 1 - c);                                        \
      int64_t x[2] = {g->input_bias[c], g->input_bias[c + next]};                                \
      int64_t h[2] = {g->recurrent_bias[c], g->recurrent_bias[c + next]};                        \
      DOT2(input, g->input_weights + c * s->in_depth, next * s->in_depth, s->in_depth, x);       \
      DOT2(hidden, g->recurrent_weights + c * s->out_depth, next * s->out_depth, s->out_depth, h); \
      for (int32_t i = 0; i <= next; ++i) {                                                      \
        out[c + i] = helx_lstm_argument(                                                         \
            helx_requantize_wide(x[i], g->input_multiplier, g->input_shift),                     \
            helx_requantize_wide(h[i], g->recurrent_multiplier, g->recurrent_shift));            \
      }                                                                                          \
    }                                                                                            \
  }

HELX_LSTM_GATE_S16(helx_lstm_gate_s16, helx_dot2_s16)
#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_FEATURE_MVE)
HELX_LSTM_GATE_S16(helx_dsp_lstm_gate_s16, helx_dsp_dot2_packed_s16)
#endif

#endif /* HELX_LSTM_GATES_H_ */
