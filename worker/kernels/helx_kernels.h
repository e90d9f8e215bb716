/* The kernels that generated code calls. C99, freestanding but for memmove, expf and logf.
 *
 * Every kernel takes its constants as one block that the generator fills in, then plain pointers: inputs, outputs, scratch.
 * Tensors are row-major, NHWC. Variants for instruction-set extensions give the same integers.
 */
#ifndef HELX_KERNELS_H_
#define HELX_KERNELS_H_

#include <stdint.h>

#include "helx_add_equal_s8.h"
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
  int32_t batches;
  int32_t in_h, in_w, channels;
  int32_t out_h, out_w;
  int32_t filter_h, filter_w;
  int32_t stride_h, stride_w;
  int32_t pad_h, pad_w;
  int32_t lowest, highest;
} helx_pool_s8_params;

void helx_average_pool_s8(const helx_pool_s8_params* p, const int8_t* input, int8_t* output);
/* For Helium; windows of at most 256 positions. */
void helx_mve_average_pool_s8(const helx_pool_s8_params* p, const int8_t* input, int8_t* output);

/* Two operands walked together over an output of at most six dimensions; stride 0 repeats an element. */
typedef struct {
  int32_t rank; /* 1..6, adjacent dimensions merged */
  int32_t size[6];
  int32_t a_stride[6];
  int32_t b_stride[6];
} helx_broadcast;

typedef struct {
  helx_broadcast shape;
  int32_t left_shift;
  int32_t a_zero_point, a_multiplier, a_shift; /* shifts <= 0 */
  int32_t b_zero_point, b_multiplier, b_shift;
  int32_t output_zero_point, output_multiplier, output_shift;
  int32_t lowest, highest;
} helx_add_s8_params;

void helx_add_s8(const helx_add_s8_params* p, const int8_t* a, const int8_t* b, int8_t* output);

/* A reduction: for every kept position, all reduced positions. Strides are in elements of the input. */
typedef struct {
  int32_t kept_rank; /* 0..4 */
  int32_t kept_size[4];
  int32_t kept_stride[4];
  int32_t reduced_rank; /* 0..4 */
  int32_t reduced_size[4];
  int32_t reduced_stride[4];
} helx_reduction;

typedef struct {
  helx_reduction shape;
  int32_t sum_offset; /* -zero_point * number of reduced elements */
  int32_t multiplier, shift;
  int32_t output_zero_point;
} helx_mean_s8_params;

void helx_mean_s8(const helx_mean_s8_params* p, const int8_t* input, int8_t* output);

typedef struct {
  int32_t rows;
  int32_t depth;            /* < 4096, so that the sum of exponentials fits Q12.19 */
  int32_t table_size;       /* 1..256; an element further than this below the maximum has exponential 0 */
  const int32_t* exp_table; /* [table_size]: exp(-difference * scale * beta) in Q0.31 */
} helx_softmax_s8_params;

void helx_softmax_s8(const helx_softmax_s8_params* p, const int8_t* input, int8_t* output);

typedef struct {
  int32_t count;
  float scale;
  int32_t zero_point;
} helx_affine_params;

/* Rounds half away from zero; saturates; NaN becomes the lowest integer. */
void helx_quantize_f32_s8(const helx_affine_params* p, const float* input, int8_t* output);
void helx_dequantize_s8_f32(const helx_affine_params* p, const int8_t* input, float* output);

typedef struct {
  int32_t rows;
  int32_t depth;
} helx_rows_params;

void helx_log_softmax_f32(const helx_rows_params* p, const float* input, float* output);

typedef struct {
  int32_t bytes;
} helx_copy_params;

void helx_copy(const helx_copy_params* p, const void* input, void* output);

#endif /* HELX_KERNELS_H_ */
