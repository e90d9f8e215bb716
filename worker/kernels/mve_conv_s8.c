#include "mve_conv_s8.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

/* Output positions whose windows have been gathered and not multiplied yet. */
typedef struct {
  const helx_mve_conv_s8_params* p;
  int8_t* windows; /* four of depth_blocks * 16 bytes */
  int8_t* spill;   /* where results go when quads overhang the output's channels */
  int8_t* output;
  int32_t pending;
  helx_mve_gemm_args args;
} tile;

static void start(tile* t, const helx_mve_conv_s8_params* p, int8_t* output) {
  const int32_t quads = (p->out_c + 3) & ~3;
  t->p = p;
  t->output = output;
  t->pending = 0;
  t->args.filters = p->filters;
  t->args.tiles = 1;
  t->args.x_step = 0;
  t->args.y_step = 0;
  t->args.quads = quads;
  t->args.lowest = p->lowest;
  t->args.highest = p->highest;
  helx_mve_gemm_depth(&t->args, p->depth_blocks);
}

/* Rows beyond `count` repeat the last one: they are computed and stored again, with the same results. */
static inline void set_rows(helx_mve_gemm_args* args, const int8_t* x, int32_t x_stride,
                            int32_t y_stride, int32_t count) {
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t row = i < count ? i : count - 1;
    args->x[i] = x + row * x_stride;
    args->y_offset[i] = (uint32_t)(row * y_stride);
  }
}

static void flush(tile* t) {
  const helx_mve_conv_s8_params* p = t->p;
  const int32_t quads = t->args.quads;
  int8_t* y = quads == p->out_c ? t->output : t->spill;
  set_rows(&t->args, t->windows, p->depth_blocks * 16, quads, t->pending);
  t->args.y = y;
  t->args.y_end = y + quads;
  p->gemm(&t->args);
  if (y == t->spill) {
    for (int32_t i = 0; i < t->pending; ++i) {
      helx_copy_bytes(t->output + i * p->out_c, t->spill + i * quads, p->out_c);
    }
  }
  t->output += t->pending * p->out_c;
  t->pending = 0;
}

/* Copies one piece of the window from each of `rows`, `blocks` times 16 bytes of it: up to 15 bytes too many, which the next
 * piece, or a zero weight, takes care of. */
static inline int8_t* gather_pieces(const helx_mve_conv_s8_params* p, const int8_t* const* rows,
                                    int32_t column, int8_t* to, int32_t blocks) {
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    const int8_t* from = rows[ky] + column;
    for (int32_t i = 0; i < blocks; ++i) vst1q_s8(to + 16 * i, vld1q_s8(from + 16 * i));
    to += p->run_bytes;
  }
  return to;
}

/* Windows whose rows are one piece. The usual lengths are unrolled. */
static void gather_joined(const helx_mve_conv_s8_params* p, const int8_t* const* rows,
                          int32_t column, int8_t* to) {
  const int32_t blocks = (p->run_bytes + 15) >> 4;
  switch (blocks) {
    case 1: gather_pieces(p, rows, column, to, 1); break;
    case 2: gather_pieces(p, rows, column, to, 2); break;
    case 3: gather_pieces(p, rows, column, to, 3); break;
    case 6: gather_pieces(p, rows, column, to, 6); break;
    case 12: gather_pieces(p, rows, column, to, 12); break;
    default: gather_pieces(p, rows, column, to, blocks); break;
  }
}

static void gather_dilated(const helx_mve_conv_s8_params* p, const int8_t* const* rows,
                           int32_t column, int8_t* to) {
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    for (int32_t run = 0; run < p->runs; ++run) {
      const int8_t* from = rows[ky] + column + run * p->run_step;
      for (int32_t i = 0; i < p->run_bytes; i += 16) vst1q_s8(to + i, vld1q_s8(from + i));
      to += p->run_bytes;
    }
  }
}

void helx_mve_conv_s8(const helx_mve_conv_s8_params* p, const int8_t* input, int8_t* output,
                      void* scratch) {
  const int32_t ring_bytes = (p->rows.count * p->rows.padded_bytes + HELX_ROWS_SLACK + 15) & ~15;
  const int32_t window_bytes = p->depth_blocks * 16;
  int8_t* ring = scratch;
  tile t;
  start(&t, p, output);
  t.windows = ring + ring_bytes;
  t.spill = t.windows + 4 * window_bytes + 16;
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, ring, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      int32_t slot = helx_rows_advance(&rows, &p->rows,
                                       y * p->stride_h - p->pad_h + p->rows.count - 1);
      const int8_t* window[HELX_MVE_CONV_MAX_FILTER_H];
      for (int32_t ky = 0; ky < p->filter_h; ++ky) {
        window[ky] = ring + slot * p->rows.padded_bytes;
        slot += p->dilation_h;
        if (slot >= p->rows.count) slot -= p->rows.count;
      }
      for (int32_t x = 0; x < p->out_w; ++x) {
        int8_t* to = t.windows + t.pending * window_bytes;
        if (p->runs == 1) {
          gather_joined(p, window, x * p->column_bytes, to);
        } else {
          gather_dilated(p, window, x * p->column_bytes, to);
        }
        if (++t.pending == 4) flush(&t);
      }
    }
    input += p->in_bytes;
  }
  if (t.pending > 0) flush(&t);
}

void helx_mve_pointwise_s8(const helx_mve_conv_s8_params* p, const int8_t* input,
                           int8_t* output) {
  const int32_t pixels = p->batches * p->out_h * p->out_w;
  const int32_t tiles = pixels >> 2;
  const int32_t rest = pixels & 3;
  tile t;
  start(&t, p, output);
  t.args.y = output;
  t.args.y_end = output + p->out_c;
  if (tiles > 0) {
    set_rows(&t.args, input, p->column_bytes, p->out_c, 4);
    t.args.tiles = tiles;
    t.args.x_step = 4 * p->column_bytes;
    t.args.y_step = 4 * p->out_c;
    p->gemm(&t.args);
  }
  if (rest > 0) {
    set_rows(&t.args, input + tiles * 4 * p->column_bytes, p->column_bytes, p->out_c, rest);
    t.args.y = output + tiles * 4 * p->out_c;
    t.args.y_end = t.args.y + p->out_c;
    t.args.tiles = 1;
    p->gemm(&t.args);
  }
}

#endif /* __ARM_FEATURE_MVE */
