// Kernels against the operators' definitions, evaluated directly in 128-bit integers over random shapes and extremes.
extern "C" {
#include "helx_arith.h"
#include "helx_kernels.h"
}

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/splitmix64.h"

namespace helx {
namespace {

using Wide = __int128;

// The definition of TFLite's rounding (gemmlowp, fixedpoint.h): doubling high multiplication with the nudge of the product's
// sign and truncating division, then division by a power of two with halves away from zero.
int64_t DefinedRequantize(int64_t x, int32_t multiplier, int32_t shift) {
  const Wide left = shift > 0 ? Wide{1} << shift : 1;
  const Wide product = static_cast<Wide>(static_cast<int32_t>(x * static_cast<int64_t>(left))) * multiplier;
  const Wide nudge = product >= 0 ? Wide{1} << 30 : 1 - (Wide{1} << 30);
  const Wide high = (product + nudge) / (Wide{1} << 31);
  const Wide divisor = shift < 0 ? Wide{1} << -shift : 1;
  const Wide magnitude = high < 0 ? -high : high;
  const Wide rounded = (2 * magnitude + divisor) / (2 * divisor);
  return static_cast<int64_t>(high < 0 ? -rounded : rounded);
}

class Random {
 public:
  explicit Random(uint64_t seed) : generator_(seed) {}
  int32_t In(int32_t lowest, int32_t highest) {
    return lowest + static_cast<int32_t>(generator_.Next() %
                                         (static_cast<uint64_t>(highest - lowest) + 1));
  }
  // Every eighth value an extreme.
  int8_t Int8() {
    const uint64_t bits = generator_.Next();
    if (bits % 16 == 0) return -128;
    if (bits % 16 == 1) return 127;
    return static_cast<int8_t>(bits >> 32);
  }
  std::vector<int8_t> Int8s(size_t count) {
    std::vector<int8_t> values(count);
    for (int8_t& v : values) v = Int8();
    return values;
  }
  int32_t Multiplier() { return In(1 << 30, std::numeric_limits<int32_t>::max()); }

 private:
  SplitMix64 generator_;
};

TEST(Requantize, EqualsItsDefinition) {
  Random random(1);
  const int32_t extremes[] = {0, 1, -1, std::numeric_limits<int32_t>::max(),
                              std::numeric_limits<int32_t>::min(), 1 << 30, -(1 << 30)};
  for (int i = 0; i < 200'000; ++i) {
    const int32_t x = i % 8 == 0 ? extremes[(i / 8) % 7]
                                 : random.In(-(1 << 30), 1 << 30) >> random.In(0, 30);
    const int32_t multiplier = random.Multiplier();
    const int32_t shift = random.In(-31, 0);
    ASSERT_EQ(helx_requantize(x, multiplier, shift), DefinedRequantize(x, multiplier, shift))
        << x << " " << multiplier << " " << shift;
  }
  for (int shift = 1; shift <= 20; ++shift) {
    for (int32_t x = -300; x <= 300; ++x) {
      ASSERT_EQ(helx_requantize(x, 1518500250, shift), DefinedRequantize(x, 1518500250, shift));
    }
  }
}

struct Convolution {
  helx_conv_s8_params params{};
  std::vector<int8_t> input, weights;
  std::vector<helx_channel> channels;

  int32_t Depth(bool depthwise) const { return depthwise ? 1 : params.in_c / params.groups; }
  int8_t Weight(bool depthwise, int32_t c, int32_t ky, int32_t kx, int32_t k) const {
    if (depthwise) return weights[(ky * params.filter_w + kx) * params.out_c + c];
    return weights[((c * params.filter_h + ky) * params.filter_w + kx) * Depth(false) + k];
  }
};

Convolution RandomConvolution(Random& random, bool depthwise) {
  Convolution c;
  helx_conv_s8_params& p = c.params;
  p.batches = random.In(1, 2);
  p.groups = depthwise ? 1 : random.In(1, 3);
  p.multiplier = depthwise ? random.In(1, 3) : 1;
  p.in_c = p.groups * random.In(1, 9);
  p.out_c = depthwise ? p.in_c * p.multiplier : p.groups * random.In(1, 9);
  p.in_h = random.In(1, 8);
  p.in_w = random.In(1, 8);
  p.filter_h = random.In(1, 4);
  p.filter_w = random.In(1, 4);
  p.stride_h = random.In(1, 3);
  p.stride_w = random.In(1, 3);
  p.dilation_h = random.In(1, 2);
  p.dilation_w = random.In(1, 2);
  p.pad_h = random.In(0, (p.filter_h - 1) * p.dilation_h);
  p.pad_w = random.In(0, (p.filter_w - 1) * p.dilation_w);
  p.out_h = (p.in_h + p.pad_h - 1) / p.stride_h + 1;
  p.out_w = (p.in_w + p.pad_w - 1) / p.stride_w + 1;
  p.input_zero_point = random.Int8();
  p.output_zero_point = random.Int8();
  p.lowest = random.In(-128, 0);
  p.highest = random.In(1, 127);
  c.input = random.Int8s(static_cast<size_t>(p.batches) * p.in_h * p.in_w * p.in_c);
  const size_t per_channel = static_cast<size_t>(p.filter_h) * p.filter_w * c.Depth(depthwise);
  c.weights = random.Int8s(per_channel * p.out_c);
  for (int32_t out = 0; out < p.out_c; ++out) {
    int32_t sum = 0;
    for (int32_t ky = 0; ky < p.filter_h; ++ky) {
      for (int32_t kx = 0; kx < p.filter_w; ++kx) {
        for (int32_t k = 0; k < c.Depth(depthwise); ++k) sum += c.Weight(depthwise, out, ky, kx, k);
      }
    }
    const int32_t bias = random.In(-100'000, 100'000);
    c.channels.push_back({bias - p.input_zero_point * sum, bias, random.Multiplier(),
                          random.In(-12, 1)});
  }
  p.weights = c.weights.data();
  p.channels = c.channels.data();
  return c;
}

// sum over the taps inside the image of weight * (x - zero_point), plus the bias.
int8_t DefinedConvolution(const Convolution& c, bool depthwise, int32_t batch, int32_t oy,
                          int32_t ox, int32_t out) {
  const helx_conv_s8_params& p = c.params;
  const int32_t depth = c.Depth(depthwise);
  const int32_t first = depthwise ? out / p.multiplier : out / (p.out_c / p.groups) * depth;
  int64_t sum = c.channels[out].border_bias;
  for (int32_t ky = 0; ky < p.filter_h; ++ky) {
    for (int32_t kx = 0; kx < p.filter_w; ++kx) {
      const int32_t y = oy * p.stride_h - p.pad_h + ky * p.dilation_h;
      const int32_t x = ox * p.stride_w - p.pad_w + kx * p.dilation_w;
      if (y < 0 || y >= p.in_h || x < 0 || x >= p.in_w) continue;
      for (int32_t k = 0; k < depth; ++k) {
        const int32_t v = c.input[((batch * p.in_h + y) * p.in_w + x) * p.in_c + first + k];
        sum += c.Weight(depthwise, out, ky, kx, k) * (v - p.input_zero_point);
      }
    }
  }
  const int64_t y = DefinedRequantize(sum, c.channels[out].multiplier, c.channels[out].shift);
  return static_cast<int8_t>(std::clamp<int64_t>(y + p.output_zero_point, p.lowest, p.highest));
}

void CheckConvolutions(bool depthwise) {
  Random random(depthwise ? 3 : 2);
  for (int round = 0; round < 400; ++round) {
    const Convolution c = RandomConvolution(random, depthwise);
    const helx_conv_s8_params& p = c.params;
    std::vector<int8_t> output(static_cast<size_t>(p.batches) * p.out_h * p.out_w * p.out_c);
    (depthwise ? helx_depthwise_conv_s8 : helx_conv_s8)(&p, c.input.data(), output.data());
    size_t i = 0;
    for (int32_t batch = 0; batch < p.batches; ++batch) {
      for (int32_t y = 0; y < p.out_h; ++y) {
        for (int32_t x = 0; x < p.out_w; ++x) {
          for (int32_t out = 0; out < p.out_c; ++out, ++i) {
            ASSERT_EQ(output[i], DefinedConvolution(c, depthwise, batch, y, x, out))
                << "round " << round << " at " << y << ", " << x << ", channel " << out;
          }
        }
      }
    }
  }
}

TEST(ConvS8, EqualsItsDefinition) { CheckConvolutions(false); }
TEST(DepthwiseConvS8, EqualsItsDefinition) { CheckConvolutions(true); }

TEST(FullyConnectedS8, EqualsItsDefinition) {
  Random random(4);
  for (int round = 0; round < 300; ++round) {
    helx_fully_connected_s8_params p{};
    p.rows = random.In(1, 3);
    p.in_depth = random.In(1, 40);
    p.out_depth = random.In(1, 11);
    p.multiplier = random.Multiplier();
    p.shift = random.In(-12, 2);
    p.output_zero_point = random.Int8();
    p.lowest = -128;
    p.highest = random.In(0, 127);
    const std::vector<int8_t> weights = random.Int8s(static_cast<size_t>(p.in_depth) * p.out_depth);
    const std::vector<int8_t> input = random.Int8s(static_cast<size_t>(p.in_depth) * p.rows);
    std::vector<int32_t> bias(p.out_depth);
    std::vector<helx_scale> scales(p.out_depth);
    for (int32_t& b : bias) b = random.In(-50'000, 50'000);
    for (helx_scale& s : scales) s = {random.Multiplier(), random.In(-12, 2)};
    p.weights = weights.data();
    p.bias = bias.data();
    p.scales = round % 2 == 0 ? scales.data() : nullptr;
    std::vector<int8_t> output(static_cast<size_t>(p.rows) * p.out_depth);
    helx_fully_connected_s8(&p, input.data(), output.data());
    for (int32_t row = 0; row < p.rows; ++row) {
      for (int32_t c = 0; c < p.out_depth; ++c) {
        int64_t sum = bias[c];
        for (int32_t k = 0; k < p.in_depth; ++k) {
          sum += weights[c * p.in_depth + k] * input[row * p.in_depth + k];
        }
        const int64_t y = p.scales ? DefinedRequantize(sum, scales[c].multiplier, scales[c].shift)
                                   : DefinedRequantize(sum, p.multiplier, p.shift);
        ASSERT_EQ(output[row * p.out_depth + c],
                  std::clamp<int64_t>(y + p.output_zero_point, p.lowest, p.highest));
      }
    }
  }
}

TEST(AveragePoolS8, RoundsHalvesAwayFromZero) {
  helx_pool_params p{};
  p.batches = 1;
  p.in_h = 1;
  p.in_w = 4;
  p.channels = 1;
  p.out_h = 1;
  p.out_w = 2;
  p.filter_h = 1;
  p.filter_w = 2;
  p.stride_h = 1;
  p.stride_w = 2;
  p.lowest = -128;
  p.highest = 127;
  const int8_t input[4] = {1, 2, -1, -2};
  int8_t output[2];
  helx_average_pool_s8(&p, input, output);
  EXPECT_EQ(output[0], 2);   // 1.5
  EXPECT_EQ(output[1], -2);  // -1.5
}

TEST(AveragePoolS8, AveragesOnlyTapsInsideTheImage) {
  helx_pool_params p{};
  p.batches = 1;
  p.in_h = 2;
  p.in_w = 2;
  p.channels = 2;
  p.out_h = 2;
  p.out_w = 2;
  p.filter_h = 3;
  p.filter_w = 3;
  p.stride_h = 1;
  p.stride_w = 1;
  p.pad_h = 1;
  p.pad_w = 1;
  p.lowest = -128;
  p.highest = 127;
  // Every 3x3 window covers the whole 2x2 image: mean of 4, 8, 12, 16 is 10; of -4, -4, -4, -8 is -5.
  const int8_t input[8] = {4, -4, 8, -4, 12, -4, 16, -8};
  int8_t output[8];
  helx_average_pool_s8(&p, input, output);
  for (int i = 0; i < 8; i += 2) {
    EXPECT_EQ(output[i], 10);
    EXPECT_EQ(output[i + 1], -5);
  }
}

TEST(AddS8, BroadcastsAndEqualsItsDefinition) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    helx_sum_params p{};
    // a[2][3][4] + b[3][1] -> [2][3][4]
    p.shape = {3, {2, 3, 4}, {12, 4, 1}, {0, 1, 0}};
    p.left_shift = 20;
    p.a_zero_point = random.Int8();
    p.b_zero_point = random.Int8();
    p.output_zero_point = random.Int8();
    p.a_multiplier = random.Multiplier();
    p.b_multiplier = random.Multiplier();
    p.output_multiplier = random.Multiplier();
    p.a_shift = random.In(-5, 0);
    p.b_shift = 0;
    p.output_shift = random.In(-20, -16);
    p.lowest = -128;
    p.highest = 127;
    const std::vector<int8_t> a = random.Int8s(24);
    const std::vector<int8_t> b = random.Int8s(3);
    std::vector<int8_t> output(24);
    helx_add_s8(&p, a.data(), b.data(), output.data());
    for (int i = 0; i < 24; ++i) {
      const int64_t x = DefinedRequantize((a[i] - p.a_zero_point) * (int64_t{1} << 20), p.a_multiplier, p.a_shift);
      const int64_t y = DefinedRequantize((b[i / 4 % 3] - p.b_zero_point) * (int64_t{1} << 20),
                                          p.b_multiplier, p.b_shift);
      const int64_t sum = DefinedRequantize(x + y, p.output_multiplier, p.output_shift);
      ASSERT_EQ(output[i], std::clamp<int64_t>(sum + p.output_zero_point, -128, 127));
    }
  }
}

TEST(MeanS8, WalksSeparateAxes) {
  // [2][3][2], mean over dimensions 0 and 2; multiplier 2^30 with shift -1 is a quarter: 1/4 of each sum of 4.
  helx_mean_params p{};
  p.shape = {1, {3}, {2}, 2, {2, 2}, {6, 1}};
  p.sum_offset = 0;
  p.multiplier = 1 << 30;
  p.shift = -1;
  p.output_zero_point = 5;
  const int8_t input[12] = {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16};
  int8_t output[3];
  helx_mean_s8(&p, input, output);
  EXPECT_EQ(output[0], 7 + 5);   // (1 + 2 + 11 + 12) / 4 = 6.5
  EXPECT_EQ(output[1], 9 + 5);   // 8.5
  EXPECT_EQ(output[2], 11 + 5);  // 10.5
}

TEST(SoftmaxS8, SumsToOneAndFollowsTheExponential) {
  const double scale = 0.1;
  std::vector<int32_t> table;
  for (int d = 0; d < 256; ++d) {
    const double e = std::ldexp(std::exp(-d * scale), 31);
    table.push_back(static_cast<int32_t>(std::min(e, 2147483647.0)));
  }
  helx_softmax_s8_params p{1, 5, 256, table.data()};
  const int8_t input[5] = {-128, 0, 10, 20, 127};
  int8_t output[5];
  double sum = 0;
  for (int8_t v : input) sum += std::exp((v - 127) * scale);
  helx_softmax_s8(&p, input, output);
  for (int i = 0; i < 5; ++i) {
    const double expected = std::exp((input[i] - 127) * scale) / sum * 256 - 128;
    EXPECT_NEAR(output[i], std::min(expected, 127.0), 1.0) << i;
  }
}

TEST(QuantizeF32S8, RoundsSaturatesAndSurvivesNonFinite) {
  const helx_affine_params p{8, 0.5f, 3};
  const float inf = std::numeric_limits<float>::infinity();
  const float input[8] = {0.25f, -0.25f, 0.7f, 1e30f, -1e30f, inf, -inf, std::nanf("")};
  int8_t output[8];
  helx_quantize_f32_s8(&p, input, output);
  const int expected[8] = {4, 2, 4, 127, -128, 127, -128, -128};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(output[i], expected[i]) << input[i];
}

}  // namespace
}  // namespace helx
