// Exact integer arithmetic of wai-ops/1 (docs/integer-operators.md, section 2).
//
// Every function is total on the stated domain, never wraps and never saturates. Values that the
// bounds pass calls wide are signed 128-bit; the section 8.4 limit of 2^126 keeps all sums and
// products formed here inside that type.
#ifndef HELX_CORE_OPS_INTEGERS_H_
#define HELX_CORE_OPS_INTEGERS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace helx::ops {

__extension__ using i128 = __int128;
__extension__ using u128 = unsigned __int128;

inline constexpr int64_t kI64Min = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kI64Max = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kI32Min = std::numeric_limits<int32_t>::min();
inline constexpr int64_t kI32Max = std::numeric_limits<int32_t>::max();

// The four rounding shifts of section 2.2, by their WHG1 code.
enum class Rounding : uint8_t { kFloor = 0, kHalfUp = 1, kHalfAway = 2, kHalfEven = 3 };
inline constexpr int kRoundings = 4;

// "floor", "half_up", "half_away", "half_even".
std::string_view RoundingName(Rounding rounding);

// R(rounding, p, shift) of section 2.2, 0 <= shift <= 63, in T = i128 with |p| <= 2^126 + 2^65, or
// in T = int64_t with shift <= 62 and |p| <= 2^62.
template <typename T>
inline T RoundShiftIn(Rounding rounding, T p, int shift) {
  if (shift == 0) return p;
  const T half = static_cast<T>(1) << (shift - 1);
  const T floor = p >> shift;
  switch (rounding) {
    case Rounding::kFloor:
      return floor;
    case Rounding::kHalfUp:
      return (p + half) >> shift;
    case Rounding::kHalfAway:
      return p < 0 ? -((-p + half) >> shift) : (p + half) >> shift;
    case Rounding::kHalfEven: {
      const T rest = p - floor * (static_cast<T>(1) << shift);
      const bool up = rest > half || (rest == half && (floor & 1) != 0);
      return up ? floor + 1 : floor;
    }
  }
  return floor;
}

inline i128 RoundShift(Rounding rounding, i128 p, int shift) {
  return RoundShiftIn<i128>(rounding, p, shift);
}

// rdiv of section 2.3: n/d rounded half away from zero; d >= 1, |n| <= 2^125.
i128 RoundDivide(i128 n, i128 d);

// Greatest g with g*g <= v; v >= 0.
i128 FloorSqrt(i128 v);

// expneg of section 2.5: an integer in [0, 2^30] near 2^30 exp(-n / 2^f); n >= 0, 0 <= f <= 26.
int64_t ExpNeg(int64_t n, int f);

// Decimal text of an exact integer.
std::string ToText(i128 value);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_INTEGERS_H_
