#include "core/ops/requant.h"

#include <algorithm>

#include "core/ops/simd.h"

namespace helx::ops {
namespace {

template <typename T, typename Acc>
void RequantIn(const Params& p, size_t record, const Acc* acc, int64_t count, int64_t* y) {
  const int64_t mult = p.mult[record];
  const int64_t post_bias = p.post_bias[record];
  const int shift = static_cast<int>(p.shift[record]);
  const Rounding rounding = p.rounding();
  for (int64_t i = 0; i < count; ++i) {
    const T q = RoundShiftIn<T>(rounding, static_cast<T>(acc[i]) * mult, shift);
    y[i] = static_cast<int64_t>(q + post_bias);
  }
}

bool Fits32(i128 v) { return v >= kI32Min && v <= kI32Max; }

bool Within(Interval v, i128 limit) { return v.lo >= -limit && v.hi <= limit; }

}  // namespace

Requant::Requant(const Params& p, const NodeFacts& facts, Interval acc) : p_(p) {
  const Interval product = facts.bounds->Named("p");
  narrow_ = Within(product, kNarrowProduct) &&
            *std::max_element(p.shift.begin(), p.shift.end()) <= kNarrowShift;
  pairs_ = narrow_ && HavePairs() && Within(product, kPairProduct) &&
           p.rounding() != Rounding::kHalfEven && Fits32(acc.lo) && Fits32(acc.hi);
}

template <typename Acc>
void Requant::ApplyRecord(int64_t channel, const Acc* acc, int64_t count, int64_t* y) const {
  const size_t record = p_.n == 1 ? 0 : channel;
  if (pairs_ && Fits32(p_.mult[record]) && Fits32(p_.post_bias[record])) {
    RequantPairs(p_.rounding(), p_.mult[record], static_cast<int>(p_.shift[record]),
                 p_.post_bias[record], acc, count, y);
  } else if (narrow_) {
    RequantIn<int64_t>(p_, record, acc, count, y);
  } else {
    RequantIn<i128>(p_, record, acc, count, y);
  }
}

void Requant::Apply(int64_t channel, const int32_t* acc, int64_t count, int64_t* y) const {
  ApplyRecord(channel, acc, count, y);
}

void Requant::Apply(int64_t channel, const int64_t* acc, int64_t count, int64_t* y) const {
  ApplyRecord(channel, acc, count, y);
}

}  // namespace helx::ops
