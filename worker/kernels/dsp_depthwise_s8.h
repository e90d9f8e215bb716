/* int8 DEPTHWISE_CONV_2D with one output channel per input channel, for the DSP extension: four channels at a time, NHWC.
 *
 * Channels are a multiple of 4. Filters are a stream (worker/engine/ops/dsp.cc writes it); per four channels c..c+3:
 *   int32 bias(c), bias(c+2), bias(c+1), bias(c+3)        with -zero_point * sum(filter) folded in
 *   taps times int16 w(c), w(c+2), w(c+1), w(c+3)         row-major
 *   for each of c..c+3: int32 multiplier, n, (output zero point << n) + (1 << n >> 1)       n = -shift >= 0
 */
#ifndef HELX_DSP_DEPTHWISE_S8_H_
#define HELX_DSP_DEPTHWISE_S8_H_

#include <stdint.h>

#include "helx_rows.h"

/* The order is what the assembly loads. */
typedef struct {
  const int8_t* rows[3];     /* 3x3: the window's rows at the first output position */
  int32_t tap_bytes;         /* from one tap of a row to the next */
  int32_t input_skip;        /* added to the rows after each position's channels: (stride - 1) * channels */
  int32_t positions;
  int8_t* output;
  const int8_t* filters;
  const int8_t* filters_end;
} helx_dsp_depthwise_row;

typedef void (*helx_dsp_depthwise)(const helx_dsp_depthwise_row* row);

/* Forms as in dsp_gemm_s8.h. */
void helx_dsp_depthwise_3x3_relu_s8(const helx_dsp_depthwise_row* row);
void helx_dsp_depthwise_3x3_signed_s8(const helx_dsp_depthwise_row* row);

enum { HELX_DSP_DEPTHWISE_MAX_FILTER_H = 32 };

typedef struct {
  int32_t batches;
  int32_t in_bytes;       /* of one image */
  int32_t out_h, out_w;
  int32_t channels;
  int32_t stride_h, stride_w;
  int32_t filter_h, filter_w; /* filter_h at most HELX_DSP_DEPTHWISE_MAX_FILTER_H */
  int32_t dilation_h;
  int32_t tap_bytes;      /* dilation_w * channels */
  int32_t pad_h;
  int32_t relu;           /* which form the stream is for */
  int32_t clamp;          /* 1: lowest or highest is not the end of int8 */
  int32_t lowest, highest;
  helx_rows_shape rows;
  helx_dsp_depthwise row; /* 3x3 only */
  const int8_t* filters;
  int32_t filters_bytes;
} helx_dsp_depthwise_s8_params;

/* Scratch, 4-byte aligned: rows.count * rows.padded_bytes + HELX_ROWS_SLACK.
 * The output may lie where the input lies, under the condition of helx_dsp_conv_s8. */
void helx_dsp_depthwise_3x3_s8(const helx_dsp_depthwise_s8_params* p, const int8_t* input,
                               int8_t* output, void* scratch);
/* Filters of any size. */
void helx_dsp_depthwise_s8(const helx_dsp_depthwise_s8_params* p, const int8_t* input,
                           int8_t* output, void* scratch);

#endif /* HELX_DSP_DEPTHWISE_S8_H_ */
