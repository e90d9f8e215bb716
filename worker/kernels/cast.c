#include "helx_walk.h"

/* Converts a float to an integer of [lowest, highest]; both bounds are powers of two or one less. */
#define FROM_FLOAT(TYPE, LOWEST, BEYOND) \
  (x != x ? 0 : (x <= (LOWEST) ? (TYPE)(LOWEST) : (x >= (BEYOND) ? (TYPE)~(TYPE)0 : (TYPE)x)))
#define FROM_FLOAT_SIGNED(TYPE, LOWEST, BEYOND, HIGHEST) \
  (x != x ? 0 : (x <= (LOWEST) ? (TYPE)(LOWEST) : (x >= (BEYOND) ? (TYPE)(HIGHEST) : (TYPE)x)))

#define CAST(FROM, FROM_TYPE, TO, TO_TYPE, EXPRESSION) \
  HELX_UNARY(helx_cast_##FROM##_##TO, helx_count_params, FROM_TYPE, TO_TYPE, EXPRESSION)

CAST(f32, float, f32, float, x)
CAST(f32, float, i8, int8_t, FROM_FLOAT_SIGNED(int8_t, -128.0f, 127.0f, 127))
CAST(f32, float, u8, uint8_t, FROM_FLOAT(uint8_t, 0.0f, 255.0f))
CAST(f32, float, i16, int16_t, FROM_FLOAT_SIGNED(int16_t, -32768.0f, 32767.0f, 32767))
CAST(f32, float, u16, uint16_t, FROM_FLOAT(uint16_t, 0.0f, 65535.0f))
CAST(f32, float, i32, int32_t, FROM_FLOAT_SIGNED(int32_t, -0x1p31f, 0x1p31f, 0x7fffffff))
CAST(f32, float, u32, uint32_t, FROM_FLOAT(uint32_t, 0.0f, 0x1p32f))
CAST(f32, float, i64, int64_t,
     FROM_FLOAT_SIGNED(int64_t, -0x1p63f, 0x1p63f, 0x7fffffffffffffff))
CAST(f32, float, u64, uint64_t, FROM_FLOAT(uint64_t, 0.0f, 0x1p64f))
CAST(f32, float, bool, uint8_t, x != 0.0f)

#define FROM_INTEGER(SUFFIX, TYPE)          \
  CAST(SUFFIX, TYPE, f32, float, x)         \
  CAST(SUFFIX, TYPE, i8, int8_t, x)         \
  CAST(SUFFIX, TYPE, u8, uint8_t, x)        \
  CAST(SUFFIX, TYPE, i16, int16_t, x)       \
  CAST(SUFFIX, TYPE, u16, uint16_t, x)      \
  CAST(SUFFIX, TYPE, i32, int32_t, x)       \
  CAST(SUFFIX, TYPE, u32, uint32_t, x)      \
  CAST(SUFFIX, TYPE, i64, int64_t, x)       \
  CAST(SUFFIX, TYPE, u64, uint64_t, x)      \
  CAST(SUFFIX, TYPE, bool, uint8_t, x != 0)

FROM_INTEGER(i8, int8_t)
FROM_INTEGER(u8, uint8_t)
FROM_INTEGER(i16, int16_t)
FROM_INTEGER(u16, uint16_t)
FROM_INTEGER(i32, int32_t)
FROM_INTEGER(u32, uint32_t)
FROM_INTEGER(i64, int64_t)
FROM_INTEGER(u64, uint64_t)
