#include "sha256.h"

#include <string.h>

static const uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t Rotate(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static uint32_t BigEndian(const uint8_t* p) {
  uint32_t word;
  memcpy(&word, p, 4);
  return __builtin_bswap32(word);
}

/* One round; the caller rotates the names instead of the values, so that eight rounds move nothing. */
#define ROUND(a, b, c, d, e, f, g, h, k, word)                                              \
  do {                                                                                      \
    const uint32_t t1 =                                                                     \
        h + (Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25)) + (g ^ (e & (f ^ g))) + k + word; \
    d += t1;                                                                                \
    h = t1 + (Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22)) + ((a & b) | (c & (a | b)));    \
  } while (0)

static void Compress(uint32_t state[8], const uint8_t* block) {
  uint32_t w[16];
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (unsigned t = 0; t < 16; ++t) w[t] = BigEndian(block + 4 * t);
  for (unsigned t = 0; t < 64; t += 8) {
    const uint32_t* k = kRound + t;
    uint32_t* x = w + (t & 8);
    ROUND(a, b, c, d, e, f, g, h, k[0], x[0]);
    ROUND(h, a, b, c, d, e, f, g, k[1], x[1]);
    ROUND(g, h, a, b, c, d, e, f, k[2], x[2]);
    ROUND(f, g, h, a, b, c, d, e, k[3], x[3]);
    ROUND(e, f, g, h, a, b, c, d, k[4], x[4]);
    ROUND(d, e, f, g, h, a, b, c, k[5], x[5]);
    ROUND(c, d, e, f, g, h, a, b, k[6], x[6]);
    ROUND(b, c, d, e, f, g, h, a, k[7], x[7]);
    /* The same eight places hold the words of sixteen rounds later. */
    if (t < 48) {
      for (unsigned i = t & 8; i < (t & 8) + 8; ++i) {
        const uint32_t w2 = w[(i + 14) & 15], w15 = w[(i + 1) & 15];
        w[i] += (Rotate(w2, 17) ^ Rotate(w2, 19) ^ (w2 >> 10)) + w[(i + 9) & 15] +
                (Rotate(w15, 7) ^ Rotate(w15, 18) ^ (w15 >> 3));
      }
    }
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void helx_sha256_begin(helx_sha256* hash) {
  static const uint32_t kInitial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, kInitial, sizeof(kInitial));
  hash->bytes = 0;
}

void helx_sha256_update(helx_sha256* hash, const void* data, uint32_t bytes) {
  const uint8_t* p = data;
  const uint32_t held = (uint32_t)hash->bytes & 63;
  hash->bytes += bytes;
  if (held != 0) {
    const uint32_t room = 64 - held;
    const uint32_t take = bytes < room ? bytes : room;
    memcpy(hash->block + held, p, take);
    p += take;
    bytes -= take;
    if (take < room) return;
    Compress(hash->state, hash->block);
  }
  for (; bytes >= 64; p += 64, bytes -= 64) Compress(hash->state, p);
  memcpy(hash->block, p, bytes);
}

void helx_sha256_end(helx_sha256* hash, uint8_t digest[32]) {
  const uint64_t bits = hash->bytes * 8;
  const uint32_t held = (uint32_t)hash->bytes & 63;
  uint8_t tail[72] = {0x80};
  const uint32_t pad = (held < 56 ? 56 : 120) - held;
  for (unsigned i = 0; i < 8; ++i) tail[pad + i] = (uint8_t)(bits >> (56 - 8 * i));
  helx_sha256_update(hash, tail, pad + 8);
  for (unsigned i = 0; i < 8; ++i) {
    const uint32_t word = __builtin_bswap32(hash->state[i]);
    memcpy(digest + 4 * i, &word, 4);
  }
}

void helx_sha256_of(const void* data, uint32_t bytes, uint8_t digest[32]) {
  helx_sha256 hash;
  helx_sha256_begin(&hash);
  helx_sha256_update(&hash, data, bytes);
  helx_sha256_end(&hash, digest);
}
