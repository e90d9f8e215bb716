#include "helx_signal.h"

#include "helx_arith.h"

/* The number of bits of x without its leading zeros. */
static inline int32_t bits32(uint32_t x) { return x == 0 ? 0 : 32 - __builtin_clz(x); }
static inline int32_t bits64(uint64_t x) { return x == 0 ? 0 : 64 - __builtin_clzll(x); }

void helx_signal_window(const helx_window_params* p, const int16_t* input, const int16_t* window,
                        int16_t* output) {
  for (int32_t row = 0; row < p->rows; ++row) {
    for (int32_t i = 0; i < p->columns; ++i) {
      *output++ = (int16_t)helx_clamp((*input++ * window[i]) >> p->shift, -32768, 32767);
    }
  }
}

void helx_signal_auto_scale(const helx_auto_scale_params* p, const int16_t* input,
                            int16_t* output, int32_t* bits) {
  int16_t largest = 0;
  for (int32_t i = 0; i < p->count; ++i) {
    if (input[i] > largest) {
      largest = input[i];
    } else if (input[i] < -largest) {
      largest = (int16_t)-input[i];
    }
  }
  *bits = helx_max(15 - bits32((uint32_t)(int32_t)largest), 0);
  for (int32_t i = 0; i < p->count; ++i) output[i] = (int16_t)(input[i] * (1 << *bits));
}

void helx_signal_energy(const helx_energy_params* p, const int16_t* spectrum, uint32_t* output) {
  for (int32_t i = 0; i < p->count; ++i, spectrum += 2) {
    const uint32_t re = (uint32_t)(spectrum[0] * spectrum[0]);
    const uint32_t im = (uint32_t)(spectrum[1] * spectrum[1]);
    output[i] = i >= p->first && i < p->last ? re + im : 0;
  }
}

void helx_filter_bank(const helx_filter_bank_params* p, const uint32_t* input, uint64_t* output) {
  uint64_t sum = 0;
  for (int32_t channel = 0; channel <= p->channels; ++channel) {
    const uint32_t* x = input + p->frequency_starts[channel];
    const int16_t* w = p->weights + p->weight_starts[channel];
    const int16_t* u = p->unweights + p->weight_starts[channel];
    uint64_t next = 0;
    for (int32_t i = 0; i < p->widths[channel]; ++i) {
      sum += (uint64_t)w[i] * x[i];
      next += (uint64_t)u[i] * x[i];
    }
    /* The first sum only has what no channel takes. */
    if (channel > 0) output[channel - 1] = sum;
    sum = next;
  }
}

/* Digit by digit, then rounded where the bits allow. */
static uint32_t root32(uint32_t x) {
  if (x == 0) return 0;
  uint32_t root = 0;
  for (uint32_t bit = 1u << ((bits32(x) - 1) & ~1); bit != 0; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return x > root && root != 0xffff ? root + 1 : root;
}

static uint32_t root64(uint64_t x) {
  if (x >> 32 == 0) return root32((uint32_t)x);
  uint64_t root = 0;
  for (uint64_t bit = (uint64_t)1 << ((bits64(x) - 1) & ~1); bit != 0; bit >>= 2) {
    if (x >= root + bit) {
      x -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return (uint32_t)(x > root && root != 0xffffffffu ? root + 1 : root);
}

void helx_filter_bank_sqrt(const helx_filter_bank_sqrt_params* p, const uint64_t* input,
                           const int32_t* bits, uint32_t* output) {
  for (int32_t i = 0; i < p->count; ++i) output[i] = root64(input[i]) >> (*bits & 31);
}

void helx_spectral_subtraction(const helx_spectral_subtraction_params* p, const uint32_t* input,
                               uint32_t* estimate, uint32_t* output, uint32_t* noise) {
  for (int32_t i = 0; i < p->channels; ++i) {
    const uint32_t signal = input[i] << p->smoothing_bits;
    estimate[i] = (uint32_t)(((uint64_t)signal * p->smoothing[i & 1] +
                              (uint64_t)estimate[i] * p->one_minus_smoothing[i & 1]) >>
                             p->spectral_subtraction_bits);
    uint32_t subtracted = estimate[i];
    if (subtracted > signal) {
      subtracted = signal;
      if (p->clamping) estimate[i] = signal;
    }
    noise[i] = estimate[i];
    const uint32_t least =
        (uint32_t)(((uint64_t)input[i] * p->min_signal_remaining) >> p->spectral_subtraction_bits);
    const uint32_t rest = (signal - subtracted) >> p->smoothing_bits;
    output[i] = rest > least ? rest : least;
  }
}

static int16_t gain_of(uint32_t x, const int16_t* gains) {
  if (x <= 2) return gains[x];
  const int32_t interval = bits32(x);
  const int16_t* piece = gains + 4 * interval - 6;
  const int32_t fraction =
      (int32_t)((interval < 11 ? x << (11 - interval) : x >> (interval - 11)) & 0x3ff);
  int32_t y = (piece[2] * fraction) >> 5;
  y += (int32_t)((uint32_t)piece[1] << 5);
  y *= fraction;
  y = (y + (1 << 14)) >> 15;
  return (int16_t)(y + piece[0]);
}

/* x * x / 4 below 2, x - 1 above; 12 fraction bits become 6. */
static uint32_t shrunk(uint32_t x) {
  return x < (2u << 12) ? (x * x) >> 20 : (x >> 6) - (1u << 6);
}

void helx_pcan(const helx_pcan_params* p, const uint32_t* input, const uint32_t* noise,
               const int16_t* gains, uint32_t* output) {
  for (int32_t i = 0; i < p->channels; ++i) {
    const uint32_t gain = (uint32_t)(int32_t)gain_of(noise[i], gains);
    output[i] = shrunk((uint32_t)(((uint64_t)input[i] * gain) >> p->snr_shift));
  }
}

/* The fraction of log2(x) in 16 bits, whose whole part is `whole`: a straight line and the table's distance from it. */
static uint32_t log2_fraction(uint32_t x, int32_t whole, const uint16_t* table) {
  const uint32_t rest = x - (1u << whole);
  const int32_t line = (int32_t)(whole < 16 ? rest << (16 - whole) : rest >> (whole - 16));
  const int32_t place = line >> 9;
  const int32_t low = table[place];
  const int32_t high = table[place + 1];
  return (uint32_t)(line + low + (((high - low) * (line - (place << 9))) >> 16));
}

void helx_filter_bank_log(const helx_filter_bank_log_params* p, const uint32_t* input,
                          int16_t* output) {
  for (int32_t i = 0; i < p->channels; ++i) {
    const uint32_t x = input[i] << p->correction_bits;
    uint32_t y = 0;
    if (x > 1) {
      const int32_t whole = bits32(x) - 1;
      const uint32_t log2 = ((uint32_t)whole << 16) + log2_fraction(x, whole, p->table);
      /* ln 2 = 45426 / 65536. */
      const uint32_t log = (uint32_t)(((uint64_t)45426 * log2 + 32768) >> 16);
      y = (p->output_scale * log + 32768) >> 16;
    }
    output[i] = (int16_t)(y < 0x7fff ? y : 0x7fff);
  }
}
