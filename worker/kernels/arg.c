#include "helx_layers.h"

#define HELX_ARG(NAME, TYPE, INDEX, BETTER)                                       \
  void NAME(const helx_axis_params* p, const TYPE* input, INDEX* output) {        \
    for (int32_t o = 0; o < p->outer; ++o, input += p->axis * p->inner) {         \
      for (int32_t i = 0; i < p->inner; ++i) {                                    \
        TYPE best = input[i];                                                     \
        int32_t at = 0;                                                           \
        for (int32_t a = 1; a < p->axis; ++a) {                                   \
          const TYPE v = input[a * p->inner + i];                                 \
          if (v BETTER best) {                                                    \
            best = v;                                                             \
            at = a;                                                               \
          }                                                                       \
        }                                                                         \
        *output++ = (INDEX)at;                                                    \
      }                                                                           \
    }                                                                             \
  }

#define ALL(SUFFIX, TYPE)                                   \
  HELX_ARG(helx_arg_max_##SUFFIX##_i32, TYPE, int32_t, >)   \
  HELX_ARG(helx_arg_max_##SUFFIX##_i64, TYPE, int64_t, >)   \
  HELX_ARG(helx_arg_min_##SUFFIX##_i32, TYPE, int32_t, <)   \
  HELX_ARG(helx_arg_min_##SUFFIX##_i64, TYPE, int64_t, <)

ALL(f32, float)
ALL(i8, int8_t)
ALL(u8, uint8_t)
ALL(i16, int16_t)
ALL(i32, int32_t)
