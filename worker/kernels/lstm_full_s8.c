#include <string.h>

#include "helx_fixed16.h"
#include "helx_state.h"

/* acc + sum(w * v), rescaled and added to what is there. */
static inline int32_t accumulate(int32_t there, const int8_t* w, const int8_t* v, int32_t n,
                                 int32_t bias, int32_t multiplier, int32_t shift) {
  int32_t sum = bias;
  for (int32_t k = 0; k < n; ++k) sum += w[k] * v[k];
  return helx_saturate16(there + helx_requantize(sum, multiplier, shift));
}

/* In units of 2^-10 of the gate's. */
static void normalize(const helx_lstm_full_gate* g, int16_t* v, int32_t n) {
  int64_t sum = 0, squares = 0;
  int32_t multiplier, shift;
  for (int32_t i = 0; i < n; ++i) {
    sum += v[i];
    squares += v[i] * v[i];
  }
  const int32_t mean = (int32_t)(sum * 1024 / n);
  const int64_t wide = squares * ((1 << 20) / n) - (int64_t)mean * mean;
  int32_t variance = (int32_t)(wide / (1 << 20));
  if (variance < 1) variance = g->variance_limit;
  helx_inverse_sqrt(variance, &multiplier, &shift);
  for (int32_t i = 0; i < n; ++i) {
    const int32_t centred = helx_requantize(1024 * v[i] - mean, multiplier, shift);
    const int64_t weighted = (int64_t)(centred * g->norm_weights[i]) + g->norm_bias[i];
    const int32_t rounded = (int32_t)((weighted > 0 ? weighted + 512 : weighted - 512) / 1024);
    v[i] = (int16_t)helx_saturate16(helx_requantize(rounded, g->norm_multiplier, g->norm_shift));
  }
}

/* One gate for all cells, before its activation. */
static void arguments(const helx_lstm_shape* s, const helx_lstm_full_gate* g, const int8_t* input,
                      const int8_t* hidden, const int16_t* cell, int16_t* v) {
  for (int32_t c = 0; c < s->cells; ++c) {
    int32_t x = accumulate(0, g->input_weights + c * s->in_depth, input, s->in_depth,
                           g->input_bias[c], g->input_multiplier, g->input_shift);
    x = accumulate(x, g->recurrent_weights + c * s->out_depth, hidden, s->out_depth,
                   g->recurrent_bias[c], g->recurrent_multiplier, g->recurrent_shift);
    if (g->cell_weights) {
      x = helx_saturate16(
          x + helx_requantize(g->cell_weights[c] * cell[c], g->cell_multiplier, g->cell_shift));
    }
    v[c] = (int16_t)x;
  }
  if (g->norm_weights) normalize(g, v, s->cells);
}

static void update_cells(const helx_lstm_full_params* p, const int16_t* in, const int16_t* forget,
                         const int16_t* update, int16_t* cell) {
  const int32_t shift = 15 + p->cell_integer_bits;
  for (int32_t c = 0; c < p->shape.cells; ++c) {
    const int32_t kept = helx_fixed_logistic16(forget[c], 3);
    const int32_t added =
        p->input.input_weights ? helx_fixed_logistic16(in[c], 3) : 32767 - kept;
    const int32_t product = added * helx_fixed_tanh16(update[c], 3);
    int32_t next = (int16_t)helx_round_shift(kept * cell[c], 15);
    next = helx_saturate16(next + (int16_t)helx_round_shift(product, shift));
    if (p->cell_clip > 0) next = helx_clamp(next, -p->cell_clip, p->cell_clip);
    cell[c] = (int16_t)next;
  }
}

static void project(const helx_lstm_full_params* p, const int8_t* values, int8_t* hidden) {
  const int32_t n = p->shape.cells;
  for (int32_t o = 0; o < p->shape.out_depth; ++o) {
    const int8_t* w = p->projection_weights + o * n;
    int32_t sum = p->projection_bias[o];
    for (int32_t c = 0; c < n; ++c) sum += w[c] * values[c];
    int32_t y = helx_requantize(sum, p->projection_multiplier, p->projection_shift) +
                p->output_zero_point;
    y = helx_clamp(y, -128, 127);
    if (p->projection_clip > 0) y = helx_clamp(y, -p->projection_clip, p->projection_clip);
    hidden[o] = (int8_t)y;
  }
}

static void step(const helx_lstm_full_params* p, const int8_t* input, int8_t* hidden,
                 int16_t* cell, int16_t* scratch) {
  const helx_lstm_shape* s = &p->shape;
  const int32_t n = s->cells;
  int16_t* in = scratch;
  int16_t* forget = scratch + n;
  int16_t* update = scratch + 2 * n;
  int16_t* out = scratch + 3 * n;
  int8_t* values = (int8_t*)(scratch + 4 * n);
  if (p->input.input_weights) arguments(s, &p->input, input, hidden, cell, in);
  arguments(s, &p->forget, input, hidden, cell, forget);
  arguments(s, &p->cell, input, hidden, cell, update);
  update_cells(p, in, forget, update, cell);
  arguments(s, &p->output, input, hidden, cell, out);
  for (int32_t c = 0; c < n; ++c) {
    const int32_t product =
        helx_fixed_logistic16(out[c], 3) * helx_fixed_tanh16(cell[c], p->cell_integer_bits);
    const int32_t y =
        helx_requantize(product, p->hidden_multiplier, p->hidden_shift) + p->hidden_zero_point;
    values[c] = (int8_t)helx_clamp(y, -128, 127);
  }
  if (p->projection_weights) {
    project(p, values, hidden);
  } else {
    memcpy(hidden, values, (size_t)n);
  }
}

void helx_lstm_full_s8(const helx_lstm_full_params* p, const int8_t* input, int8_t* hidden,
                       int16_t* cell, int16_t* scratch, int8_t* output) {
  const helx_lstm_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b) {
    int8_t* own = hidden + b * s->out_depth;
    for (int32_t t = 0; t < s->steps; ++t) {
      const int32_t at = s->time_major ? t * s->batches + b : b * s->steps + t;
      step(p, input + at * s->in_depth, own, cell + b * s->cells, scratch);
      memcpy(output + at * s->out_depth, own, (size_t)s->out_depth);
    }
  }
}
