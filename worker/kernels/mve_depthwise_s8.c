#include "mve_depthwise_s8.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

/* 3x3 rows in assembly: nine tap pointers, the filter stream, the output, the zero point and a loop counter are all the core
 * registers there are, and compilers spill.
 *
 *   r0-r8 taps, r9 blocks, r10 output, r11 zero point, r12 temporary, lr loop
 *   q0 input, q1 weights, q2 q3 products of even and odd bytes, q4-q7 sums of bytes 4i, 4i+2, 4i+1, 4i+3
 */

#define SP_REPEATS "#4"
#define SP_INPUT_SKIP "#8"
#define SP_BLOCKS "#16"

#define WIDEN(PRODUCTS, BOTTOM, TOP)                     \
  "vmovlb.s16 q1, " PRODUCTS "\n"                        \
  "vadd.i32 " BOTTOM ", " BOTTOM ", q1\n"                \
  "vmovlt.s16 " PRODUCTS ", " PRODUCTS "\n"              \
  "vadd.i32 " TOP ", " TOP ", " PRODUCTS "\n"

/* The second tap's weights are loaded twice: there is no register for both of its products. */
#define PAIR(FIRST, SECOND)                              \
  "vldrb.u8 q0, [" FIRST "], #16\n"                      \
  "vldrb.u8 q1, [r9], #16\n"                             \
  "vmullb.s8 q2, q0, q1\n"                               \
  "vmullt.s8 q3, q0, q1\n"                               \
  "vldrb.u8 q0, [" SECOND "], #16\n"                     \
  "vldrb.u8 q1, [r9]\n"                                  \
  "vmullb.s8 q1, q0, q1\n"                               \
  "vadd.i16 q2, q2, q1\n"                                \
  "vldrb.u8 q1, [r9], #16\n"                             \
  "vmullt.s8 q1, q0, q1\n"                               \
  "vadd.i16 q3, q3, q1\n"                                \
  WIDEN("q2", "q4", "q5")                                \
  WIDEN("q3", "q6", "q7")

#define SINGLE(TAP)                                      \
  "vldrb.u8 q0, [" TAP "], #16\n"                        \
  "vldrb.u8 q1, [r9], #16\n"                             \
  "vmullb.s8 q2, q0, q1\n"                               \
  "vmullt.s8 q3, q0, q1\n"                               \
  WIDEN("q2", "q4", "q5")                                \
  WIDEN("q3", "q6", "q7")

#define SCALE_RELU(SUM)                                  \
  "vldrw.u32 q0, [r9], #16\n"                            \
  "vqrdmulh.s32 " SUM ", " SUM ", q0\n"                  \
  "vldrw.u32 q1, [r9], #16\n"                            \
  "vrshl.s32 " SUM ", " SUM ", q1\n"

#define SCALE_SIGNED(SUM)                                \
  "vldrw.u32 q0, [r9], #16\n"                            \
  "vqrdmulh.s32 " SUM ", " SUM ", q0\n"                  \
  "vldrw.u32 q1, [r9], #16\n"                            \
  "vshr.s32 q0, " SUM ", #31\n"                          \
  "vqadd.s32 " SUM ", " SUM ", q0\n"                     \
  "vrshl.s32 " SUM ", " SUM ", q1\n"

#define SCALE_GENERAL(SUM)                               \
  "vldrw.u32 q0, [r9], #16\n"                            \
  "vshl.s32 " SUM ", " SUM ", q0\n"                      \
  "vldrw.u32 q1, [r9], #16\n"                            \
  "vqrdmulh.s32 " SUM ", " SUM ", q1\n"                  \
  "vldrw.u32 q0, [r9], #16\n"                            \
  "vldrw.u32 q1, [r9], #16\n"                            \
  "vshl.s32 q1, " SUM ", q1\n"                           \
  "vqadd.s32 " SUM ", " SUM ", q1\n"                     \
  "vrshl.s32 " SUM ", " SUM ", q0\n"

#define CLAMP_NOTHING ""
#define CLAMP_RANGE                                      \
  "vldrb.u8 q0, [r9], #16\n"                             \
  "vldrb.u8 q1, [r9], #16\n"                             \
  "vmax.s8 q4, q4, q0\n"                                 \
  "vmin.s8 q4, q4, q1\n"

#define ROW(SCALE, CLAMP)                                \
  "push {r4-r11, lr}\n"                                  \
  "sub sp, sp, #4\n"                                     \
  "vpush {d8-d15}\n"                                     \
  "sub sp, sp, #24\n"                                    \
  "ldr r12, [r0, #36]\n" /* blocks */                    \
  "vldrw.u32 q0, [r0, #48]\n"                            \
  "vstrw.32 q0, [sp]\n"                                  \
  "str r12, [sp, " SP_BLOCKS "]\n"                       \
  "ldm r0, {r0-r11}\n"                                   \
  "1:\n"                                                 \
  "ldr lr, [sp]\n"                                       \
  "dls lr, lr\n"                                         \
  "2:\n"                                                 \
  "vldrw.u32 q4, [r9], #16\n"                            \
  "vldrw.u32 q5, [r9], #16\n"                            \
  "vldrw.u32 q6, [r9], #16\n"                            \
  "vldrw.u32 q7, [r9], #16\n"                            \
  PAIR("r0", "r1")                                       \
  PAIR("r2", "r3")                                       \
  PAIR("r4", "r5")                                       \
  PAIR("r6", "r7")                                       \
  SINGLE("r8")                                           \
  SCALE("q4")                                            \
  SCALE("q5")                                            \
  SCALE("q6")                                            \
  SCALE("q7")                                            \
  "vqmovnb.s32 q4, q4\n"                                 \
  "vqmovnt.s32 q4, q5\n"                                 \
  "vqmovnb.s32 q6, q6\n"                                 \
  "vqmovnt.s32 q6, q7\n"                                 \
  "vqadd.s16 q4, q4, r11\n"                              \
  "vqadd.s16 q6, q6, r11\n"                              \
  "vqmovnb.s16 q4, q4\n"                                 \
  "vqmovnt.s16 q4, q6\n"                                 \
  CLAMP                                                  \
  "vstrb.8 q4, [r10], #16\n"                             \
  "le lr, 2b\n"                                          \
  "ldrd r12, lr, [sp, " SP_REPEATS "]\n"                 \
  "ldr r9, [sp, " SP_BLOCKS "]\n"                        \
  "subs r12, r12, #1\n"                                  \
  "str r12, [sp, " SP_REPEATS "]\n"                      \
  "beq.n 3f\n"                                           \
  "ldr r12, [sp, #12]\n" /* output skip */               \
  "add r10, r10, r12\n"                                  \
  "cmp lr, #0\n"                                         \
  "beq 1b\n"                                             \
  "add r0, r0, lr\n"                                     \
  "add r1, r1, lr\n"                                     \
  "add r2, r2, lr\n"                                     \
  "add r3, r3, lr\n"                                     \
  "add r4, r4, lr\n"                                     \
  "add r5, r5, lr\n"                                     \
  "add r6, r6, lr\n"                                     \
  "add r7, r7, lr\n"                                     \
  "add r8, r8, lr\n"                                     \
  "b.w 1b\n"                                             \
  "3:\n"                                                 \
  "add sp, sp, #24\n"                                    \
  "vpop {d8-d15}\n"                                      \
  "add sp, sp, #4\n"                                     \
  "pop {r4-r11, pc}\n"

__attribute__((naked)) void helx_mve_depthwise_3x3_relu_s8(const helx_mve_depthwise_row* row
                                                           __attribute__((unused))) {
  __asm__ volatile(ROW(SCALE_RELU, CLAMP_NOTHING));
}

__attribute__((naked)) void helx_mve_depthwise_3x3_signed_s8(const helx_mve_depthwise_row* row
                                                             __attribute__((unused))) {
  __asm__ volatile(ROW(SCALE_SIGNED, CLAMP_RANGE));
}

__attribute__((naked)) void helx_mve_depthwise_3x3_general_s8(const helx_mve_depthwise_row* row
                                                              __attribute__((unused))) {
  __asm__ volatile(ROW(SCALE_GENERAL, CLAMP_RANGE));
}

/* Ring positions of the window's rows, oldest first. */
static inline const int8_t* ring_row(const helx_mve_depthwise_s8_params* p, const int8_t* ring,
                                     int32_t slot, int32_t ky) {
  slot += ky * p->dilation_h;
  if (slot >= p->rows.count) slot -= p->rows.count;
  return ring + slot * p->rows.padded_bytes;
}

void helx_mve_depthwise_3x3_s8(const helx_mve_depthwise_s8_params* p, const int8_t* input,
                               int8_t* output, void* scratch) {
  int8_t* ring = scratch;
  int8_t* spill = ring + p->ring_bytes;
  helx_mve_depthwise_row row;
  row.blocks = p->blocks;
  row.output_zero_point = p->output_zero_point;
  row.block_count = p->block_count;
  row.repeats = p->repeats;
  row.input_skip = p->input_skip;
  row.output_skip = p->output_skip;
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, ring, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      const int32_t slot = helx_rows_advance(&rows, &p->rows,
                                             y * p->stride_h - p->pad_h + p->rows.count - 1);
      for (int32_t ky = 0; ky < 3; ++ky) {
        const int8_t* at = ring_row(p, ring, slot, ky);
        row.taps[3 * ky] = at;
        row.taps[3 * ky + 1] = at + p->tap_bytes;
        row.taps[3 * ky + 2] = at + 2 * p->tap_bytes;
      }
      row.output = p->spill ? spill : output;
      p->row(&row);
      if (p->spill) helx_copy_bytes(output, spill, p->out_row_bytes);
      output += p->out_row_bytes;
    }
    input += p->in_bytes;
  }
}

static inline int32x4_t scale(int32x4_t sum, const int32_t** block) {
  const int32_t* b = *block;
  *block = b + 16;
  sum = vqrdmulhq_s32(vshlq_s32(sum, vld1q_s32(b)), vld1q_s32(b + 4));
  sum = vqaddq_s32(sum, vshlq_s32(sum, vld1q_s32(b + 12)));
  return vrshlq_s32(sum, vld1q_s32(b + 8));
}

/* 16 outputs; `taps` are the window's rows. Returns the next block. */
static inline const int8_t* general_block(const helx_mve_depthwise_s8_params* p,
                                          const int8_t* const* taps, int32_t at,
                                          const int8_t* block, int8_t* output) {
  const int32_t* bias = (const int32_t*)block;
  int32x4_t a0 = vld1q_s32(bias), a1 = vld1q_s32(bias + 4);
  int32x4_t a2 = vld1q_s32(bias + 8), a3 = vld1q_s32(bias + 12);
  const int8_t* w = block + 64;
  for (int32_t ky = 0; ky < p->filter_h; ++ky) {
    const int8_t* x = taps[ky] + at;
    for (int32_t kx = p->filter_w; kx > 0; kx -= 2) {
      int8x16_t v = vld1q_s8(x), u = vld1q_s8(w);
      x += p->tap_bytes;
      w += 16;
      int16x8_t even = vmullbq_int_s8(v, u), odd = vmulltq_int_s8(v, u);
      if (kx > 1) {
        v = vld1q_s8(x);
        u = vld1q_s8(w);
        x += p->tap_bytes;
        w += 16;
        even = vaddq_s16(even, vmullbq_int_s8(v, u));
        odd = vaddq_s16(odd, vmulltq_int_s8(v, u));
      }
      a0 = vaddq_s32(a0, vmovlbq_s16(even));
      a1 = vaddq_s32(a1, vmovltq_s16(even));
      a2 = vaddq_s32(a2, vmovlbq_s16(odd));
      a3 = vaddq_s32(a3, vmovltq_s16(odd));
    }
  }
  const int32_t* scales = (const int32_t*)w;
  a0 = scale(a0, &scales);
  a1 = scale(a1, &scales);
  a2 = scale(a2, &scales);
  a3 = scale(a3, &scales);
  int16x8_t even = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), a0), a1);
  int16x8_t odd = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), a2), a3);
  even = vqaddq_n_s16(even, (int16_t)p->output_zero_point);
  odd = vqaddq_n_s16(odd, (int16_t)p->output_zero_point);
  int8x16_t y = vqmovntq_s16(vqmovnbq_s16(vuninitializedq_s8(), even), odd);
  const int8_t* range = (const int8_t*)scales;
  y = vminq_s8(vmaxq_s8(y, vld1q_s8(range)), vld1q_s8(range + 16));
  vst1q_s8(output, y);
  return range + 32;
}

enum { MAX_FILTER_H = 32 };

void helx_mve_depthwise_s8(const helx_mve_depthwise_s8_params* p, const int8_t* input,
                           int8_t* output, void* scratch) {
  int8_t* ring = scratch;
  int8_t* spill = ring + p->ring_bytes;
  const int8_t* taps[MAX_FILTER_H];
  for (int32_t batch = 0; batch < p->batches; ++batch) {
    helx_rows rows;
    helx_rows_start(&rows, &p->rows, input, ring, -p->pad_h);
    for (int32_t y = 0; y < p->out_h; ++y) {
      const int32_t slot = helx_rows_advance(&rows, &p->rows,
                                             y * p->stride_h - p->pad_h + p->rows.count - 1);
      for (int32_t ky = 0; ky < p->filter_h; ++ky) taps[ky] = ring_row(p, ring, slot, ky);
      int8_t* to = p->spill ? spill : output;
      int32_t at = 0;
      for (int32_t walk = 0; walk < p->repeats; ++walk) {
        const int8_t* block = p->blocks;
        for (int32_t b = 0; b < p->block_count; ++b, at += 16, to += 16) {
          block = general_block(p, taps, at, block, to);
        }
        at += p->input_skip;
        to += p->output_skip;
      }
      if (p->spill) helx_copy_bytes(output, spill, p->out_row_bytes);
      output += p->out_row_bytes;
    }
    input += p->in_bytes;
  }
}

#endif /* __ARM_FEATURE_MVE */
