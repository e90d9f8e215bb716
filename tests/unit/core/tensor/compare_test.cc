#include "core/tensor/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/base/splitmix64.h"
#include "core/tensor/compare_kernel.h"

namespace helx {
namespace {

using testing::ElementsAre;

template <typename T>
std::string Bytes(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

template <typename T>
TensorComparison Compare(DType dtype, std::initializer_list<T> actual,
                         std::initializer_list<T> reference, const Tolerance& tolerance = {},
                         NanPolicy nan = NanPolicy::kNeverMatch) {
  const TensorSpec spec{0, "t", dtype, {static_cast<int64_t>(actual.size())}};
  const auto comparison = CompareTensor(spec, Bytes(actual), Bytes(reference), tolerance, nan);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.ok() ? *comparison : TensorComparison();
}

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

TEST(CompareTensor, ZeroToleranceByDefault) {
  const TensorComparison same = Compare<int8_t>(DType::kInt8, {1, -128, 127}, {1, -128, 127});
  EXPECT_TRUE(same.matched());
  EXPECT_EQ(same.elements, 3);
  EXPECT_EQ(*same.max_abs_error, "0");
  EXPECT_FALSE(same.first_difference.has_value());
  EXPECT_EQ(Compare<int8_t>(DType::kInt8, {1, 2}, {1, 3}).mismatches, 1);
}

TEST(CompareTensor, StoredIntegersAtTheirEnds) {
  const TensorComparison c = Compare<int8_t>(DType::kInt8, {-128, 127}, {127, -128}, {254, 0});
  EXPECT_EQ(c.mismatches, 2);
  EXPECT_EQ(*c.max_abs_error, "255");
  EXPECT_EQ(c.first_difference->actual, "-128");
  EXPECT_EQ(c.first_difference->reference, "127");
  EXPECT_TRUE(Compare<int8_t>(DType::kInt8, {-128, 127}, {127, -128}, {255, 0}).matched());
  EXPECT_EQ(*Compare<uint8_t>(DType::kUint8, {0}, {255}).max_abs_error, "255");
}

// abs(10 - 8) = 2 against 1 + 0.125 x 8 = 2: the bound itself matches; 1.9999999999999998 + ...
// does not.
TEST(CompareTensor, BoundIsInclusive) {
  EXPECT_TRUE(Compare<int32_t>(DType::kInt32, {10}, {8}, {1, 0.125}).matched());
  EXPECT_TRUE(Compare<int32_t>(DType::kInt32, {10}, {8}, {2, 0}).matched());
  EXPECT_FALSE(Compare<int32_t>(DType::kInt32, {10}, {8}, {std::nextafter(2.0, 0.0), 0}).matched());
  EXPECT_FALSE(
      Compare<int32_t>(DType::kInt32, {10}, {8}, {1, std::nextafter(0.125, 0.0)}).matched());
  EXPECT_TRUE(Compare<float>(DType::kFloat32, {10}, {8}, {1, 0.125}).matched());
  EXPECT_FALSE(
      Compare<float>(DType::kFloat32, {10}, {8}, {1, std::nextafter(0.125, 0.0)}).matched());
}

// 0.1 as a double is a little more than 1/10, so 0.1 x 10 is a little more than 1, though doubles
// round it to 1.
TEST(CompareTensor, NoRoundingOfTheProduct) {
  // abs(0 - 10) <= 9 + 0.1 x 10 holds exactly; with the double below 0.1 it does not, though both
  // round to 10.
  EXPECT_TRUE(Compare<int32_t>(DType::kInt32, {0}, {10}, {9, 0.1}).matched());
  EXPECT_FALSE(Compare<int32_t>(DType::kInt32, {0}, {10}, {9, std::nextafter(0.1, 0.0)}).matched());
  EXPECT_EQ(9 + std::nextafter(0.1, 0.0) * 10, 10.0) << "what a double would have said";
}

TEST(CompareTensor, IntegersBeyondTwoTo53) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_FALSE(Compare<int64_t>(DType::kInt64, {big}, {big - 1}).matched());
  EXPECT_EQ(*Compare<int64_t>(DType::kInt64, {big}, {big - 1}).max_abs_error, "1");
  const TensorComparison ends =
      Compare<int64_t>(DType::kInt64, {INT64_MIN}, {INT64_MAX}, {0x1p63, 0});
  EXPECT_EQ(*ends.max_abs_error, "18446744073709551615");
  EXPECT_EQ(ends.first_difference->actual, "-9223372036854775808");
  EXPECT_FALSE(ends.matched());
  EXPECT_TRUE(Compare<int64_t>(DType::kInt64, {INT64_MIN}, {INT64_MAX}, {0x1p64, 0}).matched());
  // relative 1 of the reference 2^53 + 1 allows exactly that difference.
  EXPECT_TRUE(Compare<int64_t>(DType::kInt64, {0}, {big}, {0, 1}).matched());
  EXPECT_FALSE(Compare<int64_t>(DType::kInt64, {-1}, {big}, {0, 1}).matched());
}

TEST(CompareTensor, Infinities) {
  const TensorComparison c = Compare<float>(DType::kFloat32, {kInf, -kInf, kInf, 1, kInf},
                                            {kInf, -kInf, -kInf, kInf, 1}, {1e308, 1e308});
  EXPECT_EQ(c.mismatches, 3);
  EXPECT_EQ(c.nonfinite_pairs, 5);
  EXPECT_FALSE(c.max_abs_error.has_value());
  EXPECT_THAT(c.first_difference->position, ElementsAre(2));
  EXPECT_EQ(c.first_difference->actual, "0000807f");
  EXPECT_EQ(c.first_difference->reference, "000080ff");
}

TEST(CompareTensor, NanPolicies) {
  const auto nan_case = [](NanPolicy policy) {
    return Compare<float>(DType::kFloat32, {kNan, kNan, 1, 2}, {kNan, 1, kNan, 2}, {}, policy);
  };
  EXPECT_EQ(nan_case(NanPolicy::kNeverMatch).mismatches, 3);
  EXPECT_EQ(nan_case(NanPolicy::kMatchBoth).mismatches, 2);
  EXPECT_EQ(nan_case(NanPolicy::kMatchBoth).nonfinite_pairs, 3);
  EXPECT_EQ(*nan_case(NanPolicy::kMatchBoth).max_abs_error, "0");
  // Payload and sign do not count.
  EXPECT_TRUE(
      Compare<uint16_t>(DType::kFloat16, {0x7e00}, {0xfc01}, {}, NanPolicy::kMatchBoth).matched());
}

TEST(CompareTensor, FloatExtremes) {
  // Python: format(abs(Decimal(a) - Decimal(r)), "f") for a = float32(3.4e38), r = float32(1e-45).
  const TensorComparison c = Compare<float>(DType::kFloat32, {3.4e38f, 0}, {1e-45f, 1});
  EXPECT_EQ(*c.max_abs_error,
            "339999995214436424907732413799364296703.99999999999999999999999999999999999999999999"
            "859870153567518292907627041671008386871973805812348422824293171611020891731413939851"
            "336181163787841796875");
  // -0 equals 0.
  EXPECT_TRUE(Compare<float>(DType::kFloat32, {-0.0f}, {0.0f}).matched());
  EXPECT_FALSE(Compare<float>(DType::kFloat32, {0x1p-149f}, {0.0f}).matched());
  EXPECT_TRUE(Compare<float>(DType::kFloat32, {0x1p-149f}, {0.0f}, {0x1p-149, 0}).matched());
  EXPECT_FALSE(Compare<float>(DType::kFloat32, {0x1p-149f}, {0.0f}, {0x1p-150, 0}).matched());
}

// Two differences that round to the same double, 2^100: the exact greater one must win whichever
// comes first.
TEST(CompareTensor, MaximumBelowRounding) {
  const float huge = 0x1p100f;
  for (const bool reversed : {false, true}) {
    const float r0 = reversed ? -1.0f : 1.0f;
    const TensorComparison c = Compare<float>(DType::kFloat32, {huge, huge}, {r0, -r0}, {1e300, 0});
    // 2^100 + 1
    EXPECT_EQ(*c.max_abs_error, "1267650600228229401496703205377");
  }
}

// Random bits, every eighth pair equal, with lengths that leave every possible rest to the scalar
// code.
TEST(CompareTensorWith, VectorsAndScalarsAgree) {
  if (BestCompareIsa() == CompareIsa::kScalar) GTEST_SKIP() << "this processor has no AVX2";
  SplitMix64 random(3);
  const Tolerance tolerances[] = {{0, 0},       {1, 0},     {1, 0.02},      {0, 0.5},
                                  {0.1, 1e-3},  {300, 0},   {0, 1},         {5e-324, 5e-324},
                                  {1e300, 1e9}, {0, 1e-30}, {0x1p-149, 0},  {2, 1e-16}};
  for (int i = 0; i < 4000; ++i) {
    TensorSpec spec{0, "t", static_cast<DType>(random.Next() % 8), {}};
    spec.shape = {1 + static_cast<int64_t>(random.Next() % 700)};
    std::string actual(static_cast<size_t>(*ByteSize(spec)), '\0');
    std::string reference = actual;
    const uint64_t style = random.Next() % 3;
    for (size_t k = 0; k < actual.size(); ++k) {
      const uint64_t draw = random.Next();
      // Any byte, bytes that differ little, or the same in the upper bytes of an element.
      reference[k] = static_cast<char>(draw);
      actual[k] = static_cast<char>(style == 0 ? draw >> 8 : draw + (draw >> 8) % 3);
      if (style == 2 && k % DTypeSize(spec.dtype) != 0) actual[k] = reference[k];
      if (k / DTypeSize(spec.dtype) % 8 == 0) actual[k] = reference[k];
      if (spec.dtype == DType::kBool) {
        actual[k] &= 1;
        reference[k] &= 1;
      }
    }
    const Tolerance& tolerance = tolerances[random.Next() % std::size(tolerances)];
    const NanPolicy nan = random.Next() % 2 ? NanPolicy::kMatchBoth : NanPolicy::kNeverMatch;
    const auto scalar =
        CompareTensorWith(CompareIsa::kScalar, spec, actual, reference, tolerance, nan);
    const auto vector =
        CompareTensorWith(CompareIsa::kAvx2, spec, actual, reference, tolerance, nan);
    ASSERT_TRUE(scalar.ok() && vector.ok());
    ASSERT_EQ(vector->mismatches, scalar->mismatches) << SpecText(spec) << " " << i;
    ASSERT_EQ(vector->nonfinite_pairs, scalar->nonfinite_pairs) << SpecText(spec) << " " << i;
    ASSERT_EQ(vector->max_abs_error, scalar->max_abs_error) << SpecText(spec) << " " << i;
    ASSERT_EQ(vector->first_difference.has_value(), scalar->first_difference.has_value());
    if (scalar->first_difference) {
      ASSERT_EQ(vector->first_difference->element, scalar->first_difference->element);
    }
  }
}

// Distances on the bound of a tolerance that doubles hold exactly, for every element.
TEST(CompareTensorWith, BoundsOfRelativeTolerances) {
  const TensorSpec spec{0, "t", DType::kFloat32, {1 << 20}};
  std::vector<float> actual(1 << 20, 1.5f), reference(1 << 20, 1.0f);
  const auto bytes = [](const std::vector<float>& v) {
    return std::string_view(reinterpret_cast<const char*>(v.data()), v.size() * 4);
  };
  const auto bound =
      CompareTensor(spec, bytes(actual), bytes(reference), {0, 0.5}, NanPolicy::kNeverMatch);
  EXPECT_EQ(bound->mismatches, 0);
  const auto below = CompareTensor(spec, bytes(actual), bytes(reference),
                                   {0, std::nextafter(0.5, 0.0)}, NanPolicy::kNeverMatch);
  EXPECT_EQ(below->mismatches, 1 << 20);
}

TEST(CompareTensor, PositionInTheShape) {
  const TensorSpec spec{0, "t", DType::kInt16, {2, 3, 4}};
  std::string actual(48, '\0');
  std::string reference = actual;
  // Element 17 = 1 x 12 + 1 x 4 + 1; 300 = 0x012c.
  actual[34] = 0x2c;
  actual[35] = 0x01;
  const auto c = CompareTensor(spec, actual, reference, {}, NanPolicy::kNeverMatch);
  ASSERT_TRUE(c.ok());
  EXPECT_EQ(c->first_difference->element, 17);
  EXPECT_THAT(c->first_difference->position, ElementsAre(1, 1, 1));
  EXPECT_EQ(c->first_difference->actual, "300");
  const auto scalar = CompareTensor({0, "s", DType::kBool, {}}, std::string(1, 1),
                                    std::string(1, 0), {}, NanPolicy::kNeverMatch);
  EXPECT_TRUE(scalar->first_difference->position.empty());
}

TEST(CompareTensor, RefusesWhatIsNotStorage) {
  const TensorSpec flag{0, "f", DType::kBool, {1}};
  const auto compare = [&flag](const std::string& a, const std::string& r, Tolerance t) {
    return CompareTensor(flag, a, r, t, NanPolicy::kNeverMatch).status();
  };
  EXPECT_EQ(ErrorCodeOf(compare("\x02", "\x01", {})), "boolean_byte");
  EXPECT_EQ(ErrorCodeOf(compare("\x01", "", {})), "wrong_length");
  EXPECT_EQ(ErrorCodeOf(compare("\x01", "\x01", {-1, 0})), "negative_number");
  EXPECT_EQ(ErrorCodeOf(compare("\x01", "\x01", {0, NAN})), "not_finite");
  EXPECT_EQ(ErrorCodeOf(compare("\x01", "\x01", {INFINITY, 0})), "not_finite");
  EXPECT_EQ(compare("\x01", "\x01", {0, -INFINITY}).message(),
            "the relative tolerance: found -inf; allowed: a finite number >= 0");
}

}  // namespace
}  // namespace helx
