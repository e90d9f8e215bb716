/* The kernels that generated code calls. C99, freestanding but for string.h and math.h.
 *
 * Every kernel takes its constants as one block that the generator fills in, then plain pointers: inputs, outputs, scratch.
 * Tensors are row-major, NHWC. Variants for instruction-set extensions give the same integers.
 */
#ifndef HELX_KERNELS_H_
#define HELX_KERNELS_H_

#include <stdint.h>

#include "helx_add_equal_s8.h"
#include "helx_elementwise.h"
#include "helx_layers.h"
#include "helx_move.h"
#include "helx_signal.h"
#include "helx_state.h"
#if defined(__ARM_FEATURE_MVE)
#include "mve_conv_s8.h"
#include "mve_depthwise_s8.h"
#include "mve_fully_connected_s8.h"
#elif defined(__ARM_FEATURE_DSP)
#include "dsp_conv_s8.h"
#include "dsp_depthwise_s8.h"
#endif

/* One output channel of a convolution. */
typedef struct {
  int32_t bias;         /* with -zero_point * sum(weights) folded in: for windows inside the image */
  int32_t border_bias;  /* as in the model: for windows that hang over the edge */
  int32_t multiplier;
  int32_t shift;
} helx_channel;

typedef struct {
  int32_t batches;
  int32_t in_h, in_w, in_c;
  int32_t out_h, out_w, out_c;
  int32_t filter_h, filter_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w;
  int32_t pad_h, pad_w; /* rows above, columns to the left */
  int32_t groups;       /* CONV_2D: in_c / filter depth; DEPTHWISE_CONV_2D: unused */
  int32_t multiplier;   /* DEPTHWISE_CONV_2D: out_c / in_c; CONV_2D: unused */
  int32_t input_zero_point;
  int32_t output_zero_point;
  int32_t lowest, highest; /* fused activation, in the output's integers */
  const int8_t* weights;   /* CONV_2D: [out_c][filter_h][filter_w][in_c / groups]; depthwise: [filter_h][filter_w][out_c] */
  const helx_channel* channels; /* [out_c] */
} helx_conv_s8_params;

void helx_conv_s8(const helx_conv_s8_params* p, const int8_t* input, int8_t* output);
void helx_depthwise_conv_s8(const helx_conv_s8_params* p, const int8_t* input, int8_t* output);

/* A multiplier and shift per output, where they differ. */
typedef struct {
  int32_t multiplier;
  int32_t shift;
} helx_scale;

typedef struct {
  int32_t rows; /* of the input, seen as a matrix [rows][in_depth] */
  int32_t in_depth;
  int32_t out_depth;
  int32_t multiplier, shift; /* of every output, unless `scales` is given */
  int32_t output_zero_point;
  int32_t lowest, highest;
  const int8_t* weights;    /* [out_depth][in_depth] */
  const int32_t* bias;      /* [out_depth], zero point folded in */
  const helx_scale* scales; /* [out_depth], or 0 */
} helx_fully_connected_s8_params;

void helx_fully_connected_s8(const helx_fully_connected_s8_params* p, const int8_t* input,
                             int8_t* output);

typedef struct {
  int32_t rows;
  int32_t depth;            /* < 4096, so that the sum of exponentials fits Q12.19 */
  int32_t table_size;       /* 1..256; an element further than this below the maximum has exponential 0 */
  const int32_t* exp_table; /* [table_size]: exp(-difference * scale * beta) in Q0.31 */
} helx_softmax_s8_params;

void helx_softmax_s8(const helx_softmax_s8_params* p, const int8_t* input, int8_t* output);

/* The same with an int16 output, whose lowest value stands for 0. */
void helx_softmax_s8_s16(const helx_softmax_s8_params* p, const int8_t* input, int16_t* output);

#endif /* HELX_KERNELS_H_ */
