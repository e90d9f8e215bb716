// SplitMix64 (Steele, Lea, Flood 2014): the generator of reproducible test data.
#ifndef HELX_CORE_BASE_SPLITMIX64_H_
#define HELX_CORE_BASE_SPLITMIX64_H_

#include <cstdint>

namespace helx {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace helx

#endif  // HELX_CORE_BASE_SPLITMIX64_H_
