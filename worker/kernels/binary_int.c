#include "helx_walk.h"

static inline int64_t clamp(const helx_binary_int_params* p, int64_t x) {
  return x < p->lowest ? p->lowest : (x > p->highest ? p->highest : x);
}

/* The one quotient that does not fit wraps, as negation does. */
static inline int64_t quotient(int64_t x, int64_t y) {
  if (y == 0) return 0;
  return y == -1 ? (int64_t)(0u - (uint64_t)x) : x / y;
}

static inline int64_t floor_quotient(int64_t x, int64_t y) {
  const int64_t q = quotient(x, y);
  if (y == 0 || y == -1) return q;
  return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

static inline int64_t floor_rest(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* x to the power y by squaring, modulo 2^32; 0 for negative exponents of numbers above 1, as 1 / x^|y| truncates. */
static inline int32_t power(int32_t x, int32_t y) {
  uint32_t result = 1, base = (uint32_t)x;
  if (y < 0) return x == 1 ? 1 : (x == -1 ? (y & 1 ? -1 : 1) : 0);
  for (; y != 0; y >>= 1, base *= base) {
    if (y & 1) result *= base;
  }
  return (int32_t)result;
}

#define INT(NAME, TYPE, EXPRESSION) \
  HELX_BINARY(NAME, helx_binary_int_params, TYPE, TYPE, TYPE, EXPRESSION)

INT(helx_add_i32, int32_t, clamp(p, (int32_t)((uint32_t)x + (uint32_t)y)))
INT(helx_sub_i32, int32_t, clamp(p, (int32_t)((uint32_t)x - (uint32_t)y)))
INT(helx_mul_i32, int32_t, clamp(p, (int32_t)((uint32_t)x * (uint32_t)y)))
INT(helx_div_i32, int32_t, clamp(p, (int32_t)quotient(x, y)))
INT(helx_maximum_i32, int32_t, x > y ? x : y)
INT(helx_minimum_i32, int32_t, x < y ? x : y)
INT(helx_squared_difference_i32, int32_t,
    ((uint32_t)x - (uint32_t)y) * ((uint32_t)x - (uint32_t)y))
INT(helx_floor_div_i32, int32_t, floor_quotient(x, y))
INT(helx_floor_mod_i32, int32_t, floor_rest(x, y))
INT(helx_pow_i32, int32_t, power(x, y))

INT(helx_add_i64, int64_t, clamp(p, (int64_t)((uint64_t)x + (uint64_t)y)))
INT(helx_sub_i64, int64_t, clamp(p, (int64_t)((uint64_t)x - (uint64_t)y)))
INT(helx_mul_i64, int64_t, clamp(p, (int64_t)((uint64_t)x * (uint64_t)y)))
INT(helx_div_i64, int64_t, clamp(p, quotient(x, y)))
INT(helx_maximum_i64, int64_t, x > y ? x : y)
INT(helx_minimum_i64, int64_t, x < y ? x : y)
INT(helx_floor_div_i64, int64_t, floor_quotient(x, y))
INT(helx_floor_mod_i64, int64_t, floor_rest(x, y))

INT(helx_floor_div_i8, int8_t, floor_quotient(x, y))
INT(helx_floor_mod_i8, int8_t, floor_rest(x, y))
INT(helx_floor_div_i16, int16_t, floor_quotient(x, y))
INT(helx_floor_mod_i16, int16_t, floor_rest(x, y))
INT(helx_add_i16, int16_t, clamp(p, (int16_t)(x + y)))
INT(helx_mul_i16, int16_t, clamp(p, (int16_t)(x * y)))
INT(helx_maximum_i16, int16_t, x > y ? x : y)
INT(helx_minimum_i16, int16_t, x < y ? x : y)
INT(helx_maximum_i8, int8_t, x > y ? x : y)
INT(helx_minimum_i8, int8_t, x < y ? x : y)
INT(helx_maximum_u8, uint8_t, x > y ? x : y)
INT(helx_minimum_u8, uint8_t, x < y ? x : y)
INT(helx_logical_and, uint8_t, x != 0 && y != 0)
INT(helx_logical_or, uint8_t, x != 0 || y != 0)

#define XOR(BITS)                                                                               \
  static HELX_BINARY(xor_##BITS, helx_binary_int_params, uint##BITS##_t, uint##BITS##_t,        \
                     uint##BITS##_t, x ^ y)                                                     \
  void helx_bitwise_xor_##BITS(const helx_binary_int_params* p, const void* a, const void* b,   \
                               void* output) {                                                  \
    xor_##BITS(p, (const uint##BITS##_t*)a, (const uint##BITS##_t*)b, (uint##BITS##_t*)output); \
  }

XOR(8)
XOR(16)
XOR(32)

/* Distances beyond the width act as the width less one does; below 0 as 0. */
#define SHIFT(y, bits) ((y) < 0 ? 0 : ((y) >= (bits) ? (bits) - 1 : (y)))
INT(helx_right_shift_i8, int8_t, x >> SHIFT(y, 8))
INT(helx_right_shift_u8, uint8_t, y >= 8 ? 0 : x >> y)
INT(helx_right_shift_i16, int16_t, x >> SHIFT(y, 16))
INT(helx_right_shift_i32, int32_t, x >> SHIFT(y, 32))

#define COMPARE(NAME, TYPE, EXPRESSION) \
  HELX_BINARY(NAME, helx_binary_int_params, TYPE, TYPE, uint8_t, EXPRESSION)
#define COMPARISONS(SUFFIX, TYPE)                       \
  COMPARE(helx_equal_##SUFFIX, TYPE, x == y)            \
  COMPARE(helx_not_equal_##SUFFIX, TYPE, x != y)        \
  COMPARE(helx_greater_##SUFFIX, TYPE, x > y)           \
  COMPARE(helx_greater_equal_##SUFFIX, TYPE, x >= y)    \
  COMPARE(helx_less_##SUFFIX, TYPE, x < y)              \
  COMPARE(helx_less_equal_##SUFFIX, TYPE, x <= y)

COMPARISONS(i32, int32_t)
COMPARISONS(i64, int64_t)
COMPARISONS(i16, int16_t)
COMPARE(helx_equal_bool, uint8_t, (x != 0) == (y != 0))
COMPARE(helx_not_equal_bool, uint8_t, (x != 0) != (y != 0))
