/* int8 CONV_2D and FULLY_CONNECTED for the DSP extension, as matrix products (dsp_gemm_s8.h). */
#ifndef HELX_DSP_CONV_S8_H_
#define HELX_DSP_CONV_S8_H_

#include <stdint.h>

#include "dsp_gemm_s8.h"
#include "helx_rows.h"

enum { HELX_DSP_CONV_MAX_FILTER_H = 64 };

typedef struct {
  int32_t batches;
  int32_t in_bytes;       /* of one image */
  int32_t out_h, out_w, out_c;
  int32_t stride_h;
  int32_t column_bytes;   /* stride_w * in_c: from one output position's window to the next one's */
  int32_t runs;           /* contiguous pieces of a window in one row: 1, or filter_w when columns are dilated */
  int32_t run_bytes;      /* of such a piece */
  int32_t run_step;       /* from piece to piece: dilation_w * in_c */
  int32_t filter_h;       /* at most HELX_DSP_CONV_MAX_FILTER_H */
  int32_t dilation_h;
  int32_t pad_h;
  int32_t depth;          /* filter_h * runs * run_bytes, rounded up to a multiple of 4 */
  int32_t clamp;          /* 1: lowest or highest is not the end of int8 */
  int32_t lowest, highest;
  helx_rows_shape rows;
  helx_dsp_gemm gemm;
  const int8_t* filters;  /* the stream of dsp_gemm_s8.h */
} helx_dsp_conv_s8_params;

/* Any window. Scratch, 8-byte aligned: 4 * depth; then rows.count * rows.padded_bytes + HELX_ROWS_SLACK, rounded up to 4; then
 * depth + 4 if run_bytes is no multiple of 4; then 2 * (out_c rounded up to 4) if out_c is no multiple of 4.
 * The output may begin where the input begins if no output row ends behind the rows that were copied for it. */
void helx_dsp_conv_s8(const helx_dsp_conv_s8_params* p, const int8_t* input, int8_t* output,
                      void* scratch);

/* 1x1 filters without stride or padding; out_c a multiple of 4. `rows` and the window's fields are not read. Scratch, 8-byte
 * aligned: 4 * depth. Up to 3 bytes behind the input are read, and not used. */
void helx_dsp_pointwise_s8(const helx_dsp_conv_s8_params* p, const int8_t* input, int8_t* output,
                           void* scratch);

typedef struct {
  int32_t rows;
  int32_t in_depth;
  int32_t out_depth;
  int32_t depth;          /* in_depth rounded up to a multiple of 4 */
  int32_t clamp;
  int32_t lowest, highest;
  helx_dsp_gemm gemv;
  const int8_t* filters;
} helx_dsp_fully_connected_s8_params;

/* Scratch, 8-byte aligned: 2 * depth; then out_depth rounded up to 4 if it is no multiple of 4. Up to 3 bytes behind the input are
 * read, and not used. */
void helx_dsp_fully_connected_s8(const helx_dsp_fully_connected_s8_params* p, const int8_t* input,
                                 int8_t* output, void* scratch);

#endif /* HELX_DSP_CONV_S8_H_ */
