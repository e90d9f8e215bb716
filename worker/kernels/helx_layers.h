/* Convolutions, matrix products, pools and reductions beyond int8. NHWC. */
#ifndef HELX_LAYERS_H_
#define HELX_LAYERS_H_

#include <stdint.h>

typedef struct {
  int32_t batches;
  int32_t in_h, in_w, in_c;
  int32_t out_h, out_w, out_c;
  int32_t filter_h, filter_w;
  int32_t stride_h, stride_w;
  int32_t dilation_h, dilation_w; /* TRANSPOSE_CONV: 1 */
  int32_t pad_h, pad_w;           /* rows above, columns to the left */
  int32_t groups;                 /* CONV_2D: in_c / filter depth */
  int32_t multiplier;             /* DEPTHWISE_CONV_2D: out_c / in_c */
} helx_conv_shape;

/* Filters: CONV_2D [out_c][filter_h][filter_w][in_c / groups], DEPTHWISE_CONV_2D [filter_h][filter_w][out_c], TRANSPOSE_CONV
 * [out_c][filter_h][filter_w][in_c]. */
typedef struct {
  helx_conv_shape shape;
  float lowest, highest;
} helx_conv_f32_params;

/* bias may be 0. */
void helx_conv_f32(const helx_conv_f32_params* p, const float* input, const float* filter,
                   const float* bias, float* output);
void helx_depthwise_conv_f32(const helx_conv_f32_params* p, const float* input,
                             const float* filter, const float* bias, float* output);
void helx_transpose_conv_f32(const helx_conv_f32_params* p, const float* input,
                             const float* filter, const float* bias, float* output);
void helx_conv_f32_no_bias(const helx_conv_f32_params* p, const float* input, const float* filter,
                           float* output);
void helx_depthwise_conv_f32_no_bias(const helx_conv_f32_params* p, const float* input,
                                     const float* filter, float* output);
void helx_transpose_conv_f32_no_bias(const helx_conv_f32_params* p, const float* input,
                                     const float* filter, float* output);

/* One output channel with 64-bit sums, rescaled as TFLite does it: (sum * multiplier + 2^(shift - 1)) >> shift, the multiplier
 * rounded to 15 bits. With `narrow` sums are 32 bits and multiplier and shift those of helx_requantize. */
typedef struct {
  int64_t bias;
  int32_t multiplier;
  int32_t shift;
} helx_channel_s16;

typedef struct {
  helx_conv_shape shape;
  int32_t narrow;
  int32_t lowest, highest;
  const int8_t* weights;
  const helx_channel_s16* channels; /* [out_c] */
} helx_conv_s16_params;

void helx_conv_s16(const helx_conv_s16_params* p, const int16_t* input, int16_t* output);
void helx_depthwise_conv_s16(const helx_conv_s16_params* p, const int16_t* input, int16_t* output);
void helx_transpose_conv_s16(const helx_conv_s16_params* p, const int16_t* input, int16_t* output);

/* uint8 layers, whose filters have a zero point. Sums are rescaled in single precision and rounded to the nearest integer, ties
 * to even, as XNNPACK's fp32 requantisation does it: it is what TFLite's runtimes give for such models. */
typedef struct {
  int32_t bias;
  float scale; /* input scale * filter scale / output scale */
} helx_channel_u8;

typedef struct {
  helx_conv_shape shape;
  int32_t input_zero_point, filter_zero_point, output_zero_point;
  int32_t lowest, highest;
  const uint8_t* weights;
  const helx_channel_u8* channels; /* [out_c] */
} helx_conv_u8_params;

void helx_conv_u8(const helx_conv_u8_params* p, const uint8_t* input, uint8_t* output);
void helx_depthwise_conv_u8(const helx_conv_u8_params* p, const uint8_t* input, uint8_t* output);

typedef struct {
  int32_t bias;
  int32_t multiplier;
  int32_t shift;
} helx_channel_s8;

typedef struct {
  helx_conv_shape shape;
  int32_t input_zero_point, output_zero_point;
  int32_t lowest, highest;
  const int8_t* weights;
  const helx_channel_s8* channels; /* [out_c] */
} helx_transpose_conv_s8_params;

void helx_transpose_conv_s8(const helx_transpose_conv_s8_params* p, const int8_t* input,
                            int8_t* output);

typedef struct {
  int32_t rows, in_depth, out_depth;
  float lowest, highest;
} helx_fully_connected_f32_params;

/* weights [out_depth][in_depth]. */
void helx_fully_connected_f32(const helx_fully_connected_f32_params* p, const float* input,
                              const float* weights, const float* bias, float* output);
void helx_fully_connected_f32_no_bias(const helx_fully_connected_f32_params* p,
                                      const float* input, const float* weights, float* output);

typedef struct {
  int32_t rows, in_depth, out_depth;
  int32_t narrow;
  int32_t lowest, highest;
  const int8_t* weights;
  const helx_channel_s16* channels; /* [out_depth] */
} helx_fully_connected_s16_params;

void helx_fully_connected_s16(const helx_fully_connected_s16_params* p, const int16_t* input,
                              int16_t* output);

/* Products of matrices: output[b][m][n] = sum over k of a[b][m][k] * b[b][n][k], addressed by strides. */
typedef struct {
  int32_t batch_rank;     /* 0..5 */
  int32_t batch_size[5];
  int32_t a_batch[5], b_batch[5]; /* strides, 0 where a matrix is repeated */
  int32_t rows, columns, depth;
  int32_t a_row, a_depth, b_column, b_depth; /* strides */
  int32_t a_zero_point, b_zero_point, output_zero_point;
  int32_t multiplier, shift; /* int16: as in helx_channel_s16 */
  int32_t lowest, highest;
} helx_matmul_params;

void helx_matmul_f32(const helx_matmul_params* p, const float* a, const float* b, float* output);
void helx_matmul_i32(const helx_matmul_params* p, const int32_t* a, const int32_t* b,
                     int32_t* output);
void helx_matmul_s8(const helx_matmul_params* p, const int8_t* a, const int8_t* b, int8_t* output);
void helx_matmul_s8_i32(const helx_matmul_params* p, const int8_t* a, const int8_t* b,
                        int32_t* output);
void helx_matmul_u8(const helx_matmul_params* p, const uint8_t* a, const uint8_t* b,
                    uint8_t* output);
void helx_matmul_s16(const helx_matmul_params* p, const int16_t* a, const int16_t* b,
                     int16_t* output);
void helx_matmul_s16_s8(const helx_matmul_params* p, const int16_t* a, const int8_t* b,
                        int16_t* output);

/* Adds a row to every row, and clamps. */
typedef struct {
  int32_t rows, depth;
  float lowest, highest;
} helx_add_bias_f32_params;

/* Weights of 8 bits with float activations: every row of the input is quantised when it arrives. */
typedef struct {
  int32_t rows, in_depth, out_depth;
  int32_t asymmetric; /* rows get a zero point of their own */
  float lowest, highest;
  const int8_t* weights;  /* [out_depth][in_depth] */
  const float* scales;    /* [out_depth], of the weights */
  const float* bias;      /* [out_depth], or 0 */
  const int32_t* sums;    /* [out_depth], of the weights */
} helx_fully_connected_hybrid_params;

void helx_fully_connected_hybrid(const helx_fully_connected_hybrid_params* p, const float* input,
                                 int8_t* scratch, float* output);

typedef struct {
  helx_conv_shape shape;
  int32_t asymmetric; /* every batch gets a zero point of its own */
  float lowest, highest;
  const int8_t* weights;
  const float* scales; /* [out_c], of the weights */
  const float* bias;   /* [out_c], or 0 */
} helx_conv_hybrid_params;

void helx_conv_hybrid(const helx_conv_hybrid_params* p, const float* input, int8_t* scratch,
                      float* output);
void helx_depthwise_conv_hybrid(const helx_conv_hybrid_params* p, const float* input,
                                int8_t* scratch, float* output);

typedef struct {
  int32_t batches;
  int32_t in_h, in_w, channels;
  int32_t out_h, out_w;
  int32_t filter_h, filter_w;
  int32_t stride_h, stride_w;
  int32_t pad_h, pad_w;
  int32_t lowest, highest;
  float lowest_f32, highest_f32;
} helx_pool_params;

void helx_average_pool_s8(const helx_pool_params* p, const int8_t* input, int8_t* output);
/* For Helium; windows of at most 256 positions. */
void helx_mve_average_pool_s8(const helx_pool_params* p, const int8_t* input, int8_t* output);
void helx_average_pool_u8(const helx_pool_params* p, const uint8_t* input, uint8_t* output);
void helx_average_pool_s16(const helx_pool_params* p, const int16_t* input, int16_t* output);
void helx_average_pool_f32(const helx_pool_params* p, const float* input, float* output);
void helx_max_pool_s8(const helx_pool_params* p, const int8_t* input, int8_t* output);
void helx_max_pool_u8(const helx_pool_params* p, const uint8_t* input, uint8_t* output);
void helx_max_pool_s16(const helx_pool_params* p, const int16_t* input, int16_t* output);
void helx_max_pool_f32(const helx_pool_params* p, const float* input, float* output);
void helx_l2_pool_f32(const helx_pool_params* p, const float* input, float* output);

/* A reduction: for every kept position, all reduced positions. Strides are in elements of the input. */
typedef struct {
  int32_t kept_rank; /* 0..4 */
  int32_t kept_size[4];
  int32_t kept_stride[4];
  int32_t reduced_rank; /* 0..4 */
  int32_t reduced_size[4];
  int32_t reduced_stride[4];
} helx_reduction;

/* The sum over the reduced positions, rescaled: MEAN with the division in the multiplier, or SUM. */
typedef struct {
  helx_reduction shape;
  int32_t sum_offset; /* -zero_point * number of reduced elements */
  int32_t multiplier, shift;
  int32_t output_zero_point;
} helx_mean_params;

void helx_mean_s8(const helx_mean_params* p, const int8_t* input, int8_t* output);
void helx_mean_u8(const helx_mean_params* p, const uint8_t* input, uint8_t* output);
void helx_mean_s16(const helx_mean_params* p, const int16_t* input, int16_t* output);

typedef struct {
  helx_reduction shape;
  int32_t divisor; /* MEAN: reduced elements per output; others: 1 */
} helx_reduce_params;

void helx_sum_f32(const helx_reduce_params* p, const float* input, float* output);
void helx_sum_i32(const helx_reduce_params* p, const int32_t* input, int32_t* output);
void helx_sum_i64(const helx_reduce_params* p, const int64_t* input, int64_t* output);
void helx_product_f32(const helx_reduce_params* p, const float* input, float* output);
void helx_product_i32(const helx_reduce_params* p, const int32_t* input, int32_t* output);
void helx_product_i64(const helx_reduce_params* p, const int64_t* input, int64_t* output);
void helx_reduce_max_f32(const helx_reduce_params* p, const float* input, float* output);
void helx_reduce_max_i8(const helx_reduce_params* p, const int8_t* input, int8_t* output);
void helx_reduce_max_u8(const helx_reduce_params* p, const uint8_t* input, uint8_t* output);
void helx_reduce_max_i16(const helx_reduce_params* p, const int16_t* input, int16_t* output);
void helx_reduce_max_i32(const helx_reduce_params* p, const int32_t* input, int32_t* output);
void helx_reduce_max_i64(const helx_reduce_params* p, const int64_t* input, int64_t* output);
void helx_reduce_min_f32(const helx_reduce_params* p, const float* input, float* output);
void helx_reduce_min_i8(const helx_reduce_params* p, const int8_t* input, int8_t* output);
void helx_reduce_min_u8(const helx_reduce_params* p, const uint8_t* input, uint8_t* output);
void helx_reduce_min_i16(const helx_reduce_params* p, const int16_t* input, int16_t* output);
void helx_reduce_min_i32(const helx_reduce_params* p, const int32_t* input, int32_t* output);
void helx_reduce_min_i64(const helx_reduce_params* p, const int64_t* input, int64_t* output);
void helx_reduce_any(const helx_reduce_params* p, const uint8_t* input, uint8_t* output);
void helx_reduce_all(const helx_reduce_params* p, const uint8_t* input, uint8_t* output);

/* The position of the first largest or smallest element along one dimension. */
typedef struct {
  int32_t outer, axis, inner;
} helx_axis_params;

#define HELX_DECLARE_ARG(SUFFIX, TYPE)                                                            \
  void helx_arg_max_##SUFFIX##_i32(const helx_axis_params* p, const TYPE* input, int32_t* output); \
  void helx_arg_max_##SUFFIX##_i64(const helx_axis_params* p, const TYPE* input, int64_t* output); \
  void helx_arg_min_##SUFFIX##_i32(const helx_axis_params* p, const TYPE* input, int32_t* output); \
  void helx_arg_min_##SUFFIX##_i64(const helx_axis_params* p, const TYPE* input, int64_t* output);
HELX_DECLARE_ARG(f32, float)
HELX_DECLARE_ARG(i8, int8_t)
HELX_DECLARE_ARG(u8, uint8_t)
HELX_DECLARE_ARG(i16, int16_t)
HELX_DECLARE_ARG(i32, int32_t)

typedef struct {
  int32_t outer, axis, inner;
  int32_t exclusive, reverse;
  /* int8 */
  int32_t left_shift;
  int32_t input_zero_point, input_multiplier, input_shift;
  int32_t output_zero_point, output_multiplier, output_shift;
} helx_cumsum_params;

void helx_cumsum_f32(const helx_cumsum_params* p, const float* input, float* output);
void helx_cumsum_i32(const helx_cumsum_params* p, const int32_t* input, int32_t* output);
void helx_cumsum_i64(const helx_cumsum_params* p, const int64_t* input, int64_t* output);
void helx_cumsum_s8(const helx_cumsum_params* p, const int8_t* input, int8_t* output);

typedef struct {
  int32_t batches, in_h, in_w, channels, out_h, out_w;
  int32_t align_corners, half_pixel_centers;
  int32_t scale_h, scale_w; /* integer bilinear: in / out in Q21.10; nearest: unused */
  float ratio_h, ratio_w;   /* in / out, or (in - 1) / (out - 1) with align_corners */
  int32_t bytes;            /* nearest: of an element */
} helx_resize_params;

void helx_resize_bilinear_f32(const helx_resize_params* p, const float* input, float* output);
void helx_resize_bilinear_s8(const helx_resize_params* p, const int8_t* input, int8_t* output);
void helx_resize_bilinear_u8(const helx_resize_params* p, const uint8_t* input, uint8_t* output);
void helx_resize_bilinear_s16(const helx_resize_params* p, const int16_t* input, int16_t* output);
void helx_resize_nearest(const helx_resize_params* p, const void* input, void* output);

typedef struct {
  int32_t rows;
  int32_t depth;
  float beta; /* SOFTMAX */
} helx_rows_params;

void helx_softmax_f32(const helx_rows_params* p, const float* input, float* output);
void helx_log_softmax_f32(const helx_rows_params* p, const float* input, float* output);
void helx_l2_normalize_f32(const helx_rows_params* p, const float* input, float* output);

typedef struct {
  int32_t rows, depth;
  int32_t input_zero_point;
} helx_l2_normalize_8_params;

void helx_l2_normalize_s8(const helx_l2_normalize_8_params* p, const int8_t* input,
                          int8_t* output);
void helx_l2_normalize_u8(const helx_l2_normalize_8_params* p, const uint8_t* input,
                          uint8_t* output);

typedef struct {
  int32_t rows, depth;
  int32_t multiplier, shift;
  const int16_t* exp_table;        /* [513]: exp over [-10, 0] */
  const int16_t* reciprocal_table; /* [513]: 1 / (1 + x) over [0, 1] */
} helx_softmax_s16_params;

void helx_softmax_s16(const helx_softmax_s16_params* p, const int16_t* input, int16_t* output);

typedef struct {
  int32_t rows, depth;
  float output_scale;
  int32_t output_zero_point;
  const float* exp_table; /* [256]: exp(-difference * scale * beta) */
} helx_softmax_u8_params;

void helx_softmax_u8(const helx_softmax_u8_params* p, const uint8_t* input, uint8_t* output);

typedef struct {
  int32_t rows, depth;
  int32_t multiplier, left_shift; /* to Q5.26 */
  int32_t reverse_multiplier, reverse_shift;
  int32_t lowest_difference;
  const int32_t* exp_table; /* [256]: exp(-difference * scale) in Q0.31 */
} helx_log_softmax_s8_params;

void helx_log_softmax_s8(const helx_log_softmax_s8_params* p, const int8_t* input, int8_t* output);

#endif /* HELX_LAYERS_H_ */
