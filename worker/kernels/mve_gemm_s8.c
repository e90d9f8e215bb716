#include "mve_gemm_s8.h"

#if defined(__ARM_FEATURE_MVE)

/* Assembly, because the tile fills the register file: VMLADAVA accumulates in even registers only, and 4 rows x 2 filters take
 * all eight of them (r0..r14), the odd ones holding pointers. Nothing is left for a loop's own registers, so compilers spill.
 *
 *   r0 r2 r4 r6    sums of rows 0..3 with the first filter     r1 r3 r5 r7   the rows
 *   r8 r10 r12 lr  sums of rows 0..3 with the second           r9            the filter stream       r11  loop counter
 *   q0 q1 filters, q2 q3 rows, q4 the first pair's results, q5 output offsets, q6 lowest, q7 highest
 *
 * On the stack: the argument block, so that one LDM rewinds the rows and sets the counter.
 */

#define SP_FILTERS "#20"
#define SP_Y "#24" /* and its end */
#define SP_TILES "#32" /* and the rows' step */
#define SP_Y_STEP "#40"
#define SP_QUADS "#44"
#define SP_ENTRY_1 "#48"
#define SP_ENTRY_2 "#52"

/* 16 steps of depth; loads and multiplications alternate, so that they overlap. M is the instruction. 56 bytes of code. */
#define BLOCK(M)                     \
  "vldrb.u8 q0, [r9], #16\n"         \
  "vldrb.u8 q2, [r1], #16\n"         \
  M " r0, q2, q0\n"                  \
  "vldrb.u8 q1, [r9], #16\n"         \
  M " r8, q2, q1\n"                  \
  "vldrb.u8 q3, [r3], #16\n"         \
  M " r2, q3, q0\n"                  \
  "vldrb.u8 q2, [r5], #16\n"         \
  M " r10, q3, q1\n"                 \
  "vldrb.u8 q3, [r7], #16\n"         \
  M " r4, q2, q0\n"                  \
  M " r12, q2, q1\n"                 \
  M " r6, q3, q0\n"                  \
  M " lr, q3, q1\n"

/* The sums of two filters, rewinding first; afterwards q0 and q1 hold them, row by row, and r9 is at the pair's parameters. */
#define SUMS(LOOP, ENTRY)            \
  "ldm sp, {r1, r3, r5, r7, r11}\n"  \
  BLOCK("vmladav.s8")                \
  "ldr.w pc, [sp, " ENTRY "]\n"      \
  LOOP ":\n"                         \
  BLOCK("vmladava.s8")               \
  BLOCK("vmladava.s8")               \
  BLOCK("vmladava.s8")               \
  BLOCK("vmladava.s8")               \
  "subs.w r11, r11, #1\n"            \
  "bne.w " LOOP "b\n"                \
  "vmov q0[2], q0[0], r0, r4\n"      \
  "vmov q0[3], q0[1], r2, r6\n"      \
  "vmov q1[2], q1[0], r8, r12\n"     \
  "vmov q1[3], q1[1], r10, lr\n"

/* Two vectors of sums to 16-bit results in OUT, the first filter's in the even lanes. */
#define NARROW(OUT)                  \
  "vqmovnb.s32 " OUT ", q0\n"        \
  "vqmovnt.s32 " OUT ", q1\n"        \
  "vqadd.s16 " OUT ", " OUT ", r12\n"

#define REQUANTIZE_RELU(OUT)                       \
  "ldm r9!, {r0, r2, r4, r6, r8, r10, r12, lr}\n"  \
  "vadd.i32 q0, q0, r0\n"                          \
  "vadd.i32 q1, q1, r6\n"                          \
  "vqrdmulh.s32 q0, q0, r2\n"                      \
  "vqrdmulh.s32 q1, q1, r8\n"                      \
  "vrshl.s32 q0, r4\n"                             \
  "vrshl.s32 q1, r10\n"                            \
  NARROW(OUT)

#define REQUANTIZE_SIGNED(OUT)                     \
  "ldm r9!, {r0, r2, r4, r6, r8, r10, r12, lr}\n"  \
  "vadd.i32 q0, q0, r0\n"                          \
  "vadd.i32 q1, q1, r6\n"                          \
  "vqrdmulh.s32 q0, q0, r2\n"                      \
  "vqrdmulh.s32 q1, q1, r8\n"                      \
  "vshr.s32 q2, q0, #31\n"                         \
  "vshr.s32 q3, q1, #31\n"                         \
  "vqadd.s32 q0, q0, q2\n"                         \
  "vqadd.s32 q1, q1, q3\n"                         \
  "vrshl.s32 q0, r4\n"                             \
  "vrshl.s32 q1, r10\n"                            \
  NARROW(OUT)

#define REQUANTIZE_GENERAL(OUT)                    \
  "ldm r9!, {r0, r2, r4, r6, r8}\n"                \
  "vadd.i32 q0, q0, r0\n"                          \
  "vshl.s32 q0, r2\n"                              \
  "vqrdmulh.s32 q0, q0, r4\n"                      \
  "vmov q2, q0\n"                                  \
  "vshl.s32 q2, r8\n"                              \
  "vqadd.s32 q0, q0, q2\n"                         \
  "vrshl.s32 q0, r6\n"                             \
  "ldm r9!, {r0, r2, r4, r6, r8, r12, lr}\n"       \
  "vadd.i32 q1, q1, r0\n"                          \
  "vshl.s32 q1, r2\n"                              \
  "vqrdmulh.s32 q1, q1, r4\n"                      \
  "vmov q2, q1\n"                                  \
  "vshl.s32 q2, r8\n"                              \
  "vqadd.s32 q1, q1, q2\n"                         \
  "vrshl.s32 q1, r6\n"                             \
  NARROW(OUT)

#define GEMM(REQUANTIZE)                  \
  "push {r4-r11, lr}\n"                   \
  "sub sp, sp, #4\n"                      \
  "vpush {d8-d15}\n"                      \
  "sub sp, sp, #56\n"                     \
  "vldrw.u32 q0, [r0]\n"                  \
  "vldrw.u32 q1, [r0, #16]\n"             \
  "vldrw.u32 q2, [r0, #32]\n"             \
  "vldrw.u32 q5, [r0, #48]\n"             \
  "ldr r1, [r0, #72]\n"                   \
  "ldrd r2, r3, [r0, #64]\n"              \
  "vdup.8 q6, r2\n"                       \
  "vdup.8 q7, r3\n"                       \
  "adr.w r2, 3f\n"                        \
  "add r2, r2, r1\n"                      \
  "orr r2, r2, #1\n"                      \
  "adr.w r3, 4f\n"                        \
  "add r3, r3, r1\n"                      \
  "orr r3, r3, #1\n"                      \
  "vstrw.32 q0, [sp]\n"                   \
  "vstrw.32 q1, [sp, #16]\n"              \
  "vstrw.32 q2, [sp, #32]\n"              \
  "strd r2, r3, [sp, " SP_ENTRY_1 "]\n"   \
  "1:\n"                                  \
  "ldr r9, [sp, " SP_FILTERS "]\n"        \
  "2:\n"                                  \
  SUMS("3", SP_ENTRY_1)                   \
  REQUANTIZE("q4")                        \
  SUMS("4", SP_ENTRY_2)                   \
  REQUANTIZE("q2")                        \
  "ldrd r0, r2, [sp, " SP_Y "]\n"         \
  "vqmovnb.s16 q0, q4\n"                  \
  "vqmovnt.s16 q0, q2\n"                  \
  "vmax.s8 q0, q0, q6\n"                  \
  "vmin.s8 q0, q0, q7\n"                  \
  "vstrw.32 q0, [r0, q5]\n"               \
  "adds r0, r0, #4\n"                     \
  "str r0, [sp, " SP_Y "]\n"              \
  "cmp r0, r2\n"                          \
  "bne.w 2b\n"                            \
  "ldrd r4, r6, [sp, " SP_TILES "]\n"     \
  "ldr r8, [sp, " SP_Y_STEP "]\n"         \
  "subs r4, r4, #1\n"                     \
  "beq.n 5f\n"                            \
  "vldrw.u32 q0, [sp]\n"                  \
  "vadd.i32 q0, q0, r6\n"                 \
  "vstrw.32 q0, [sp]\n"                   \
  "ldr r10, [sp, " SP_QUADS "]\n"         \
  "add r2, r2, r8\n"                      \
  "sub r0, r2, r10\n"                     \
  "strd r0, r2, [sp, " SP_Y "]\n"         \
  "str r4, [sp, " SP_TILES "]\n"          \
  "b.w 1b\n"                              \
  "5:\n"                                  \
  "add sp, sp, #56\n"                     \
  "vpop {d8-d15}\n"                       \
  "add sp, sp, #4\n"                      \
  "pop {r4-r11, pc}\n"

__attribute__((naked)) void helx_mve_gemm_relu_s8(const helx_mve_gemm_args* args
                                                  __attribute__((unused))) {
  __asm__ volatile(GEMM(REQUANTIZE_RELU));
}

__attribute__((naked)) void helx_mve_gemm_signed_s8(const helx_mve_gemm_args* args
                                                    __attribute__((unused))) {
  __asm__ volatile(GEMM(REQUANTIZE_SIGNED));
}

__attribute__((naked)) void helx_mve_gemm_general_s8(const helx_mve_gemm_args* args
                                                     __attribute__((unused))) {
  __asm__ volatile(GEMM(REQUANTIZE_GENERAL));
}

#endif /* __ARM_FEATURE_MVE */
