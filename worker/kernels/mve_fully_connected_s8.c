#include "mve_fully_connected_s8.h"

#if defined(__ARM_FEATURE_MVE)

/* Assembly for the reason of mve_gemm_s8.c: eight sums are all the registers VMLADAVA can accumulate in.
 *
 *   r0 r2 .. r12 lr sums, r1 activations, r3 filter stream, r5 blocks left, r7 output, r9 outputs left, r11 parameters
 */
#define BLOCK(M)                \
  "vldrb.u8 q0, [r1], #16\n"    \
  "vldrb.u8 q1, [r3], #16\n"    \
  M " r0, q0, q1\n"             \
  "vldrb.u8 q2, [r3], #16\n"    \
  M " r2, q0, q2\n"             \
  "vldrb.u8 q1, [r3], #16\n"    \
  M " r4, q0, q1\n"             \
  "vldrb.u8 q2, [r3], #16\n"    \
  M " r6, q0, q2\n"             \
  "vldrb.u8 q1, [r3], #16\n"    \
  M " r8, q0, q1\n"             \
  "vldrb.u8 q2, [r3], #16\n"    \
  M " r10, q0, q2\n"            \
  "vldrb.u8 q1, [r3], #16\n"    \
  M " r12, q0, q1\n"            \
  "vldrb.u8 q2, [r3], #16\n"    \
  M " lr, q0, q2\n"

#define SCALE(SUM)                         \
  "vldrw.u32 q3, [r3], #16\n"              \
  "vshl.s32 " SUM ", " SUM ", q3\n"        \
  "vldrw.u32 q3, [r3], #16\n"              \
  "vqrdmulh.s32 " SUM ", " SUM ", q3\n"    \
  "vldrw.u32 q2, [r3], #16\n"              \
  "vldrw.u32 q3, [r3], #16\n"              \
  "vshl.s32 q3, " SUM ", q3\n"             \
  "vqadd.s32 " SUM ", " SUM ", q3\n"       \
  "vrshl.s32 " SUM ", " SUM ", q2\n"

/* (parameters, activations of one row, outputs) */
__attribute__((naked)) static void row(const helx_mve_fully_connected_s8_params* p
                                       __attribute__((unused)),
                                       const int8_t* input __attribute__((unused)),
                                       int8_t* output __attribute__((unused))) {
  __asm__ volatile(
      "push {r4-r11, lr}\n"
      "sub sp, sp, #4\n"
      "push {r1, r2}\n" /* a place for the activations' address, and padding */
      "mov r11, r0\n"
      "mov r7, r2\n"
      "ldr r9, [r11, #8]\n"
      "ldr r3, [r11, #28]\n"
      "1:\n"
      "ldr r1, [sp]\n"
      "ldr r5, [r11, #12]\n"
      BLOCK("vmladav.s8")
      "subs r5, r5, #1\n"
      "beq 3f\n"
      "2:\n"
      BLOCK("vmladava.s8")
      "subs r5, r5, #1\n"
      "bne 2b\n"
      "3:\n"
      "vmov q0[2], q0[0], r0, r8\n"
      "vmov q0[3], q0[1], r4, r12\n"
      "vmov q1[2], q1[0], r2, r10\n"
      "vmov q1[3], q1[1], r6, lr\n"
      "vldrw.u32 q2, [r3], #16\n"
      "vadd.i32 q0, q0, q2\n"
      "vldrw.u32 q3, [r3], #16\n"
      "vadd.i32 q1, q1, q3\n"
      "ldrd r2, r4, [r11, #16]\n"
      "ldr r6, [r11, #24]\n"
      SCALE("q0")
      SCALE("q1")
      "vqmovnb.s32 q0, q0\n"
      "vqmovnt.s32 q0, q1\n"
      "vqadd.s16 q0, q0, r2\n"
      "vdup.16 q2, r4\n"
      "vdup.16 q3, r6\n"
      "vmax.s16 q0, q0, q2\n"
      "vmin.s16 q0, q0, q3\n"
      "vctp.16 r9\n" /* the last eight may overhang */
      "vpst\n"
      "vstrbt.16 q0, [r7], #8\n"
      "subs r9, r9, #8\n"
      "bgt 1b\n"
      "add sp, sp, #8\n"
      "add sp, sp, #4\n"
      "pop {r4-r11, pc}\n");
}

void helx_mve_fully_connected_s8(const helx_mve_fully_connected_s8_params* p, const int8_t* input,
                                 int8_t* output) {
  for (int32_t i = 0; i < p->rows; ++i) {
    row(p, input, output);
    input += p->in_depth;
    output += p->out_depth;
  }
}

#endif /* __ARM_FEATURE_MVE */
