/* Kernels that compute every output element from one element of each operand. */
#ifndef HELX_ELEMENTWISE_H_
#define HELX_ELEMENTWISE_H_

#include <stdint.h>

/* Two operands walked together over an output of at most six dimensions; stride 0 repeats an element. */
typedef struct {
  int32_t rank; /* 1..6, adjacent dimensions merged */
  int32_t size[6];
  int32_t a_stride[6];
  int32_t b_stride[6];
} helx_broadcast;

/* Sums and differences of quantised operands, each rescaled to a common scale first. */
typedef struct {
  helx_broadcast shape;
  int32_t left_shift;
  int32_t a_zero_point, a_multiplier, a_shift; /* shifts <= 0 */
  int32_t b_zero_point, b_multiplier, b_shift;
  int32_t output_zero_point, output_multiplier, output_shift;
  int32_t lowest, highest;
} helx_sum_params;

void helx_add_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, int8_t* output);
void helx_add_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_add_s16(const helx_sum_params* p, const int16_t* a, const int16_t* b, int16_t* output);
void helx_sub_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, int8_t* output);
void helx_sub_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_sub_s16(const helx_sum_params* p, const int16_t* a, const int16_t* b, int16_t* output);
void helx_squared_difference_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b,
                                int8_t* output);
void helx_squared_difference_s16(const helx_sum_params* p, const int16_t* a, const int16_t* b,
                                 int16_t* output);

/* Comparisons of quantised operands; only shape, left_shift and the operands' fields are read. */
void helx_equal_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, uint8_t* output);
void helx_not_equal_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, uint8_t* output);
void helx_greater_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, uint8_t* output);
void helx_greater_equal_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b,
                           uint8_t* output);
void helx_less_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b, uint8_t* output);
void helx_less_equal_s8(const helx_sum_params* p, const int8_t* a, const int8_t* b,
                        uint8_t* output);
void helx_equal_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_not_equal_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b,
                       uint8_t* output);
void helx_greater_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_greater_equal_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b,
                           uint8_t* output);
void helx_less_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_less_equal_u8(const helx_sum_params* p, const uint8_t* a, const uint8_t* b,
                        uint8_t* output);

/* Products of quantised operands. */
typedef struct {
  helx_broadcast shape;
  int32_t a_zero_point, b_zero_point, output_zero_point;
  int32_t multiplier, shift;
  int32_t lowest, highest;
} helx_mul_params;

void helx_mul_s8(const helx_mul_params* p, const int8_t* a, const int8_t* b, int8_t* output);
void helx_mul_u8(const helx_mul_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_mul_s16(const helx_mul_params* p, const int16_t* a, const int16_t* b, int16_t* output);

/* x where x >= 0, x * alpha elsewhere; a is x, b is alpha. */
typedef struct {
  helx_broadcast shape;
  int32_t a_zero_point, b_zero_point, output_zero_point;
  int32_t multiplier, shift;             /* for x >= 0 */
  int32_t alpha_multiplier, alpha_shift; /* for x < 0 */
} helx_prelu_params;

void helx_prelu_s8(const helx_prelu_params* p, const int8_t* a, const int8_t* b, int8_t* output);
void helx_prelu_u8(const helx_prelu_params* p, const uint8_t* a, const uint8_t* b, uint8_t* output);
void helx_prelu_s16(const helx_prelu_params* p, const int16_t* a, const int8_t* b, int16_t* output);

/* Fused activation: the result is clamped to [lowest, highest]. */
typedef struct {
  helx_broadcast shape;
  float lowest, highest;
} helx_binary_f32_params;

typedef struct {
  helx_broadcast shape;
  int64_t lowest, highest;
} helx_binary_int_params;

#define HELX_DECLARE_BINARY(NAME, PARAMS, IN, OUT) \
  void NAME(const PARAMS* p, const IN* a, const IN* b, OUT* output);

HELX_DECLARE_BINARY(helx_add_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_sub_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_mul_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_div_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_maximum_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_minimum_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_squared_difference_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_floor_div_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_floor_mod_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_pow_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_atan2_f32, helx_binary_f32_params, float, float)
HELX_DECLARE_BINARY(helx_prelu_f32, helx_binary_f32_params, float, float)

/* Sums, differences and products wrap. Division by 0 gives 0 where the result is an integer. */
HELX_DECLARE_BINARY(helx_add_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_sub_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_mul_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_div_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_maximum_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_minimum_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_squared_difference_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_floor_div_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_floor_mod_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_pow_i32, helx_binary_int_params, int32_t, int32_t)
HELX_DECLARE_BINARY(helx_add_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_sub_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_mul_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_div_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_maximum_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_minimum_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_floor_div_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_floor_mod_i64, helx_binary_int_params, int64_t, int64_t)
HELX_DECLARE_BINARY(helx_floor_div_i8, helx_binary_int_params, int8_t, int8_t)
HELX_DECLARE_BINARY(helx_floor_mod_i8, helx_binary_int_params, int8_t, int8_t)
HELX_DECLARE_BINARY(helx_floor_div_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_floor_mod_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_add_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_mul_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_maximum_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_minimum_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_maximum_i8, helx_binary_int_params, int8_t, int8_t)
HELX_DECLARE_BINARY(helx_minimum_i8, helx_binary_int_params, int8_t, int8_t)
HELX_DECLARE_BINARY(helx_maximum_u8, helx_binary_int_params, uint8_t, uint8_t)
HELX_DECLARE_BINARY(helx_minimum_u8, helx_binary_int_params, uint8_t, uint8_t)
HELX_DECLARE_BINARY(helx_logical_and, helx_binary_int_params, uint8_t, uint8_t)
HELX_DECLARE_BINARY(helx_logical_or, helx_binary_int_params, uint8_t, uint8_t)
/* Elements of any type of that many bits. */
void helx_bitwise_xor_8(const helx_binary_int_params* p, const void* a, const void* b,
                        void* output);
void helx_bitwise_xor_16(const helx_binary_int_params* p, const void* a, const void* b,
                         void* output);
void helx_bitwise_xor_32(const helx_binary_int_params* p, const void* a, const void* b,
                         void* output);
HELX_DECLARE_BINARY(helx_right_shift_i8, helx_binary_int_params, int8_t, int8_t)
HELX_DECLARE_BINARY(helx_right_shift_u8, helx_binary_int_params, uint8_t, uint8_t)
HELX_DECLARE_BINARY(helx_right_shift_i16, helx_binary_int_params, int16_t, int16_t)
HELX_DECLARE_BINARY(helx_right_shift_i32, helx_binary_int_params, int32_t, int32_t)

#define HELX_DECLARE_COMPARISONS(SUFFIX, PARAMS, IN)                    \
  HELX_DECLARE_BINARY(helx_equal_##SUFFIX, PARAMS, IN, uint8_t)         \
  HELX_DECLARE_BINARY(helx_not_equal_##SUFFIX, PARAMS, IN, uint8_t)     \
  HELX_DECLARE_BINARY(helx_greater_##SUFFIX, PARAMS, IN, uint8_t)       \
  HELX_DECLARE_BINARY(helx_greater_equal_##SUFFIX, PARAMS, IN, uint8_t) \
  HELX_DECLARE_BINARY(helx_less_##SUFFIX, PARAMS, IN, uint8_t)          \
  HELX_DECLARE_BINARY(helx_less_equal_##SUFFIX, PARAMS, IN, uint8_t)

HELX_DECLARE_COMPARISONS(f32, helx_binary_f32_params, float)
HELX_DECLARE_COMPARISONS(i32, helx_binary_int_params, int32_t)
HELX_DECLARE_COMPARISONS(i64, helx_binary_int_params, int64_t)
HELX_DECLARE_COMPARISONS(i16, helx_binary_int_params, int16_t)
HELX_DECLARE_BINARY(helx_equal_bool, helx_binary_int_params, uint8_t, uint8_t)
HELX_DECLARE_BINARY(helx_not_equal_bool, helx_binary_int_params, uint8_t, uint8_t)

/* condition ? a : b, all three broadcast to the output. */
typedef struct {
  int32_t rank; /* 1..6 */
  int32_t size[6];
  int32_t condition_stride[6];
  int32_t a_stride[6];
  int32_t b_stride[6];
  int32_t bytes; /* of an element: 1, 2, 4 or 8 */
} helx_select_params;

void helx_select(const helx_select_params* p, const uint8_t* condition, const void* a,
                 const void* b, void* output);

/* One operand. */
typedef struct {
  int32_t count;
  float alpha;           /* LEAKY_RELU: slope; GELU: 1 for the tanh approximation */
  float lowest, highest; /* clamping activations */
} helx_unary_f32_params;

#define HELX_DECLARE_UNARY(NAME, PARAMS, IN, OUT) \
  void NAME(const PARAMS* p, const IN* input, OUT* output);

HELX_DECLARE_UNARY(helx_abs_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_neg_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_sqrt_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_rsqrt_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_square_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_exp_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_log_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_sin_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_cos_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_ceil_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_floor_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_round_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_sign_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_tanh_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_logistic_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_elu_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_hard_swish_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_leaky_relu_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_gelu_f32, helx_unary_f32_params, float, float)
HELX_DECLARE_UNARY(helx_clamp_f32, helx_unary_f32_params, float, float)

typedef struct {
  int32_t count;
} helx_count_params;

HELX_DECLARE_UNARY(helx_abs_i16, helx_count_params, int16_t, int16_t)
HELX_DECLARE_UNARY(helx_abs_i32, helx_count_params, int32_t, int32_t)
HELX_DECLARE_UNARY(helx_neg_i32, helx_count_params, int32_t, int32_t)
HELX_DECLARE_UNARY(helx_neg_i64, helx_count_params, int64_t, int64_t)
HELX_DECLARE_UNARY(helx_sign_i32, helx_count_params, int32_t, int32_t)
HELX_DECLARE_UNARY(helx_logical_not, helx_count_params, uint8_t, uint8_t)

/* Any function of an 8-bit element, by table: output = table[(uint8_t)input]. */
typedef struct {
  int32_t count;
  const uint8_t* table; /* [256] */
} helx_lookup_8_params;

void helx_lookup_8(const helx_lookup_8_params* p, const void* input, void* output);

/* Two slopes meeting at the zero point: LEAKY_RELU, and RELU and requantisation as special cases of it. */
typedef struct {
  int32_t count;
  int32_t input_zero_point, output_zero_point;
  int32_t multiplier, shift;                   /* at and above the zero point */
  int32_t negative_multiplier, negative_shift; /* below it */
  int32_t negative_sign;                       /* 1 or -1 */
  int32_t lowest, highest;
} helx_slopes_params;

HELX_DECLARE_UNARY(helx_slopes_s16, helx_slopes_params, int16_t, int16_t)
/* The multiplier applies to the distance from the zero point. */
HELX_DECLARE_UNARY(helx_abs_s16, helx_slopes_params, int16_t, int16_t)
/* Only `multiplier`: QUANTIZE between integer types. */
HELX_DECLARE_UNARY(helx_requantize_s8_s16, helx_slopes_params, int8_t, int16_t)
HELX_DECLARE_UNARY(helx_requantize_s8_s32, helx_slopes_params, int8_t, int32_t)
HELX_DECLARE_UNARY(helx_requantize_s16_s8, helx_slopes_params, int16_t, int8_t)
HELX_DECLARE_UNARY(helx_requantize_s16_s16, helx_slopes_params, int16_t, int16_t)
HELX_DECLARE_UNARY(helx_requantize_s16_s32, helx_slopes_params, int16_t, int32_t)
HELX_DECLARE_UNARY(helx_requantize_s32_s8, helx_slopes_params, int32_t, int8_t)
HELX_DECLARE_UNARY(helx_requantize_s32_s16, helx_slopes_params, int32_t, int16_t)

/* LOGISTIC and TANH of int16 by linear interpolation in a table of the logistic function. */
typedef struct {
  int32_t count;
  int32_t multiplier; /* to a third of the table's steps */
  int32_t shift;      /* right */
  const uint16_t* table; /* [256]: the logistic function at i / 24, in Q0.16 */
} helx_sigmoid_s16_params;

HELX_DECLARE_UNARY(helx_logistic_s16, helx_sigmoid_s16_params, int16_t, int16_t)
HELX_DECLARE_UNARY(helx_tanh_s16, helx_sigmoid_s16_params, int16_t, int16_t)

typedef struct {
  int32_t count;
  float scale;
  int32_t zero_point;
} helx_affine_params;

/* Rounds half away from zero; saturates; NaN becomes the lowest integer. */
HELX_DECLARE_UNARY(helx_quantize_f32_s8, helx_affine_params, float, int8_t)
HELX_DECLARE_UNARY(helx_quantize_f32_u8, helx_affine_params, float, uint8_t)
HELX_DECLARE_UNARY(helx_quantize_f32_s16, helx_affine_params, float, int16_t)
HELX_DECLARE_UNARY(helx_dequantize_s8_f32, helx_affine_params, int8_t, float)
HELX_DECLARE_UNARY(helx_dequantize_u8_f32, helx_affine_params, uint8_t, float)
HELX_DECLARE_UNARY(helx_dequantize_s16_f32, helx_affine_params, int16_t, float)
HELX_DECLARE_UNARY(helx_dequantize_s32_f32, helx_affine_params, int32_t, float)
HELX_DECLARE_UNARY(helx_dequantize_f16_f32, helx_affine_params, uint16_t, float)

/* One scale and zero point per slice; the middle of three dimensions. */
typedef struct {
  int32_t outer, channels, inner;
  const float* scales;       /* [channels] */
  const int32_t* zero_points; /* [channels] */
} helx_channel_affine_params;

HELX_DECLARE_UNARY(helx_dequantize_channels_s8_f32, helx_channel_affine_params, int8_t, float)
HELX_DECLARE_UNARY(helx_quantize_channels_f32_s8, helx_channel_affine_params, float, int8_t)

/* helx_cast_<from>_<to>: as C converts, but floats saturate and NaN becomes 0; to bool: is it different from 0? */
#define HELX_CAST_TYPES(X) \
  X(f32, float) X(i8, int8_t) X(u8, uint8_t) X(i16, int16_t) X(u16, uint16_t) X(i32, int32_t) \
  X(u32, uint32_t) X(i64, int64_t) X(u64, uint64_t)

#define HELX_DECLARE_CASTS(SUFFIX, TYPE)                                       \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_f32, helx_count_params, TYPE, float)    \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_i8, helx_count_params, TYPE, int8_t)    \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_u8, helx_count_params, TYPE, uint8_t)   \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_i16, helx_count_params, TYPE, int16_t)  \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_u16, helx_count_params, TYPE, uint16_t) \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_i32, helx_count_params, TYPE, int32_t)  \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_u32, helx_count_params, TYPE, uint32_t) \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_i64, helx_count_params, TYPE, int64_t)  \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_u64, helx_count_params, TYPE, uint64_t) \
  HELX_DECLARE_UNARY(helx_cast_##SUFFIX##_bool, helx_count_params, TYPE, uint8_t)
HELX_CAST_TYPES(HELX_DECLARE_CASTS)

#endif /* HELX_ELEMENTWISE_H_ */
