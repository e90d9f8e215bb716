#include <string.h>

#include "helx_lstm_cells.h"
#include "helx_lstm_gates.h"

/* One step of one batch: first the arguments of all gates, which read the old hidden values, then the cells. `scratch` holds
 * four rows of arguments, then what PREPARE makes of input and hidden values. */
#define HELX_LSTM(NAME, TYPE, PREPARE, GATE, LOWEST, HIGHEST)                                \
  void NAME(const helx_lstm_params* p, const TYPE* input, TYPE* hidden, int16_t* cell,       \
            int16_t* scratch, TYPE* output) {                                                \
    const helx_lstm_shape* s = &p->shape;                                                    \
    const int32_t row = (s->cells + 3) & ~3;                                                 \
    int16_t* wide = scratch + 4 * row;                                                       \
    for (int32_t b = 0; b < s->batches; ++b, hidden += s->out_depth, cell += s->cells) {     \
      for (int32_t t = 0; t < s->steps; ++t) {                                               \
        const int32_t at = s->time_major ? t * s->batches + b : b * s->steps + t;            \
        const TYPE* x = input + at * s->in_depth;                                            \
        PREPARE(s, x, hidden, wide);                                                         \
        GATE(s, &p->forget, x, hidden, wide, scratch);                                       \
        GATE(s, &p->input, x, hidden, wide, scratch + row);                                  \
        GATE(s, &p->cell, x, hidden, wide, scratch + 2 * row);                               \
        GATE(s, &p->output, x, hidden, wide, scratch + 3 * row);                             \
        for (int32_t c = 0; c < s->cells; c += HELX_LSTM_LANES) {                            \
          const helx_lstm_lanes y = helx_lstm_cells(p, scratch + c, row, cell + c,           \
                                                    s->cells - c, LOWEST, HIGHEST);          \
          HELX_LSTM_STORE_##TYPE(hidden + c, y, s->cells - c);                               \
        }                                                                                    \
        memcpy(output + at * s->out_depth, hidden, (size_t)s->out_depth * sizeof(TYPE));     \
      }                                                                                      \
    }                                                                                        \
  }

HELX_LSTM(helx_lstm_s8, int8_t, helx_lstm_prepare_s8, helx_lstm_gate_s8, -128, 127)
HELX_LSTM(helx_lstm_s16, int16_t, helx_lstm_prepare_s16, helx_lstm_gate_s16, -32768, 32767)
#if defined(__ARM_FEATURE_DSP) && !defined(__ARM_FEATURE_MVE)
HELX_LSTM(helx_dsp_lstm_s16, int16_t, helx_lstm_prepare_s16, helx_dsp_lstm_gate_s16, -32768, 32767)
#endif
