#include "helx_reduce.h"

#define REDUCE(NAME, IN, TOTAL, START, STEP, FINISH) \
  HELX_REDUCE(NAME, helx_reduce_params, IN, TOTAL, IN, START, STEP, FINISH)

REDUCE(helx_sum_f32, float, float, 0.0f, total += v, total / (float)p->divisor)
/* Sums wrap; a mean of integers truncates. */
REDUCE(helx_sum_i32, int32_t, int64_t, 0, total += v, total / p->divisor)
REDUCE(helx_sum_i64, int64_t, int64_t, 0, total += v, total / p->divisor)
REDUCE(helx_product_f32, float, float, 1.0f, total *= v, total)
REDUCE(helx_product_i32, int32_t, uint32_t, 1, total *= (uint32_t)v, total)
REDUCE(helx_product_i64, int64_t, uint64_t, 1, total *= (uint64_t)v, total)

#define LARGEST(NAME, TYPE, START) REDUCE(NAME, TYPE, TYPE, START, if (v > total) total = v, total)
#define SMALLEST(NAME, TYPE, START) REDUCE(NAME, TYPE, TYPE, START, if (v < total) total = v, total)

LARGEST(helx_reduce_max_f32, float, -3.402823466e+38f)
LARGEST(helx_reduce_max_i8, int8_t, -128)
LARGEST(helx_reduce_max_u8, uint8_t, 0)
LARGEST(helx_reduce_max_i16, int16_t, -32768)
LARGEST(helx_reduce_max_i32, int32_t, -0x7fffffff - 1)
LARGEST(helx_reduce_max_i64, int64_t, -0x7fffffffffffffff - 1)
SMALLEST(helx_reduce_min_f32, float, 3.402823466e+38f)
SMALLEST(helx_reduce_min_i8, int8_t, 127)
SMALLEST(helx_reduce_min_u8, uint8_t, 255)
SMALLEST(helx_reduce_min_i16, int16_t, 32767)
SMALLEST(helx_reduce_min_i32, int32_t, 0x7fffffff)
SMALLEST(helx_reduce_min_i64, int64_t, 0x7fffffffffffffff)

REDUCE(helx_reduce_any, uint8_t, uint8_t, 0, total |= v != 0, total)
REDUCE(helx_reduce_all, uint8_t, uint8_t, 1, total &= v != 0, total)
