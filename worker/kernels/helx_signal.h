/* The audio front end of TFLite Micro's signal library: windows, transforms and filter banks on fixed-point samples. */
#ifndef HELX_SIGNAL_H_
#define HELX_SIGNAL_H_

#include <stdint.h>

typedef struct {
  int32_t rows, columns; /* of the input; the window has one row */
  int32_t shift;
} helx_window_params;

/* (x * w) >> shift, saturated. */
void helx_signal_window(const helx_window_params* p, const int16_t* input, const int16_t* window,
                        int16_t* output);

typedef struct {
  int32_t count;
} helx_auto_scale_params;

/* Shifts the samples to the left as far as the largest allows; `bits` says how far. */
void helx_signal_auto_scale(const helx_auto_scale_params* p, const int16_t* input,
                            int16_t* output, int32_t* bits);

typedef struct {
  int16_t re, im;
} helx_complex16;

/* The transform of real samples by way of one of half the length, a power of two, in Q0.15 with every stage scaled down (the
 * arithmetic of kissfft's fixed-point form). */
typedef struct {
  int32_t rows;
  int32_t samples; /* of a row; zeros follow up to 2 * half */
  int32_t half;    /* the length of the complex transform, >= 2 */
  const helx_complex16* twiddles;       /* [half]: exp(-2 pi i k / half) */
  const helx_complex16* real_twiddles;  /* [half / 2]: exp(-pi i ((k + 1) / half + 1 / 2)) */
} helx_rfft_params;

/* output: [rows][half + 1]; scratch: 2 * half complex numbers. */
void helx_rfft_s16(const helx_rfft_params* p, const int16_t* input, helx_complex16* scratch,
                   int16_t* output);

typedef struct {
  int32_t count;
  int32_t first, last; /* energies of [first, last) are computed, others are 0 */
} helx_energy_params;

void helx_signal_energy(const helx_energy_params* p, const int16_t* spectrum, uint32_t* output);

typedef struct {
  int32_t channels;
  /* [channels + 1] each; of every frequency a part, `weights`, counts for its channel and another, `unweights`, for the next. */
  const int16_t* weights;
  const int16_t* unweights;
  const int16_t* frequency_starts;
  const int16_t* weight_starts;
  const int16_t* widths;
} helx_filter_bank_params;

void helx_filter_bank(const helx_filter_bank_params* p, const uint32_t* input, uint64_t* output);

typedef struct {
  int32_t count;
} helx_filter_bank_sqrt_params;

/* The rounded square root, shifted to the right by `*bits`. */
void helx_filter_bank_sqrt(const helx_filter_bank_sqrt_params* p, const uint64_t* input,
                           const int32_t* bits, uint32_t* output);

/* Channels of even and of odd number are smoothed differently. */
typedef struct {
  int32_t channels;
  uint32_t smoothing[2], one_minus_smoothing[2];
  uint32_t min_signal_remaining;
  int32_t smoothing_bits, spectral_subtraction_bits;
  int32_t clamping;
} helx_spectral_subtraction_params;

/* estimate: [channels], kept from one invocation to the next, and given out as `noise`. */
void helx_spectral_subtraction(const helx_spectral_subtraction_params* p, const uint32_t* input,
                               uint32_t* estimate, uint32_t* output, uint32_t* noise);

typedef struct {
  int32_t channels;
  int32_t snr_shift;
} helx_pcan_params;

/* Per-channel gain by the noise. gains: 125 numbers, pieces of a polynomial by powers of two. */
void helx_pcan(const helx_pcan_params* p, const uint32_t* input, const uint32_t* noise,
               const int16_t* gains, uint32_t* output);

typedef struct {
  int32_t channels;
  int32_t correction_bits;
  uint32_t output_scale;
  const uint16_t* table; /* [130]: 65536 (log2(1 + i / 128) - i / 128), then 0 */
} helx_filter_bank_log_params;

void helx_filter_bank_log(const helx_filter_bank_log_params* p, const uint32_t* input,
                          int16_t* output);

#endif /* HELX_SIGNAL_H_ */
