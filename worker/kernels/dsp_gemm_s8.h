/* int8 matrix products for the DSP extension (Cortex-M4, M7, M33): two rows, or one row, of activations by all filters.
 *
 * SMLAD multiplies pairs of 16-bit numbers. Activations are widened to such pairs once for all filters. Filters stay 8 bits wide,
 * two of them, a and b, in one 16-bit number v = 256 b + a. Two SMLADs give sum(v x) = 256 B + A and, with a's bytes extracted
 * by one SXTB16, A; the difference is 256 B. That saves one extraction of two. It needs v in 16 bits (no b = -128) and B with its
 * bias in 24 bits; the packer (worker/engine/ops/dsp.cc) refuses other filters.
 *
 * Depth is rounded up to a multiple of 4 with zero weights: K. Of four neighbours k..k+3, pairs are (k, k+2) and (k+1, k+3).
 * Activations, `x`: for each pair the word of row 0 and the word of row 1 (two rows), or the word of the one row.
 * Filters are a stream; output channels are taken in quads c..c+3, out_c rounded up to quads with zero filters. Per quad:
 *
 *   int32 256 bias(c+1) + bias(c), bias(c), 256 bias(c+3) + bias(c+2), bias(c+2)     modulo 2^32
 *   K/2 times { two int16 v of (a, b) = (c, c+1); two int16 v of (c+2, c+3) }
 *   for each of c..c+3: int32 multiplier, n, (output zero point << n) + (1 << n >> 1)       n = -shift >= 0
 *
 * Results saturate to 8 bits. bias holds -zero_point * sum(filter) already.
 */
#ifndef HELX_DSP_GEMM_S8_H_
#define HELX_DSP_GEMM_S8_H_

#include <stdint.h>

/* The order is what the assembly loads. */
typedef struct {
  const uint32_t* x; /* 8-byte aligned */
  const uint32_t* x_end;
  int32_t entry;     /* helx_dsp_gemm_entry(), helx_dsp_gemv_entry() */
  int8_t* y0;        /* outputs of row 0 and of row 1; may be equal if the rows are */
  int8_t* y1;
  int8_t* y_end;     /* y0 + out_c rounded up to quads */
  const int8_t* filters;
} helx_dsp_gemm_args;

typedef void (*helx_dsp_gemm)(const helx_dsp_gemm_args* args);

/* Two rows. The ReLU form leaves out the correction that rounds negative halves away from zero: right wherever everything below
 * the output zero point is clamped to it afterwards. The signed form needs n >= 1. */
void helx_dsp_gemm_relu_s8(const helx_dsp_gemm_args* args);
void helx_dsp_gemm_signed_s8(const helx_dsp_gemm_args* args);
/* One row; y1 is not used. */
void helx_dsp_gemv_relu_s8(const helx_dsp_gemm_args* args);
void helx_dsp_gemv_signed_s8(const helx_dsp_gemm_args* args);

/* Where the unrolled loops are entered, in bytes of code: 8 steps of a pair, 4 steps of two pairs. */
static inline int32_t helx_dsp_gemm_entry(int32_t pairs) { return ((8 - (pairs & 7)) & 7) * 48; }
static inline int32_t helx_dsp_gemv_entry(int32_t pairs) {
  return ((4 - ((pairs >> 1) & 3)) & 3) * 56;
}

#endif /* HELX_DSP_GEMM_S8_H_ */
