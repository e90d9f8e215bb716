/* int8 ADD of equal shapes, for instruction-set extensions. */
#ifndef HELX_ADD_EQUAL_S8_H_
#define HELX_ADD_EQUAL_S8_H_

#include <stdint.h>

/* TFLite scales both operands to half of the larger input scale, with 20 fractional bits. The operand with that scale is scaled
 * exactly, by 2^19; it is called a here. The other is multiplied as in helx_arith.h. Shifts are <= 0; a sign is -31 where the
 * shift is negative, and 32 where it is 0, so that shifting by it leaves the sign or nothing. */
typedef struct {
  int32_t count;
  int32_t a_zero_point;
  int32_t b_zero_point, b_multiplier, b_shift, b_sign;
  int32_t output_zero_point, output_multiplier, output_shift, output_sign;
  int32_t lowest, highest;
} helx_add_equal_s8_params;

/* The output may be either input. */
void helx_mve_add_s8(const helx_add_equal_s8_params* p, const int8_t* a, const int8_t* b,
                     int8_t* output);
/* output_shift >= -21. */
void helx_dsp_add_s8(const helx_add_equal_s8_params* p, const int8_t* a, const int8_t* b,
                     int8_t* output);

#endif /* HELX_ADD_EQUAL_S8_H_ */
