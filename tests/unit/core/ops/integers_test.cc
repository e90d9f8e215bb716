// Known answers are Annex A of docs/integer-operators.md.
#include "core/ops/integers.h"

#include <gtest/gtest.h>

#include <random>

#include "core/ops/corpus/stream.h"

namespace helx::ops {
namespace {

constexpr Rounding kAll[] = {Rounding::kFloor, Rounding::kHalfUp, Rounding::kHalfAway,
                             Rounding::kHalfEven};

TEST(RoundShift, AnnexAAtShiftTwo) {
  const struct {
    int p;
    int expected[4];
  } rows[] = {
      {-6, {-2, -1, -2, -2}}, {-5, {-2, -1, -1, -1}}, {-4, {-1, -1, -1, -1}},
      {-3, {-1, -1, -1, -1}}, {-2, {-1, 0, -1, 0}},   {-1, {-1, 0, 0, 0}},
      {0, {0, 0, 0, 0}},      {1, {0, 0, 0, 0}},      {2, {0, 1, 1, 0}},
      {3, {0, 1, 1, 1}},      {5, {1, 1, 1, 1}},      {6, {1, 2, 2, 2}},
  };
  for (const auto& row : rows) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(static_cast<int>(RoundShift(kAll[i], row.p, 2)), row.expected[i])
          << RoundingName(kAll[i]) << " of " << row.p;
    }
  }
}

TEST(RoundShift, AnnexAAtShift63) {
  const i128 unit = static_cast<i128>(1) << 62;
  const struct {
    int multiple;
    int expected[4];
  } rows[] = {{-3, {-2, -1, -2, -2}}, {-1, {-1, 0, -1, 0}}, {1, {0, 1, 1, 0}}, {3, {1, 2, 2, 2}}};
  for (const auto& row : rows) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(static_cast<int>(RoundShift(kAll[i], row.multiple * unit, 63)), row.expected[i]);
    }
  }
}

// The remainder of each rounding is within half a unit (one unit for floor), on the right side.
TEST(RoundShift, IsTheNearestByItsOwnRule) {
  for (int shift = 1; shift <= 6; ++shift) {
    const int unit = 1 << shift;
    for (int p = -300; p <= 300; ++p) {
      const int floor = static_cast<int>(RoundShift(Rounding::kFloor, p, shift));
      EXPECT_TRUE(p - floor * unit >= 0 && p - floor * unit < unit);
      for (const Rounding rounding :
           {Rounding::kHalfUp, Rounding::kHalfAway, Rounding::kHalfEven}) {
        const int q = static_cast<int>(RoundShift(rounding, p, shift));
        const int twice = 2 * (p - q * unit);
        ASSERT_LE(std::abs(twice), unit);
        if (std::abs(twice) != unit) continue;
        // A tie: up means the result lies above p.
        const bool up = q * unit > p;
        if (rounding == Rounding::kHalfUp) {
          EXPECT_TRUE(up);
        }
        if (rounding == Rounding::kHalfAway) {
          EXPECT_EQ(up, p > 0);
        }
        if (rounding == Rounding::kHalfEven) {
          EXPECT_EQ(q % 2, 0);
        }
      }
    }
  }
}

TEST(RoundShift, ShiftZeroIsTheValue) {
  const i128 far = (static_cast<i128>(1) << 126) - 1;
  for (const Rounding rounding : kAll) {
    EXPECT_TRUE(RoundShift(rounding, far, 0) == far);
    EXPECT_TRUE(RoundShift(rounding, -far, 0) == -far);
  }
}

// gemmlowp's SaturatingRoundingDoublingHighMul and RoundingDivideByPOT (section 2.2, note): the
// first nudges by the product's sign and divides towards zero, the second by the remainder.
TEST(RoundShift, ExpressesGemmlowpsRequantisation) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto a = static_cast<int32_t>(random());
    const auto b = static_cast<int32_t>(random() >> 33);
    const int64_t product = int64_t{a} * b;
    const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
    const int64_t high = (product + nudge) / (int64_t{1} << 31);
    ASSERT_EQ(static_cast<int64_t>(RoundShift(Rounding::kHalfUp, product, 31)), high);
    const int exponent = static_cast<int>(random() % 31) + 1;
    const int64_t mask = (int64_t{1} << exponent) - 1;
    const int64_t threshold = (mask >> 1) + (a < 0 ? 1 : 0);
    const int64_t divided = (int64_t{a} >> exponent) + ((a & mask) > threshold ? 1 : 0);
    ASSERT_EQ(static_cast<int64_t>(RoundShift(Rounding::kHalfAway, a, exponent)), divided);
  }
}

TEST(RoundDivide, HalfAwayFromZero) {
  // n, d, n/d rounded by hand.
  const int64_t rows[][3] = {{7, 2, 4},   {-7, 2, -4}, {5, 3, 2}, {-5, 3, -2}, {4, 3, 1},
                             {-4, 3, -1}, {0, 5, 0},   {1, 2, 1}, {-1, 2, -1}, {1, 3, 0}};
  for (const auto& row : rows) {
    EXPECT_EQ(static_cast<int64_t>(RoundDivide(row[0], row[1])), row[2]);
  }
}

TEST(FloorSqrt, BracketsItsSquare) {
  const i128 big = static_cast<i128>(1) << 64;
  for (const i128 v : {i128{0}, i128{1}, i128{2}, i128{3}, i128{4}, i128{99}, i128{100},
                       i128{kI64Max}, big - 1, big, big + 1, big + big - 1, big * (big / 4)}) {
    const i128 root = FloorSqrt(v);
    EXPECT_TRUE(root * root <= v && (root + 1) * (root + 1) > v) << ToText(v);
  }
}

TEST(ExpNeg, AnnexA) {
  const int64_t at8[][2] = {{0, 1073741824},  {1, 1069555727}, {128, 651257279}, {256, 395007571},
                            {1000, 21599169}, {5000, 4},       {8191, 0},        {8192, 0}};
  for (const auto& row : at8) EXPECT_EQ(ExpNeg(row[0], 8), row[1]) << row[0];
  const int64_t at0[][2] = {{0, 1073741824}, {1, 395007571}, {5, 7234815},
                            {21, 1},         {31, 0},        {32, 0}};
  for (const auto& row : at0) EXPECT_EQ(ExpNeg(row[0], 0), row[1]) << row[0];
  EXPECT_EQ(ExpNeg(1, 26), 1073741812);
  EXPECT_EQ(ExpNeg((int64_t{1} << 31) - 1, 26), 0);
}

TEST(ExpNeg, FallsAndStaysInRange) {
  for (const int f : {0, 4, 8}) {
    int64_t before = ExpNeg(0, f);
    EXPECT_EQ(before, int64_t{1} << 30);
    for (int64_t n = 1; n <= (int64_t{1} << (f + 5)) + 2; ++n) {
      const int64_t value = ExpNeg(n, f);
      ASSERT_LE(value, before);
      ASSERT_GE(value, 0);
      before = value;
    }
  }
}

TEST(ToText, EveryWidth) {
  EXPECT_EQ(ToText(0), "0");
  EXPECT_EQ(ToText(-1), "-1");
  EXPECT_EQ(ToText(kI64Min), "-9223372036854775808");
  // 2^126, by Python.
  EXPECT_EQ(ToText(static_cast<i128>(1) << 126), "85070591730234615865843651857942052864");
  EXPECT_EQ(ToText(-(static_cast<i128>(1) << 126)), "-85070591730234615865843651857942052864");
}

TEST(Stream, SplitMix64KnownAnswers) {
  Stream stream(0);
  EXPECT_EQ(stream.Next(), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(stream.Next(), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(stream.Next(), 0x06c45d188009454fULL);
}

TEST(Stream, DrawsWholeRanges) {
  // next * 2^64 / 2^64 = next: the full range gives the raw draw from its low end.
  Stream full(0);
  const uint64_t raw = 0xe220a8397b1dcdafULL;
  EXPECT_EQ(full.Draw(kI64Min, kI64Max), static_cast<int64_t>(raw - (uint64_t{1} << 63)));
  Stream one(0);
  EXPECT_EQ(one.Draw(7, 7), 7);
  EXPECT_EQ(one.Next(), 0x6e789e6aa1b965f4ULL) << "one Next() per draw, always";
}

}  // namespace
}  // namespace helx::ops
