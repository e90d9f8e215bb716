/* int8 matrix product for Helium: four rows of activations by all filters, requantised. Cortex-M55 and later.
 *
 * Filters are packed as a stream (worker/engine/ops/mve.cc writes it, this is the definition). Output channels are taken in
 * quads c..c+3, in the order of two pairs (c, c+2), (c+1, c+3); out_c is rounded up to quads with zero filters. Per pair:
 *
 *   K/16 times { 16 int8 of the first filter, 16 int8 of the second }   K = depth, rounded up to 16 with zero weights
 *   int32: bias, multiplier, shift (<= 0) of the first; the same of the second; output zero point; 0
 *
 * and in the general form, for channels that the short one cannot do:
 *
 *   int32: bias, left, multiplier, right, sign of the first; the same of the second; output zero point; 0
 *     left = max(shift, 0); right = min(shift, 0); sign = right < 0 ? -31 : 32 (a shift that leaves the sign, or nothing)
 *
 * bias holds -zero_point * sum(filter) already. The requantisation is TFLite's with two roundings, helx_arith.h.
 */
#ifndef HELX_MVE_GEMM_S8_H_
#define HELX_MVE_GEMM_S8_H_

#include <stdint.h>

/* The order is what the assembly copies to its stack. */
typedef struct {
  const int8_t* x[4];   /* four rows; K bytes of each are read */
  int32_t iterations;   /* helx_mve_gemm_depth() */
  const int8_t* filters;
  int8_t* y;            /* the first row's first output; 4-byte aligned, as all outputs are */
  int8_t* y_end;        /* y + quads */
  int32_t tiles;        /* groups of four rows, >= 1 */
  int32_t x_step;       /* bytes from a group's rows to the next group's */
  int32_t y_step;
  int32_t quads;        /* out_c rounded up to a multiple of 4 */
  uint32_t y_offset[4]; /* of each row's outputs from y */
  int32_t lowest, highest;
  int32_t entry;        /* helx_mve_gemm_depth() */
} helx_mve_gemm_args;

/* How the ReLU form differs: it leaves out the correction that rounds negative halves away from zero. Right wherever
 * lowest >= output zero point, because there every negative sum becomes `lowest`. */
void helx_mve_gemm_relu_s8(const helx_mve_gemm_args* args);
/* shift in [-31, -1] for every channel. */
void helx_mve_gemm_signed_s8(const helx_mve_gemm_args* args);
/* shift in [-31, 30]. */
void helx_mve_gemm_general_s8(const helx_mve_gemm_args* args);

enum { HELX_MVE_GEMM_BLOCK_CODE = 14 * 4, HELX_MVE_GEMM_UNROLL = 4 };

/* The first block of 16 is done apart; the others in a loop of four that is entered where the count demands. */
static inline void helx_mve_gemm_depth(helx_mve_gemm_args* args, int32_t blocks) {
  const int32_t rest = blocks - 1;
  args->iterations = (rest + HELX_MVE_GEMM_UNROLL - 1) / HELX_MVE_GEMM_UNROLL;
  args->entry = rest == 0 ? HELX_MVE_GEMM_UNROLL * HELX_MVE_GEMM_BLOCK_CODE + 8
                          : (HELX_MVE_GEMM_UNROLL * args->iterations - rest) *
                                HELX_MVE_GEMM_BLOCK_CODE;
}

#endif /* HELX_MVE_GEMM_S8_H_ */
