#include "dsp_depthwise_s8.h"

#if defined(__ARM_FEATURE_DSP)
#include "dsp_widen.h"

/* 3x3 rows in assembly, because they take every register there is.
 *
 *   r0 r1 r2 rows, r3 bytes between taps, r4 r5 r6 r7 sums of channels c, c+2, c+1, c+3
 *   r8 r9 input, r10 r11 filter; r12 output, lr the stream
 */
#define SP_SKIP "#0" /* and the positions left */
#define SP_FILTERS "#8" /* and their end */

#define TAP(ADDRESS)                             \
  "ldr.w r8, [" ADDRESS "]\n"                    \
  "ldrd r10, r11, [lr], #8\n"                    \
  "sxtb16 r9, r8, ror #8\n"                      \
  "sxtb16 r8, r8\n"                              \
  "smlabb r4, r8, r10, r4\n"                     \
  "smlatt r5, r8, r10, r5\n"                     \
  "smlabb r6, r9, r11, r6\n"                     \
  "smlatt r7, r9, r11, r7\n"

#define TAPS(ROW)                                \
  TAP(ROW)                                       \
  TAP(ROW ", r3")                                \
  TAP(ROW ", r3, lsl #1")                        \
  "adds " ROW ", #4\n"

#define SCALE_RELU(SUM)                          \
  "ldm lr!, {r8, r9, r10}\n"                     \
  "lsls " SUM ", " SUM ", #1\n"                  \
  "smmlar " SUM ", " SUM ", r8, r10\n"           \
  "asrs " SUM ", " SUM ", r9\n"                  \
  "ssat " SUM ", #8, " SUM "\n"                  \
  "strb " SUM ", [r12], #1\n"

#define SCALE_SIGNED(SUM)                        \
  "ldm lr!, {r8, r9, r10}\n"                     \
  "lsls " SUM ", " SUM ", #1\n"                  \
  "smmulr " SUM ", " SUM ", r8\n"                \
  "add.w " SUM ", " SUM ", " SUM ", asr #31\n"   \
  "add " SUM ", " SUM ", r10\n"                  \
  "asrs " SUM ", " SUM ", r9\n"                  \
  "ssat " SUM ", #8, " SUM "\n"                  \
  "strb " SUM ", [r12], #1\n"

#define ROW(SCALE)                               \
  "push {r4-r11, lr}\n"                          \
  "sub sp, sp, #20\n"                            \
  "ldrd r4, r5, [r0, #16]\n"                     \
  "ldrd r6, r7, [r0, #28]\n"                     \
  "ldr r12, [r0, #24]\n"                         \
  "stm sp, {r4, r5, r6, r7}\n"                   \
  "ldm r0, {r0, r1, r2, r3}\n"                   \
  "1:\n"                                         \
  "ldr lr, [sp, " SP_FILTERS "]\n"               \
  "2:\n"                                         \
  "ldm lr!, {r4, r5, r6, r7}\n"                  \
  TAPS("r0")                                     \
  TAPS("r1")                                     \
  TAPS("r2")                                     \
  SCALE("r4")                                    \
  SCALE("r6")                                    \
  SCALE("r5")                                    \
  SCALE("r7")                                    \
  "ldr r8, [sp, #12]\n"                          \
  "cmp lr, r8\n"                                 \
  "bne.w 2b\n"                                   \
  "ldrd r8, r9, [sp, " SP_SKIP "]\n"             \
  "add r0, r0, r8\n"                             \
  "add r1, r1, r8\n"                             \
  "add r2, r2, r8\n"                             \
  "subs r9, r9, #1\n"                            \
  "str r9, [sp, #4]\n"                           \
  "bne.w 1b\n"                                   \
  "add sp, sp, #20\n"                            \
  "pop {r4-r11, pc}\n"

__attribute__((naked)) void helx_dsp_depthwise_3x3_relu_s8(const helx_dsp_depthwise_row* row
                                                           __attribute__((unused))) {
  __asm__ volatile(ROW(SCALE_RELU));
}

__attribute__((naked)) void helx_dsp_depthwise_3x3_signed_s8(const helx_dsp_depthwise_row* row
                                                             __attribute__((unused))) {
  __asm__ volatile(ROW(SCALE_SIGNED));
}

/* Fills in where the window's rows begin for output row y. */
static inline void find_rows(const helx_dsp_depthwise_s8_params* p, helx_rows* rows, int32_t y,
                             const int8_t** window) {
  int32_t slot =
      helx_rows_advance(rows, &p->rows, y * p->stride_h - p->pad_h + p->rows.count - 1);
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    window[ky] = rows->ring + slot * p->rows.padded_bytes;
    slot += p->dilation_h;
    if (slot >= p->rows.count) slot -= p->rows.count;
  }
}

void helx_dsp_depthwise_3x3_s8(const helx_dsp_depthwise_s8_params* p, const int8_t* input,
                               int8_t* output, void* scratch) {
  helx_dsp_depthwise_row row;
  row.tap_bytes = p->tap_bytes;
  row.input_skip = (p->stride_w - 1) * p->channels;
  row.positions = p->out_w;
  row.filters = p->filters;
  row.filters_end = p->filters + p->filters_bytes;
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, scratch, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      find_rows(p, &rows, y, row.rows);
      row.output = output;
      p->row(&row);
      if (p->clamp) helx_dsp_clamp(output, p->out_w * p->channels, p->lowest, p->highest);
      output += p->out_w * p->channels;
    }
    input += p->in_bytes;
  }
}

typedef struct {
  int32_t a, b, c, d; /* of channels c, c+2, c+1, c+3 */
} sums;

static inline int8_t scale(const int32_t* parameters, int32_t sum, int32_t relu) {
  int32_t y = (int32_t)(((int64_t)(sum * 2) * parameters[0] + 0x80000000ll) >> 32);
  if (!relu) y += y >> 31;
  return (int8_t)__ssat((y + parameters[2]) >> parameters[1], 8);
}

/* Four channels at one position. Returns what follows their part of the stream. */
static inline const int8_t* four(const helx_dsp_depthwise_s8_params* p, const int8_t* const* window,
                                 int32_t at, const int8_t* filters, int8_t* output) {
  sums s;
  __builtin_memcpy(&s, filters, sizeof s);
  const int32_t* w = (const int32_t*)(filters + sizeof s);
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    const int8_t* x = window[ky] + at;
    for (int32_t kx = p->filter_w; kx > 0; --kx, x += p->tap_bytes, w += 2) {
      uint32_t v;
      __builtin_memcpy(&v, x, 4);
      const int16x2_t even = __sxtb16((int8x4_t)v);
      const int16x2_t odd = helx_dsp_odd(v);
      s.a = __smlabb(even, w[0], s.a);
      s.b = __smlatt(even, w[0], s.b);
      s.c = __smlabb(odd, w[1], s.c);
      s.d = __smlatt(odd, w[1], s.d);
    }
  }
  output[0] = scale(w, s.a, p->relu);
  output[1] = scale(w + 3, s.c, p->relu);
  output[2] = scale(w + 6, s.b, p->relu);
  output[3] = scale(w + 9, s.d, p->relu);
  return (const int8_t*)(w + 12);
}

void helx_dsp_depthwise_s8(const helx_dsp_depthwise_s8_params* p, const int8_t* input,
                           int8_t* output, void* scratch) {
  const int8_t* window[HELX_DSP_DEPTHWISE_MAX_FILTER_H];
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, scratch, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      find_rows(p, &rows, y, window);
      int8_t* to = output;
      for (int32_t x = 0; x < p->out_w; ++x) {
        const int8_t* filters = p->filters;
        const int32_t at = x * p->stride_w * p->channels;
        for (int32_t c = 0; c < p->channels; c += 4, to += 4) {
          filters = four(p, window, at + c, filters, to);
        }
      }
      if (p->clamp) helx_dsp_clamp(output, p->out_w * p->channels, p->lowest, p->highest);
      output = to;
    }
    input += p->in_bytes;
  }
}

#endif /* __ARM_FEATURE_DSP */
