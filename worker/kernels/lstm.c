#include <string.h>

#include "helx_dot.h"
#include "helx_dot16.h"
#include "helx_requantize16.h"
#include "helx_sigmoid16.h"
#include "helx_state.h"

static inline int32_t saturated(int32_t x) { return helx_clamp(x, -32768, 32767); }

static inline int32_t rescaled(int32_t product, int32_t multiplier, int32_t shift) {
  return saturated(helx_requantize(product, multiplier, shift));
}

/* Defines the argument of one gate for one cell: products with input and hidden state, each rescaled and saturated. */
#define HELX_GATE(NAME, TYPE, SUM, DOT, REQUANTIZE)                                          \
  static int32_t NAME(const helx_lstm_shape* s, const helx_lstm_gate* g, const TYPE* input,  \
                      const TYPE* hidden, int32_t c) {                                       \
    SUM sum = (SUM)g->input_bias[c];                                                         \
    sum += DOT(input, g->input_weights + c * s->in_depth, s->in_depth);                      \
    const int32_t from_input =                                                               \
        saturated(REQUANTIZE(sum, g->input_multiplier, g->input_shift));                     \
    sum = (SUM)g->recurrent_bias[c];                                                         \
    sum += DOT(hidden, g->recurrent_weights + c * s->out_depth, s->out_depth);               \
    return saturated(from_input + saturated(REQUANTIZE(sum, g->recurrent_multiplier,         \
                                                       g->recurrent_shift)));                \
  }

static inline int32_t dot_s8(const int8_t* x, const int8_t* w, int32_t n) {
  return helx_dot_s8(x, w, n, 0);
}

HELX_GATE(gate_s8, int8_t, int32_t, dot_s8, helx_requantize)
HELX_GATE(gate_s16, int16_t, int64_t, helx_dot_s16, helx_requantize_wide)

/* One step of one batch. New hidden values wait in `scratch` until every gate has read the old ones. */
#define HELX_STEP(NAME, TYPE, GATE, LOWEST, HIGHEST)                                           \
  static void NAME(const helx_lstm_params* p, const TYPE* input, TYPE* hidden, int16_t* cell,  \
                   TYPE* scratch) {                                                            \
    const helx_lstm_shape* s = &p->shape;                                                      \
    for (int32_t c = 0; c < s->cells; ++c) {                                                   \
      const int32_t forget =                                                                   \
          helx_logistic16(p->table, GATE(s, &p->forget, input, hidden, c), 3, 0);              \
      const int32_t in = helx_logistic16(p->table, GATE(s, &p->input, input, hidden, c), 3, 0); \
      const int32_t update = helx_tanh16(p->table, GATE(s, &p->cell, input, hidden, c), 3, 0); \
      const int32_t out =                                                                      \
          helx_logistic16(p->table, GATE(s, &p->output, input, hidden, c), 3, 0);              \
      int32_t next = rescaled(forget * cell[c], p->forget_multiplier, p->forget_shift);        \
      next = saturated(next + rescaled(in * update, p->input_multiplier, p->input_shift));     \
      if (p->cell_clip > 0) next = helx_clamp(next, -p->cell_clip, p->cell_clip);              \
      cell[c] = (int16_t)next;                                                                 \
      const int32_t squashed = helx_tanh16(p->table, next, p->tanh_multiplier, p->tanh_shift); \
      const int32_t y =                                                                        \
          helx_requantize(squashed * out, p->output_multiplier, p->output_shift);              \
      scratch[c] = (TYPE)helx_clamp(y + p->output_zero_point, LOWEST, HIGHEST);                \
    }                                                                                          \
    memcpy(hidden, scratch, (size_t)s->cells * sizeof(TYPE));                                  \
  }

HELX_STEP(step_s8, int8_t, gate_s8, -128, 127)
HELX_STEP(step_s16, int16_t, gate_s16, -32768, 32767)

#define HELX_LSTM(NAME, TYPE, STEP)                                                            \
  void NAME(const helx_lstm_params* p, const TYPE* input, TYPE* hidden, int16_t* cell,         \
            TYPE* scratch, TYPE* output) {                                                     \
    const helx_lstm_shape* s = &p->shape;                                                      \
    for (int32_t b = 0; b < s->batches; ++b) {                                                 \
      TYPE* own = hidden + b * s->out_depth;                                                   \
      for (int32_t t = 0; t < s->steps; ++t) {                                                 \
        const int32_t at = s->time_major ? t * s->batches + b : b * s->steps + t;              \
        STEP(p, input + at * s->in_depth, own, cell + b * s->cells, scratch);                  \
        memcpy(output + at * s->out_depth, own, (size_t)s->out_depth * sizeof(TYPE));          \
      }                                                                                        \
    }                                                                                          \
  }

HELX_LSTM(helx_lstm_s8, int8_t, step_s8)
HELX_LSTM(helx_lstm_s16, int16_t, step_s16)
