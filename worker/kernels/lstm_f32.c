#include <math.h>
#include <string.h>

#include "helx_state.h"

/* As in unary_f32.c. */
static inline float logistic(float x) {
  if (x > 16.619047164916992188f) return 1.0f;
  return x < -9.0f ? expf(x) : 1.0f / (1.0f + expf(-x));
}

/* Mean 0 and variance 1, then weights and bias. */
static void normalize(const helx_lstm_f32_gate* g, float* v, int32_t n) {
  float sum = 0.0f, squares = 0.0f;
  for (int32_t i = 0; i < n; ++i) sum += v[i];
  const float mean = sum / (float)n;
  for (int32_t i = 0; i < n; ++i) squares += (v[i] - mean) * (v[i] - mean);
  const float inverse = 1.0f / sqrtf(squares / (float)n + 1e-8f);
  for (int32_t i = 0; i < n; ++i) {
    v[i] = (v[i] - mean) * inverse * g->norm_weights[i] + (g->bias ? g->bias[i] : 0.0f);
  }
}

/* The arguments of one gate for all cells. */
static void arguments(const helx_lstm_shape* s, const helx_lstm_f32_gate* g, const float* input,
                      const float* hidden, const float* cell, float* v) {
  for (int32_t c = 0; c < s->cells; ++c) {
    float sum = g->bias && !g->norm_weights ? g->bias[c] : 0.0f;
    float product = 0.0f;
    const float* w = g->input_weights + c * s->in_depth;
    for (int32_t k = 0; k < s->in_depth; ++k) product += w[k] * input[k];
    sum += product;
    product = 0.0f;
    w = g->recurrent_weights + c * s->out_depth;
    for (int32_t k = 0; k < s->out_depth; ++k) product += w[k] * hidden[k];
    sum += product;
    if (g->cell_weights) sum += g->cell_weights[c] * cell[c];
    v[c] = sum;
  }
  if (g->norm_weights) normalize(g, v, s->cells);
}

static inline float clipped(float x, float limit) {
  if (limit <= 0.0f) return x;
  return x > limit ? limit : (x < -limit ? -limit : x);
}

static void step(const helx_lstm_f32_params* p, const float* input, float* hidden, float* cell,
                 float* scratch) {
  const helx_lstm_shape* s = &p->shape;
  const int32_t n = s->cells;
  float* in = scratch;
  float* forget = scratch + n;
  float* update = scratch + 2 * n;
  float* out = scratch + 3 * n;
  if (p->input.input_weights) arguments(s, &p->input, input, hidden, cell, in);
  arguments(s, &p->forget, input, hidden, cell, forget);
  arguments(s, &p->cell, input, hidden, cell, update);
  for (int32_t c = 0; c < n; ++c) {
    const float kept = logistic(forget[c]);
    const float added = p->input.input_weights ? logistic(in[c]) : 1.0f - kept;
    cell[c] = clipped(kept * cell[c] + tanhf(update[c]) * added, p->cell_clip);
  }
  /* The output gate's peephole sees the new cells. */
  arguments(s, &p->output, input, hidden, cell, out);
  for (int32_t c = 0; c < n; ++c) out[c] = logistic(out[c]) * tanhf(cell[c]);
  if (!p->projection_weights) {
    memcpy(hidden, out, (size_t)n * sizeof(float));
    return;
  }
  for (int32_t o = 0; o < s->out_depth; ++o) {
    float sum = p->projection_bias ? p->projection_bias[o] : 0.0f;
    float product = 0.0f;
    for (int32_t c = 0; c < n; ++c) product += p->projection_weights[o * n + c] * out[c];
    hidden[o] = clipped(sum + product, p->projection_clip);
  }
}

void helx_lstm_f32(const helx_lstm_f32_params* p, const float* input, float* hidden, float* cell,
                   float* scratch, float* output) {
  const helx_lstm_shape* s = &p->shape;
  for (int32_t b = 0; b < s->batches; ++b) {
    float* own = hidden + b * s->out_depth;
    for (int32_t t = 0; t < s->steps; ++t) {
      const int32_t at = s->time_major ? t * s->batches + b : b * s->steps + t;
      step(p, input + at * s->in_depth, own, cell + b * s->cells, scratch);
      memcpy(output + at * s->out_depth, own, (size_t)s->out_depth * sizeof(float));
    }
  }
}
