#include "worker/engine/fixed_point.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace helx::engine {
namespace {

TEST(QuantizeMultiplier, GivesMantissaAndExponent) {
  struct Case {
    double real;
    int32_t multiplier;
    int32_t shift;
  };
  // real = mantissa * 2^shift with mantissa in [1/2, 1); multiplier = round(mantissa * 2^31).
  const Case cases[] = {
      {0.5, 1 << 30, 0},
      {1.0, 1 << 30, 1},
      {0.75, 1610612736, 0},           // 3/4 * 2^31
      {0.0001, 1759218604, -13},       // 0.8192 * 2^31 = 1759218604.4
      {1 - std::ldexp(1.0, -40), 1 << 30, 1},  // the mantissa rounds up to 1
      {std::ldexp(1.0, -32), 1 << 30, -31},
      {std::ldexp(1.0, -33), 0, 0},    // too small: flushed to 0
      {0.0, 0, 0},
      {std::ldexp(1.0, 29), 1 << 30, 30},
  };
  for (const Case& c : cases) {
    const std::optional<FixedMultiplier> fixed = QuantizeMultiplier(c.real);
    ASSERT_TRUE(fixed) << c.real;
    EXPECT_EQ(fixed->multiplier, c.multiplier) << c.real;
    EXPECT_EQ(fixed->shift, c.shift) << c.real;
  }
}

TEST(QuantizeMultiplier, RefusesWhat32BitsCannotApply) {
  EXPECT_FALSE(QuantizeMultiplier(std::ldexp(1.0, 30)));
  EXPECT_FALSE(QuantizeMultiplier(-0.5));
  EXPECT_FALSE(QuantizeMultiplier(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(QuantizeMultiplier(std::numeric_limits<double>::quiet_NaN()));
}

TEST(RoundShift, RoundsHalvesAwayFromZero) {
  EXPECT_EQ(RoundShift(3, 1), 2);     // 1.5
  EXPECT_EQ(RoundShift(-3, 1), -2);   // -1.5
  EXPECT_EQ(RoundShift(-5, 2), -1);   // -1.25
  EXPECT_EQ(RoundShift(-6, 2), -2);   // -1.5
  EXPECT_EQ(RoundShift(-7, 0), -7);
  EXPECT_EQ(RoundShift(std::numeric_limits<int32_t>::max(), 31), 1);
  EXPECT_EQ(RoundShift(std::numeric_limits<int32_t>::min(), 31), -1);
}

TEST(HighMul, RoundsHalvesUpwards) {
  EXPECT_EQ(HighMul(1, 1 << 30), 1);    // 0.5
  EXPECT_EQ(HighMul(-1, 1 << 30), 0);   // -0.5
  EXPECT_EQ(HighMul(-3, 1 << 30), -1);  // -1.5
  EXPECT_EQ(HighMul(std::numeric_limits<int32_t>::min(), 1 << 30), -(1 << 30));
}

model::Tensor Int8Output(float scale, int64_t zero_point) {
  model::Tensor tensor;
  tensor.type = model::TensorType::INT8;
  tensor.shape = {1};
  tensor.quantization.scale = {scale};
  tensor.quantization.zero_point = {zero_point};
  return tensor;
}

TEST(ActivationRange, QuantisesTheLimits) {
  using Activation = tflite::ActivationFunctionType;
  // 6 / 0.05 = 120; -100 + 120 = 20.
  const std::optional<IntegerRange> relu6 = ActivationRange(Activation::RELU6, Int8Output(0.05f, -100));
  ASSERT_TRUE(relu6);
  EXPECT_EQ(relu6->lowest, -100);
  EXPECT_EQ(relu6->highest, 20);
  // 1 / 0.3 = 3.33: rounds to 3.
  const std::optional<IntegerRange> unit =
      ActivationRange(Activation::RELU_N1_TO_1, Int8Output(0.3f, 10));
  ASSERT_TRUE(unit);
  EXPECT_EQ(unit->lowest, 7);
  EXPECT_EQ(unit->highest, 13);
  EXPECT_FALSE(ActivationRange(Activation::TANH, Int8Output(0.3f, 10)));
  EXPECT_FALSE(ActivationRange(Activation::RELU6, Int8Output(1e-38f, 0)));
}

TEST(SoftmaxExpTable, FollowsTheExponential) {
  for (double scale : {0.001, 0.05, 0.25, 3.0}) {
    const auto table = SoftmaxExpTable(1.0, scale);
    ASSERT_TRUE(table);
    ASSERT_LE(table->size(), 256u);
    for (size_t d = 0; d < table->size(); ++d) {
      // The polynomial's remainder is below (1/8)^5 / 5! = 2.6e-7, of each factor 2^-31.
      EXPECT_NEAR(std::ldexp((*table)[d], -31), std::exp(-static_cast<double>(d) * scale), 3e-7)
          << scale << " " << d;
    }
  }
}

TEST(SoftmaxExpTable, IsUndefinedForTinyScales) {
  EXPECT_FALSE(SoftmaxExpTable(1.0, std::ldexp(1.0, -26)));
  EXPECT_TRUE(SoftmaxExpTable(1.0, std::ldexp(1.0, -25)));
  EXPECT_EQ(SoftmaxExpTable(1.0, 1e30)->size(), 1u);
}

}  // namespace
}  // namespace helx::engine
