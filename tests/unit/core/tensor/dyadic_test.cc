#include "core/tensor/dyadic.h"

#include <gtest/gtest.h>

#include <cfloat>

namespace helx {
namespace {

// Expected values: Python 3.11, format(decimal.Decimal(x), "f") with a precision of 2000 digits.
TEST(Dyadic, ExactDecimals) {
  EXPECT_EQ(ExactDecimal(0.0), "0");
  EXPECT_EQ(ExactDecimal(-0.0), "-0");
  EXPECT_EQ(ExactDecimal(1e-3), "0.001000000000000000020816681711721685132943093776702880859375");
  EXPECT_EQ(ExactDecimal(-1000000000000000000.0), "-1000000000000000000");
  EXPECT_EQ(ExactDecimal(FLT_MAX), "340282346638528859811704183484516925440");
  EXPECT_EQ(ExactDecimal(0x1p-149),
            "0.00000000000000000000000000000000000000000000140129846432481707092372958328991613128"
            "026194187651577175706828388979108268586060148663818836212158203125");
}

TEST(Dyadic, ExtremeProducts) {
  // DBL_MAX x FLT_MAX and the least products: both ends of the fixed point.
  Dyadic high;
  high.AddProductAbs(DBL_MAX, FLT_MAX);
  Dyadic low;
  low.AddProductAbs(0x1p-1074, 0x1p-149);
  EXPECT_FALSE(low.IsZero());
  EXPECT_GT(high.Compare(low), 0);
  Dyadic same;
  same.Add(1, -1223);
  EXPECT_EQ(low.Compare(same), 0);
  // (2^53 - 1) 2^971 x (2^24 - 1) 2^104 = ((2^53 - 1)(2^24 - 1)) 2^1075
  Dyadic product;
  product.Add(static_cast<unsigned __int128>((1ull << 53) - 1) * ((1ull << 24) - 1), 1075);
  EXPECT_EQ(high.Compare(product), 0);
}

TEST(Dyadic, CarriesAndBorrows) {
  Dyadic value;
  value.Add(~static_cast<unsigned __int128>(0), -64);
  value.Add(1, -64);  // 2^64 exactly
  EXPECT_EQ(value.ToDecimal(), "18446744073709551616");
  value.SubtractAbs(0x1p-64);
  // 2^64 - 2^-64, from Python's fractions.
  EXPECT_EQ(
      value.ToDecimal(),
      "18446744073709551615.9999999999999999999457898913757247782996273599565029144287109375");
}

}  // namespace
}  // namespace helx
