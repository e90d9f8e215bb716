#include "core/tensor/dyadic.h"

#include <algorithm>
#include <cmath>

namespace helx {
namespace {

using Wide = unsigned __int128;

// |value| = mantissa x 2^exponent with a mantissa below 2^53; {0, 0} for zero.
std::pair<uint64_t, int> Split(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  if (mantissa == 0) return {0, 0};
  // Trailing zeros would push the exponent of a subnormal's product below the fixed point.
  const int zeros = __builtin_ctzll(mantissa);
  return {mantissa >> zeros, exponent - 53 + zeros};
}

}  // namespace

void Dyadic::Add(Wide mantissa, int exponent) {
  const int position = exponent + 64 * kFractionLimbs;
  size_t limb = static_cast<size_t>(position / 64);
  const int shift = position % 64;
  // The shifted mantissa takes up to three limbs.
  const uint64_t low = static_cast<uint64_t>(mantissa);
  const uint64_t high = static_cast<uint64_t>(mantissa >> 64);
  const uint64_t parts[3] = {low << shift,
                             shift == 0 ? high : (high << shift | low >> (64 - shift)),
                             shift == 0 ? 0 : high >> (64 - shift)};
  uint64_t carry = 0;
  for (size_t i = 0; limb < limbs_.size() && (i < 3 || carry != 0); ++i, ++limb) {
    const Wide sum = Wide{limbs_[limb]} + (i < 3 ? parts[i] : 0) + carry;
    limbs_[limb] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
}

void Dyadic::AddAbs(double value) {
  const auto [mantissa, exponent] = Split(value);
  if (mantissa != 0) Add(mantissa, exponent);
}

void Dyadic::SubtractAbs(double value) {
  const auto [mantissa, exponent] = Split(value);
  if (mantissa == 0) return;
  Dyadic other;
  other.Add(mantissa, exponent);
  uint64_t borrow = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    const Wide taken = Wide{other.limbs_[i]} + borrow;
    borrow = limbs_[i] < taken;
    limbs_[i] -= static_cast<uint64_t>(taken);
  }
}

void Dyadic::AddProductAbs(double a, double b) {
  const auto [mantissa_a, exponent_a] = Split(a);
  const auto [mantissa_b, exponent_b] = Split(b);
  const Wide product = Wide{mantissa_a} * mantissa_b;
  if (product != 0) Add(product, exponent_a + exponent_b);
}

int Dyadic::Compare(const Dyadic& other) const {
  for (size_t i = limbs_.size(); i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
  }
  return 0;
}

bool Dyadic::IsZero() const {
  return std::all_of(limbs_.begin(), limbs_.end(), [](uint64_t limb) { return limb == 0; });
}

std::string Dyadic::ToDecimal() const {
  constexpr uint64_t kBase = 1'000'000'000'000'000'000u;  // 18 digits
  constexpr int kBaseDigits = 18;
  const auto padded = [](uint64_t group) {
    std::string digits = std::to_string(group);
    return std::string(kBaseDigits - digits.size(), '0') + digits;
  };
  std::array<uint64_t, kLimbs> rest = limbs_;

  std::string whole;
  const auto whole_is_zero = [&rest] {
    return std::all_of(rest.begin() + kFractionLimbs, rest.end(),
                       [](uint64_t l) { return l == 0; });
  };
  while (!whole_is_zero()) {
    Wide remainder = 0;
    for (size_t i = kLimbs; i-- > kFractionLimbs;) {
      const Wide part = remainder << 64 | rest[i];
      rest[i] = static_cast<uint64_t>(part / kBase);
      remainder = part % kBase;
    }
    whole.insert(0, padded(static_cast<uint64_t>(remainder)));
  }
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  if (whole.empty()) whole = "0";

  std::string fraction;
  const auto fraction_is_zero = [&rest] {
    return std::all_of(rest.begin(), rest.begin() + kFractionLimbs,
                       [](uint64_t l) { return l == 0; });
  };
  while (!fraction_is_zero()) {
    uint64_t carry = 0;
    for (size_t i = 0; i < kFractionLimbs; ++i) {
      const Wide product = Wide{rest[i]} * kBase + carry;
      rest[i] = static_cast<uint64_t>(product);
      carry = static_cast<uint64_t>(product >> 64);
    }
    fraction += padded(carry);
  }
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return fraction.empty() ? whole : whole + "." + fraction;
}

std::string ExactDecimal(double value) {
  Dyadic magnitude;
  magnitude.AddAbs(value);
  return (std::signbit(value) ? "-" : "") + magnitude.ToDecimal();
}

}  // namespace helx
