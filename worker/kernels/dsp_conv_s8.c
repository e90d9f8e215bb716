#include "dsp_conv_s8.h"

#if defined(__ARM_FEATURE_DSP)
#include "dsp_widen.h"

/* Output positions whose windows have been widened and not multiplied yet. */
typedef struct {
  const helx_dsp_conv_s8_params* p;
  uint32_t* x; /* two windows, in alternate words */
  int8_t* spill;
  int8_t* output;
  int32_t pending;
  helx_dsp_gemm_args args;
} tile;

static void start(tile* t, const helx_dsp_conv_s8_params* p, uint32_t* x, int8_t* output) {
  t->p = p;
  t->x = x;
  t->output = output;
  t->pending = 0;
  t->args.x = x;
  t->args.x_end = x + p->depth;
  t->args.entry = helx_dsp_gemm_entry(p->depth >> 1);
  t->args.filters = p->filters;
}

/* A single position is computed and stored twice. */
static void flush(tile* t) {
  const helx_dsp_conv_s8_params* p = t->p;
  const int32_t quads = (p->out_c + 3) & ~3;
  const int32_t second = t->pending - 1;
  int8_t* y = quads == p->out_c ? t->output : t->spill;
  if (second == 0) {
    for (int32_t i = 0; i < p->depth; i += 2) t->x[i + 1] = t->x[i];
  }
  t->args.y0 = y;
  t->args.y1 = y + second * quads;
  t->args.y_end = y + quads;
  p->gemm(&t->args);
  if (y == t->spill) {
    helx_copy_bytes(t->output, y, p->out_c);
    if (second) helx_copy_bytes(t->output + p->out_c, y + quads, p->out_c);
  }
  if (p->clamp) helx_dsp_clamp(t->output, t->pending * p->out_c, p->lowest, p->highest);
  t->output += t->pending * p->out_c;
  t->pending = 0;
}

/* Pieces of whole words are widened where they lie; others are put together first. */
static inline void gather(const helx_dsp_conv_s8_params* p, const int8_t* const* window,
                          int32_t column, uint32_t* x, int8_t* bytes) {
  int8_t* to = bytes;
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    const int8_t* from = window[ky] + column;
    for (int32_t run = 0; run < p->runs; ++run, from += p->run_step) {
      if ((p->run_bytes & 3) == 0) {
        x = helx_dsp_widen(x, from, p->run_bytes, 2);
      } else {
        for (int32_t i = 0; i < p->run_bytes; i += 4) __builtin_memcpy(to + i, from + i, 4);
        to += p->run_bytes;
      }
    }
  }
  if (to != bytes) helx_dsp_widen(x, bytes, p->depth, 2);
}

void helx_dsp_conv_s8(const helx_dsp_conv_s8_params* p, const int8_t* input, int8_t* output,
                      void* scratch) {
  int8_t* ring = (int8_t*)scratch + 4 * p->depth;
  int8_t* bytes = ring + ((p->rows.count * p->rows.padded_bytes + HELX_ROWS_SLACK + 3) & ~3);
  tile t;
  start(&t, p, scratch, output);
  t.spill = bytes + ((p->run_bytes & 3) ? p->depth + 4 : 0);
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, ring, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      int32_t slot = helx_rows_advance(&rows, &p->rows,
                                       y * p->stride_h - p->pad_h + p->rows.count - 1);
      const int8_t* window[HELX_DSP_CONV_MAX_FILTER_H];
      for (int32_t ky = 0; ky < p->filter_h; ++ky) {
        window[ky] = ring + slot * p->rows.padded_bytes;
        slot += p->dilation_h;
        if (slot >= p->rows.count) slot -= p->rows.count;
      }
      for (int32_t x = 0; x < p->out_w; ++x) {
        gather(p, window, x * p->column_bytes, t.x + t.pending, bytes);
        if (++t.pending == 2) flush(&t);
      }
    }
    input += p->in_bytes;
  }
  if (t.pending > 0) flush(&t);
}

void helx_dsp_pointwise_s8(const helx_dsp_conv_s8_params* p, const int8_t* input, int8_t* output,
                           void* scratch) {
  int32_t left = p->batches * p->out_h * p->out_w;
  tile t;
  start(&t, p, scratch, output);
  t.spill = output; /* not used: out_c is a multiple of 4 */
  for (; left > 0; left -= 2) {
    t.pending = left > 1 ? 2 : 1;
    helx_dsp_widen_two(t.x, input, left > 1 ? input + p->column_bytes : input, p->depth);
    flush(&t);
    input += 2 * p->column_bytes;
  }
}

void helx_dsp_fully_connected_s8(const helx_dsp_fully_connected_s8_params* p, const int8_t* input,
                                 int8_t* output, void* scratch) {
  const int32_t quads = (p->out_depth + 3) & ~3;
  int8_t* spill = (int8_t*)scratch + 2 * p->depth;
  helx_dsp_gemm_args args;
  args.x = scratch;
  args.x_end = args.x + (p->depth >> 1);
  args.entry = helx_dsp_gemv_entry(p->depth >> 1);
  args.filters = p->filters;
  for (int32_t row = 0; row < p->rows; ++row) {
    helx_dsp_widen(scratch, input, p->depth, 1);
    args.y0 = quads == p->out_depth ? output : spill;
    args.y1 = args.y0;
    args.y_end = args.y0 + quads;
    p->gemv(&args);
    if (args.y0 == spill) helx_copy_bytes(output, spill, p->out_depth);
    if (p->clamp) helx_dsp_clamp(output, p->out_depth, p->lowest, p->highest);
    input += p->in_depth;
    output += p->out_depth;
  }
}

#endif /* __ARM_FEATURE_DSP */
