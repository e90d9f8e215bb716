#include "dsp_gemm_s8.h"

#if defined(__ARM_FEATURE_DSP)

/* Assembly, because the tile takes every register there is: eight sums, four operands and two pointers. */

#define SP_X "#0"
#define SP_X_END "#4"
#define SP_ENTRY "#8"
#define SP_Y "#12" /* y0 and y1 */
#define SP_Y_END "#20"

#define PROLOGUE                     \
  "push {r4-r11, lr}\n"              \
  "sub sp, sp, #28\n"                \
  "ldm r0, {r1-r7}\n"                \
  "adr.w r0, 2f\n"                   \
  "add r3, r3, r0\n"                 \
  "orr r3, r3, #1\n"                 \
  "stm sp, {r1-r6}\n"                \
  "mov lr, r7\n"

#define EPILOGUE                     \
  "add sp, sp, #28\n"                \
  "pop {r4-r11, pc}\n"

/* From the doubled sum to the output in SUM; r8 multiplier, r9 shift, r10 rounding and zero point. */
#define SCALE_RELU(SUM)                          \
  "smmlar " SUM ", " SUM ", r8, r10\n"           \
  "asr.w " SUM ", " SUM ", r9\n"                 \
  "ssat " SUM ", #8, " SUM "\n"

#define SCALE_SIGNED(SUM)                        \
  "smmulr " SUM ", " SUM ", r8\n"                \
  "add.w " SUM ", " SUM ", " SUM ", asr #31\n"   \
  "add.w " SUM ", " SUM ", r10\n"                \
  "asr.w " SUM ", " SUM ", r9\n"                 \
  "ssat " SUM ", #8, " SUM "\n"

/* Two rows.
 *   r0 r1: 256 B + A of the first pair of filters in rows 0 and 1; r2 r3: A; r4-r7 the second pair
 *   r8 r9 filters, r10 r11 rows, r12 the rows' pointer, lr the stream
 */
#define STEP2                        \
  "ldrd r8, r9, [lr], #8\n"          \
  "ldrd r10, r11, [r12], #8\n"       \
  "smlad r0, r8, r10, r0\n"          \
  "smlad r1, r8, r11, r1\n"          \
  "sxtb16 r8, r8\n"                  \
  "smlad r2, r8, r10, r2\n"          \
  "smlad r3, r8, r11, r3\n"          \
  "smlad r4, r9, r10, r4\n"          \
  "smlad r5, r9, r11, r5\n"          \
  "sxtb16 r9, r9\n"                  \
  "smlad r6, r9, r10, r6\n"          \
  "smlad r7, r9, r11, r7\n"

#define OUTPUT2(SCALE, SUM0, SUM1)   \
  "ldm lr!, {r8, r9, r10}\n"         \
  SCALE(SUM0)                        \
  SCALE(SUM1)                        \
  "strb " SUM0 ", [r11], #1\n"       \
  "strb " SUM1 ", [r12], #1\n"

#define GEMM(SCALE)                  \
  PROLOGUE                           \
  "1:\n"                             \
  "ldr r12, [sp, " SP_X "]\n"        \
  "ldm lr!, {r0, r2, r4, r6}\n"      \
  "mov r1, r0\n"                     \
  "mov r3, r2\n"                     \
  "mov r5, r4\n"                     \
  "mov r7, r6\n"                     \
  "ldr.w pc, [sp, " SP_ENTRY "]\n"   \
  ".balign 4\n"                      \
  "2:\n"                             \
  STEP2 STEP2 STEP2 STEP2            \
  STEP2 STEP2 STEP2 STEP2            \
  "ldr r8, [sp, " SP_X_END "]\n"     \
  "cmp r12, r8\n"                    \
  "bne.w 2b\n"                       \
  "subs r0, r0, r2\n"                \
  "subs r1, r1, r3\n"                \
  "subs r4, r4, r6\n"                \
  "subs r5, r5, r7\n"                \
  "asrs r0, r0, #7\n"                \
  "asrs r1, r1, #7\n"                \
  "asrs r4, r4, #7\n"                \
  "asrs r5, r5, #7\n"                \
  "lsls r2, r2, #1\n"                \
  "lsls r3, r3, #1\n"                \
  "lsls r6, r6, #1\n"                \
  "lsls r7, r7, #1\n"                \
  "ldrd r11, r12, [sp, " SP_Y "]\n"  \
  OUTPUT2(SCALE, "r2", "r3")         \
  OUTPUT2(SCALE, "r0", "r1")         \
  OUTPUT2(SCALE, "r6", "r7")         \
  OUTPUT2(SCALE, "r4", "r5")         \
  "ldr r8, [sp, " SP_Y_END "]\n"     \
  "strd r11, r12, [sp, " SP_Y "]\n"  \
  "cmp r11, r8\n"                    \
  "bne.w 1b\n"                       \
  EPILOGUE

/* One row.
 *   r0: 256 B + A of the first pair of filters, r1: A; r2 r3 the second pair
 *   r4 r5 two pairs of the row, r6-r9 filters, r11 output, r12 the row's pointer, lr the stream
 */
#define STEP1                        \
  "ldrd r4, r5, [r12], #8\n"         \
  "ldm.w lr!, {r6, r7, r8, r9}\n"    \
  "smlad r0, r6, r4, r0\n"           \
  "sxtb16 r6, r6\n"                  \
  "smlad r2, r7, r4, r2\n"           \
  "sxtb16 r7, r7\n"                  \
  "smlad r1, r6, r4, r1\n"           \
  "smlad r3, r7, r4, r3\n"           \
  "smlad r0, r8, r5, r0\n"           \
  "sxtb16 r8, r8\n"                  \
  "smlad r2, r9, r5, r2\n"           \
  "sxtb16 r9, r9\n"                  \
  "smlad r1, r8, r5, r1\n"           \
  "smlad r3, r9, r5, r3\n"

#define OUTPUT1(SCALE, SUM)          \
  "ldm lr!, {r8, r9, r10}\n"         \
  SCALE(SUM)                         \
  "strb " SUM ", [r11], #1\n"

#define GEMV(SCALE)                  \
  PROLOGUE                           \
  "mov r11, r4\n"                    \
  "1:\n"                             \
  "ldr r12, [sp, " SP_X "]\n"        \
  "ldm lr!, {r0, r1, r2, r3}\n"      \
  "ldr.w pc, [sp, " SP_ENTRY "]\n"   \
  ".balign 4\n"                      \
  "2:\n"                             \
  STEP1 STEP1 STEP1 STEP1            \
  "ldr r10, [sp, " SP_X_END "]\n"    \
  "cmp r12, r10\n"                   \
  "bne.w 2b\n"                       \
  "subs r0, r0, r1\n"                \
  "subs r2, r2, r3\n"                \
  "asrs r0, r0, #7\n"                \
  "asrs r2, r2, #7\n"                \
  "lsls r1, r1, #1\n"                \
  "lsls r3, r3, #1\n"                \
  OUTPUT1(SCALE, "r1")               \
  OUTPUT1(SCALE, "r0")               \
  OUTPUT1(SCALE, "r3")               \
  OUTPUT1(SCALE, "r2")               \
  "ldr r8, [sp, " SP_Y_END "]\n"     \
  "cmp r11, r8\n"                    \
  "bne.w 1b\n"                       \
  EPILOGUE

#define KERNEL(NAME, BODY)                                                              \
  __attribute__((naked)) void NAME(const helx_dsp_gemm_args* args __attribute__((unused))) { \
    __asm__ volatile(BODY);                                                             \
  }

KERNEL(helx_dsp_gemm_relu_s8, GEMM(SCALE_RELU))
KERNEL(helx_dsp_gemm_signed_s8, GEMM(SCALE_SIGNED))
KERNEL(helx_dsp_gemv_relu_s8, GEMV(SCALE_RELU))
KERNEL(helx_dsp_gemv_signed_s8, GEMV(SCALE_SIGNED))

#endif /* __ARM_FEATURE_DSP */
