// The corpus's pseudo-random sequences (docs/integer-operators.md, section 14.7.1): SplitMix64
// seeded by the SHA-256 of an id.
#ifndef HELX_CORE_OPS_CORPUS_STREAM_H_
#define HELX_CORE_OPS_CORPUS_STREAM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ops/hash.h"
#include "core/ops/integers.h"

namespace helx::ops {

class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  Stream(std::string_view id, HashFunction hash) : Stream(SeedOf(id, hash)) {}

  // The first 8 bytes of SHA-256(id), little-endian.
  static uint64_t SeedOf(std::string_view id, HashFunction hash) {
    const Digest digest = hash(id);
    uint64_t seed = 0;
    for (int i = 7; i >= 0; --i) seed = seed << 8 | digest[i];
    return seed;
  }

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

  // u(lo, hi): one Next() per draw, always.
  int64_t Draw(int64_t lo, int64_t hi) {
    const u128 span = static_cast<u128>(static_cast<i128>(hi) - lo) + 1;
    return static_cast<int64_t>(lo + static_cast<i128>(Next() * span >> 64));
  }

  std::vector<int64_t> Draws(int64_t count, int64_t lo, int64_t hi) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = Draw(lo, hi);
    return values;
  }

 private:
  uint64_t state_;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CORPUS_STREAM_H_
