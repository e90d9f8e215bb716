/* int8 DEPTHWISE_CONV_2D with one output channel per input channel, for Helium: 16 channels at a time, NHWC.
 *
 * Products of two taps are added in 16 bits before they are widened. That is exact unless both weights are -128: the packer
 * (worker/engine/ops/mve.cc) refuses such filters. Taps are paired in row-major order for 3x3 filters (0,1) (2,3) (4,5) (6,7) 8;
 * within each filter row for others, (0,1) (2,3) ... and the last alone if the width is odd.
 *
 * Filters are packed in blocks of 16 output bytes. With stride 1 an output row is one run of bytes, in which block b holds bytes
 * [16 b, 16 b + 16) and channels repeat every `channels`; the blocks of lcm(channels, 16) bytes are stored and walked through
 * again and again. Otherwise the blocks of one output position are stored, the last one overhanging its channels.
 *
 * A block holds, lane l being its byte l and vector v, lane i standing for byte (0, 2, 1, 3)[v] + 4 i:
 *   int32 bias[4][4];                       with -zero_point * sum(filter) folded in
 *   int8 weights[taps][16];
 *   relu:     int32 multiplier, shift       for v = 0..3: [4] of the one, [4] of the other
 *   signed:   the same; then int8 lowest[16], highest[16]
 *   general:  int32 left, multiplier, right, sign for v = 0..3 (mve_gemm_s8.h); then int8 lowest[16], highest[16]
 */
#ifndef HELX_MVE_DEPTHWISE_S8_H_
#define HELX_MVE_DEPTHWISE_S8_H_

#include <stdint.h>

#include "helx_rows.h"

/* The order is what the assembly loads. */
typedef struct {
  const int8_t* taps[9]; /* 3x3: where each tap's bytes begin */
  const int8_t* blocks;
  int8_t* output;
  int32_t output_zero_point;
  int32_t block_count;   /* stored blocks, walked through `repeats` times */
  int32_t repeats;
  int32_t input_skip;    /* added to every tap after each walk: stride * channels - 16 * block_count, or 0 for one run */
  int32_t output_skip;   /* likewise: channels - 16 * block_count */
} helx_mve_depthwise_row;

typedef void (*helx_mve_depthwise)(const helx_mve_depthwise_row* row);

/* No channel needs more than its sign: lowest is -128 and the output's zero point, highest 127, shifts <= 0. */
void helx_mve_depthwise_3x3_relu_s8(const helx_mve_depthwise_row* row);
/* Shifts in [-31, -1]. */
void helx_mve_depthwise_3x3_signed_s8(const helx_mve_depthwise_row* row);
/* Shifts in [-31, 30]. */
void helx_mve_depthwise_3x3_general_s8(const helx_mve_depthwise_row* row);

typedef struct {
  int32_t batches;
  int32_t in_bytes;       /* of one image */
  int32_t out_h;
  int32_t out_row_bytes;
  int32_t stride_h;
  int32_t filter_h, filter_w;
  int32_t dilation_h;
  int32_t tap_bytes;      /* dilation_w * channels */
  int32_t pad_h;
  int32_t spill;          /* 1: rows are computed in scratch, because the last block overhangs */
  int32_t output_zero_point;
  int32_t block_count, repeats, input_skip, output_skip;
  helx_rows_shape rows;
  int32_t ring_bytes;     /* rows.count * rows.padded_bytes and what the last block may read behind them, a multiple of 16 */
  helx_mve_depthwise row; /* 3x3 only */
  const int8_t* blocks;
} helx_mve_depthwise_s8_params;

/* 3x3 filters. Scratch, 16-byte aligned: ring_bytes, then one output row rounded up to whole walks if `spill`.
 * The output may lie where the input lies, under the condition of helx_mve_conv_s8. */
void helx_mve_depthwise_3x3_s8(const helx_mve_depthwise_s8_params* p, const int8_t* input,
                               int8_t* output, void* scratch);
/* Filters of any size, blocks in the general form. */
void helx_mve_depthwise_s8(const helx_mve_depthwise_s8_params* p, const int8_t* input,
                           int8_t* output, void* scratch);

#endif /* HELX_MVE_DEPTHWISE_S8_H_ */
