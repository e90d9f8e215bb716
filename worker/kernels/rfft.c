#include <string.h>

#include "helx_signal.h"

static inline int16_t rounded(int32_t x) { return (int16_t)((x + (1 << 14)) >> 15); }

static inline helx_complex16 multiplied(helx_complex16 a, helx_complex16 b) {
  const helx_complex16 y = {rounded(a.re * b.re - a.im * b.im), rounded(a.re * b.im + a.im * b.re)};
  return y;
}

/* x / n for the rounded n = 2 or 4: by 32767 / n in Q0.15. */
static inline helx_complex16 divided(helx_complex16 x, int32_t n) {
  const int32_t factor = 32767 / n;
  const helx_complex16 y = {rounded(x.re * factor), rounded(x.im * factor)};
  return y;
}

static inline helx_complex16 sum(helx_complex16 a, helx_complex16 b) {
  const helx_complex16 y = {(int16_t)(a.re + b.re), (int16_t)(a.im + b.im)};
  return y;
}

static inline helx_complex16 difference(helx_complex16 a, helx_complex16 b) {
  const helx_complex16 y = {(int16_t)(a.re - b.re), (int16_t)(a.im - b.im)};
  return y;
}

/* a - i b. */
static inline helx_complex16 turned(helx_complex16 a, helx_complex16 b) {
  const helx_complex16 y = {(int16_t)(a.re + b.im), (int16_t)(a.im - b.re)};
  return y;
}

/* a + i b. */
static inline helx_complex16 turned_back(helx_complex16 a, helx_complex16 b) {
  const helx_complex16 y = {(int16_t)(a.re - b.im), (int16_t)(a.im + b.re)};
  return y;
}

static void butterflies4(helx_complex16* x, const helx_complex16* twiddles, int32_t stride,
                         int32_t m) {
  for (int32_t k = 0; k < m; ++k, ++x) {
    const helx_complex16 a = divided(x[0], 4);
    const helx_complex16 b = multiplied(divided(x[m], 4), twiddles[k * stride]);
    const helx_complex16 c = multiplied(divided(x[2 * m], 4), twiddles[2 * k * stride]);
    const helx_complex16 d = multiplied(divided(x[3 * m], 4), twiddles[3 * k * stride]);
    const helx_complex16 even = sum(a, c), odd = sum(b, d);
    const helx_complex16 rest = difference(a, c), turn = difference(b, d);
    x[0] = sum(even, odd);
    x[2 * m] = difference(even, odd);
    x[m] = turned(rest, turn);
    x[3 * m] = turned_back(rest, turn);
  }
}

static void butterflies2(helx_complex16* x, const helx_complex16* twiddles, int32_t stride,
                         int32_t m) {
  for (int32_t k = 0; k < m; ++k, ++x) {
    const helx_complex16 a = divided(x[0], 2);
    const helx_complex16 b = multiplied(divided(x[m], 2), twiddles[k * stride]);
    x[m] = difference(a, b);
    x[0] = sum(a, b);
  }
}

/* The transform of n numbers, `stride` apart. Decimation in time: by four as often as possible, then by two. */
static void transform(helx_complex16* to, const helx_complex16* from, int32_t n, int32_t stride,
                      const helx_complex16* twiddles) {
  const int32_t parts = n % 4 == 0 ? 4 : 2;
  const int32_t m = n / parts;
  for (int32_t part = 0; part < parts; ++part) {
    if (m == 1) {
      to[part] = from[part * stride];
    } else {
      transform(to + part * m, from + part * stride, m, stride * parts, twiddles);
    }
  }
  if (parts == 4) {
    butterflies4(to, twiddles, stride, m);
  } else {
    butterflies2(to, twiddles, stride, m);
  }
}

/* The spectrum of 2 * half real numbers from that of the complex numbers they were taken for. */
static void separate(const helx_rfft_params* p, const helx_complex16* x, helx_complex16* y) {
  const int32_t n = p->half;
  const helx_complex16 first = divided(x[0], 2);
  y[0].re = (int16_t)(first.re + first.im);
  y[n].re = (int16_t)(first.re - first.im);
  y[0].im = 0;
  y[n].im = 0;
  for (int32_t k = 1; k <= n / 2; ++k) {
    const helx_complex16 a = divided(x[k], 2);
    const helx_complex16 mirrored = {x[n - k].re, (int16_t)-x[n - k].im};
    const helx_complex16 b = divided(mirrored, 2);
    const helx_complex16 even = sum(a, b);
    const helx_complex16 odd = multiplied(difference(a, b), p->real_twiddles[k - 1]);
    y[k].re = (int16_t)((even.re + odd.re) >> 1);
    y[k].im = (int16_t)((even.im + odd.im) >> 1);
    y[n - k].re = (int16_t)((even.re - odd.re) >> 1);
    y[n - k].im = (int16_t)((odd.im - even.im) >> 1);
  }
}

void helx_rfft_s16(const helx_rfft_params* p, const int16_t* input, helx_complex16* scratch,
                   int16_t* output) {
  helx_complex16* padded = scratch + p->half;
  for (int32_t row = 0; row < p->rows; ++row) {
    memset(padded, 0, (size_t)p->half * sizeof(helx_complex16));
    memcpy(padded, input, (size_t)p->samples * sizeof(int16_t));
    transform(scratch, padded, p->half, 1, p->twiddles);
    separate(p, scratch, (helx_complex16*)(void*)output);
    input += p->samples;
    output += 2 * (p->half + 1);
  }
}
