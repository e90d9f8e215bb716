/* New cells and hidden values of an LSTM from the arguments of its gates: one cell at a time, or four with Helium. */
#ifndef HELX_LSTM_CELLS_H_
#define HELX_LSTM_CELLS_H_

#include "helx_arith.h"
#include "helx_sigmoid16.h"
#include "helx_state.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>

enum { HELX_LSTM_LANES = 4 };
typedef int32x4_t helx_lstm_lanes;

#define HELX_LSTM_STORE_int8_t(TO, Y, LEFT) vstrbq_p_s32(TO, Y, vctp32q((uint32_t)(LEFT)))
#define HELX_LSTM_STORE_int16_t(TO, Y, LEFT) vstrhq_p_s32(TO, Y, vctp32q((uint32_t)(LEFT)))

/* helx_requantize. */
static inline int32x4_t helx_lstm_requantize(int32x4_t x, int32_t multiplier, int32_t shift) {
  const int32_t right = helx_min(shift, 0);
  x = vqrdmulhq_n_s32(vshlq_r_s32(x, helx_max(shift, 0)), multiplier);
  x = vqaddq_s32(x, vshlq_r_s32(x, right < 0 ? -31 : 32));
  return vrshlq_n_s32(x, right);
}

static inline int32x4_t helx_lstm_clamp(int32x4_t x, int32_t lowest, int32_t highest) {
  return vminq_s32(vmaxq_s32(x, vdupq_n_s32(lowest)), vdupq_n_s32(highest));
}

/* helx_interpolated of the magnitude of `at`. */
static inline int32x4_t helx_lstm_interpolated(const uint16_t* table, int32x4_t at, int32_t bits,
                                               int32_t saturated) {
  const uint32x4_t magnitude = vreinterpretq_u32_s32(vabsq_s32(at));
  const uint32x4_t step = vshlq_r_u32(magnitude, -bits);
  const uint32x4_t place = vminq_u32(step, vdupq_n_u32(254));
  const uint32x4_t low = vldrhq_gather_shifted_offset_u32(table, place);
  const uint32x4_t high = vldrhq_gather_shifted_offset_u32(table + 1, place);
  const uint32x4_t rest = vandq_u32(magnitude, vdupq_n_u32((1u << bits) - 1));
  const uint32x4_t y = vaddq_u32(vshlq_r_u32(low, bits), vmulq_u32(rest, vsubq_u32(high, low)));
  return vpselq_s32(vdupq_n_s32(saturated), vreinterpretq_s32_u32(y),
                    vcmphiq_n_u32(step, 254));
}

/* helx_logistic16 with multiplier 3 and shift 0. */
static inline int32x4_t helx_lstm_logistic(const uint16_t* table, int32x4_t x) {
  const int32x4_t at = vmulq_n_s32(x, 3);
  const int32x4_t y = helx_lstm_interpolated(table, at, 9, 0x7fff << 10);
  const int32x4_t negative = vsubq_s32(vdupq_n_s32((1 << 25) + (1 << 9) - 1), y);
  return vshrq_n_s32(vpselq_s32(vaddq_n_s32(y, 1 << 9), negative, vcmpgeq_n_s32(at, 0)), 10);
}

static inline int32x4_t helx_lstm_tanh(const uint16_t* table, int32x4_t x, int32_t multiplier,
                                       int32_t shift) {
  const int32x4_t at = vrshlq_n_s32(vmulq_n_s32(x, multiplier), -shift);
  const int32x4_t y = helx_lstm_interpolated(table, at, 8, 0xffff << 8);
  const int32x4_t negative = vsubq_s32(vdupq_n_s32((1 << 23) + (1 << 7) - 1), y);
  return vshrq_n_s32(vpselq_s32(vaddq_n_s32(y, (1 << 7) - (1 << 23)), negative,
                                vcmpgeq_n_s32(at, 0)), 8);
}

/* gates: forget, input, update, output, `row` elements apart. */
static inline int32x4_t helx_lstm_cells(const helx_lstm_params* p, const int16_t* gates,
                                        int32_t row, int16_t* cell, int32_t left, int32_t lowest,
                                        int32_t highest) {
  const mve_pred16_t some = vctp32q((uint32_t)left);
  const int32x4_t forget = helx_lstm_logistic(p->table, vldrhq_s32(gates));
  const int32x4_t in = helx_lstm_logistic(p->table, vldrhq_s32(gates + row));
  const int32x4_t update = helx_lstm_tanh(p->table, vldrhq_s32(gates + 2 * row), 3, 0);
  const int32x4_t out = helx_lstm_logistic(p->table, vldrhq_s32(gates + 3 * row));
  int32x4_t next = helx_lstm_requantize(vmulq_s32(forget, vldrhq_z_s32(cell, some)),
                                        p->forget_multiplier, p->forget_shift);
  const int32x4_t more =
      helx_lstm_requantize(vmulq_s32(in, update), p->input_multiplier, p->input_shift);
  next = helx_lstm_clamp(vaddq_s32(helx_lstm_clamp(next, -32768, 32767),
                                   helx_lstm_clamp(more, -32768, 32767)),
                         -32768, 32767);
  if (p->cell_clip > 0) next = helx_lstm_clamp(next, -p->cell_clip, p->cell_clip);
  vstrhq_p_s32(cell, next, some);
  const int32x4_t squashed = helx_lstm_tanh(p->table, next, p->tanh_multiplier, p->tanh_shift);
  const int32x4_t y = helx_lstm_requantize(vmulq_s32(squashed, out), p->output_multiplier,
                                           p->output_shift);
  return helx_lstm_clamp(vaddq_n_s32(y, p->output_zero_point), lowest, highest);
}

#else

enum { HELX_LSTM_LANES = 1 };
typedef int32_t helx_lstm_lanes;

#define HELX_LSTM_STORE_int8_t(TO, Y, LEFT) (*(TO) = (int8_t)(Y))
#define HELX_LSTM_STORE_int16_t(TO, Y, LEFT) (*(TO) = (int16_t)(Y))

static inline int32_t helx_lstm_rescaled(int32_t product, int32_t multiplier, int32_t shift) {
  return helx_clamp(helx_requantize(product, multiplier, shift), -32768, 32767);
}

/* gates: forget, input, update, output, `row` elements apart. */
static inline int32_t helx_lstm_cells(const helx_lstm_params* p, const int16_t* gates, int32_t row,
                                      int16_t* cell, int32_t left, int32_t lowest,
                                      int32_t highest) {
  (void)left;
  const int32_t forget = helx_logistic16(p->table, gates[0], 3, 0);
  const int32_t in = helx_logistic16(p->table, gates[row], 3, 0);
  const int32_t update = helx_tanh16(p->table, gates[2 * row], 3, 0);
  const int32_t out = helx_logistic16(p->table, gates[3 * row], 3, 0);
  int32_t next = helx_lstm_rescaled(forget * *cell, p->forget_multiplier, p->forget_shift);
  next += helx_lstm_rescaled(in * update, p->input_multiplier, p->input_shift);
  next = helx_clamp(next, -32768, 32767);
  if (p->cell_clip > 0) next = helx_clamp(next, -p->cell_clip, p->cell_clip);
  *cell = (int16_t)next;
  const int32_t squashed = helx_tanh16(p->table, next, p->tanh_multiplier, p->tanh_shift);
  const int32_t y = helx_requantize(squashed * out, p->output_multiplier, p->output_shift);
  return helx_clamp(y + p->output_zero_point, lowest, highest);
}

#endif

#endif /* HELX_LSTM_CELLS_H_ */
