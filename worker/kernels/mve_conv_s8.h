/* int8 CONV_2D for Helium, as a matrix product (mve_gemm_s8.h). */
#ifndef HELX_MVE_CONV_S8_H_
#define HELX_MVE_CONV_S8_H_

#include <stdint.h>

#include "helx_rows.h"
#include "mve_gemm_s8.h"

enum { HELX_MVE_CONV_MAX_FILTER_H = 64 };

typedef void (*helx_mve_gemm)(const helx_mve_gemm_args* args);

typedef struct {
  int32_t batches;
  int32_t in_bytes;       /* of one image */
  int32_t out_h, out_w, out_c;
  int32_t stride_h;
  int32_t column_bytes;   /* stride_w * in_c: from one output position's window to the next one's */
  int32_t runs;           /* contiguous pieces of a window in one row: 1, or filter_w when columns are dilated */
  int32_t run_bytes;      /* of such a piece */
  int32_t run_step;       /* from piece to piece: dilation_w * in_c */
  int32_t filter_h;       /* at most HELX_MVE_CONV_MAX_FILTER_H */
  int32_t dilation_h;
  int32_t pad_h;
  int32_t depth_blocks;   /* filter_h * runs * run_bytes in blocks of 16, rounded up */
  int32_t lowest, highest;
  helx_rows_shape rows;
  helx_mve_gemm gemm;
  const int8_t* filters;  /* the stream of mve_gemm_s8.h */
} helx_mve_conv_s8_params;

/* Any window. Scratch, 16-byte aligned:
 *   rows.count * rows.padded_bytes + HELX_ROWS_SLACK, rounded up to 16; then 4 * depth_blocks * 16 + 16;
 *   then 4 * (out_c rounded up to 4) if out_c is no multiple of 4.
 * The output may begin where the input begins if no output row ends behind the rows that were copied for it. */
void helx_mve_conv_s8(const helx_mve_conv_s8_params* p, const int8_t* input, int8_t* output,
                      void* scratch);

/* 1x1 filters without stride or padding; out_c a multiple of 4. `rows` and the window's fields are not read. Up to 15 bytes
 * behind the input are read, and not used. */
void helx_mve_pointwise_s8(const helx_mve_conv_s8_params* p, const int8_t* input, int8_t* output);

#endif /* HELX_MVE_CONV_S8_H_ */
