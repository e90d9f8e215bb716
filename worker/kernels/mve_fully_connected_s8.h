/* int8 FULLY_CONNECTED for Helium: one row of activations by eight filters at a time.
 *
 * Filters are packed as a stream (worker/engine/ops/mve.cc writes it), out_depth rounded up to eights with zero filters. Per
 * eight outputs c..c+7, in the order e = (c, c+2, c+4, c+6), o = (c+1, c+3, c+5, c+7):
 *
 *   K/16 times 8 * 16 int8: 16 weights of each filter   K = in_depth, rounded up to 16 with zero weights
 *   int32 bias[4] of e, bias[4] of o                    with -zero_point * sum(filter) folded in
 *   then for e and for o: int32 left[4], multiplier[4], right[4], sign[4]   (mve_gemm_s8.h, general form)
 */
#ifndef HELX_MVE_FULLY_CONNECTED_S8_H_
#define HELX_MVE_FULLY_CONNECTED_S8_H_

#include <stdint.h>

/* The order is what the assembly loads. */
typedef struct {
  int32_t rows;
  int32_t in_depth;
  int32_t out_depth;
  int32_t depth_blocks; /* K/16 */
  int32_t output_zero_point;
  int32_t lowest, highest;
  const int8_t* filters;
} helx_mve_fully_connected_s8_params;

/* Up to 15 bytes behind the input are read, and not used. */
void helx_mve_fully_connected_s8(const helx_mve_fully_connected_s8_params* p, const int8_t* input,
                                 int8_t* output);

#endif /* HELX_MVE_FULLY_CONNECTED_S8_H_ */
