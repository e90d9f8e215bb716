// Exact arithmetic on non-negative dyadic rationals (integer x 2^-1280), wide enough for every
// product and sum that a comparison of stored values with double tolerances can need.
#ifndef HELX_CORE_TENSOR_DYADIC_H_
#define HELX_CORE_TENSOR_DYADIC_H_

#include <array>
#include <cstdint>
#include <string>

namespace helx {

class Dyadic {
 public:
  Dyadic() = default;

  // Adds mantissa x 2^exponent. REQUIRES: -1280 <= exponent, and the sum stays below 2^1280.
  void Add(unsigned __int128 mantissa, int exponent);
  // Adds or takes away |value|. REQUIRES: finite; the result is not negative.
  void AddAbs(double value);
  void SubtractAbs(double value);
  // Adds |a| x |b|, exactly. REQUIRES: both finite, the product below 2^1216.
  void AddProductAbs(double a, double b);

  // < 0, 0, > 0.
  int Compare(const Dyadic& other) const;
  bool IsZero() const;

  // Every digit, without exponent: "0", "0.0009765625", "9223372036854775808".
  std::string ToDecimal() const;

 private:
  static constexpr int kLimbs = 40;          // of 64 bits, the least significant first
  static constexpr int kFractionLimbs = 20;  // bits below the binary point: 1280

  std::array<uint64_t, kLimbs> limbs_{};
};

// The exact decimal text of a finite value, with '-' for a set sign bit.
std::string ExactDecimal(double value);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_DYADIC_H_
