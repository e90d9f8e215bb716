#include "core/ops/integers.h"

#include <algorithm>

namespace helx::ops {

std::string_view RoundingName(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFloor:
      return "floor";
    case Rounding::kHalfUp:
      return "half_up";
    case Rounding::kHalfAway:
      return "half_away";
    case Rounding::kHalfEven:
      return "half_even";
  }
  return "";
}

i128 RoundDivide(i128 n, i128 d) {
  const i128 magnitude = n < 0 ? -n : n;
  const i128 quotient = (2 * magnitude + d) / (2 * d);
  return n < 0 ? -quotient : quotient;
}

i128 FloorSqrt(i128 v) {
  // Digit by digit in base 4: the root is built from its highest bit down.
  u128 rest = static_cast<u128>(v);
  u128 root = 0;
  u128 bit = static_cast<u128>(1) << 126;
  while (bit > rest) bit >>= 2;
  while (bit != 0) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
    bit >>= 2;
  }
  return static_cast<i128>(root);
}

int64_t ExpNeg(int64_t n, int f) {
  if (n >= (int64_t{1} << (f + 5))) return 0;
  const int64_t m = n << (26 - f);
  const int64_t z = (m * 1549082005) >> 30;
  const int64_t k = z >> 26;
  const int64_t r = (z & ((int64_t{1} << 26) - 1)) * 16;
  // Horner form of 2^30 * 2^(-r/2^30); the coefficients are normative.
  static constexpr int64_t kCoefficients[] = {9893646, -59383922, 257894831, -744257797,
                                              1073741824};
  int64_t t = -1017670;
  for (const int64_t coefficient : kCoefficients) t = coefficient + ((t * r) >> 30);
  return static_cast<int64_t>(RoundShift(Rounding::kHalfUp, t, static_cast<int>(k)));
}

std::string ToText(i128 value) {
  u128 magnitude = value < 0 ? -static_cast<u128>(value) : static_cast<u128>(value);
  std::string text;
  do {
    text.push_back(static_cast<char>('0' + static_cast<int>(magnitude % 10)));
    magnitude /= 10;
  } while (magnitude != 0);
  if (value < 0) text.push_back('-');
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace helx::ops
