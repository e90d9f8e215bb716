// Section 13.6 of docs/integer-operators.md. The float arithmetic is checked against the machine's
// own IEEE 754 units, which core/ops never uses.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/ops/json.h"
#include "core/ops/lower/binary_float.h"
#include "core/ops/lower/forms.h"
#include "core/ops/lower/lowering.h"
#include "core/ops/run.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

uint32_t RandomScale(std::mt19937_64* random, int exponent_lo, int exponent_hi) {
  const uint32_t exponent =
      exponent_lo + static_cast<uint32_t>((*random)() % (exponent_hi - exponent_lo + 1));
  return exponent << 23 | ((*random)() & 0x7FFFFF);
}

double ToDouble(Real value) {
  return std::ldexp(static_cast<double>(value.mantissa), value.exponent);
}

TEST(BinaryFloat, EqualsTheMachinesArithmetic) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 200000; ++round) {
    const bool wide = round % 2 == 0;
    const uint32_t a = RandomScale(&random, wide ? 1 : 100, wide ? 254 : 150);
    const uint32_t b = RandomScale(&random, wide ? 1 : 100, wide ? 254 : 150);
    const uint32_t c = RandomScale(&random, wide ? 1 : 100, wide ? 254 : 150);
    const float fa = std::bit_cast<float>(a);
    const float fb = std::bit_cast<float>(b);
    const double da = fa, db = fb, dc = std::bit_cast<float>(c);
    const Real ra = FromBinary32(a), rb = FromBinary32(b), rc = FromBinary32(c);
    ASSERT_EQ(ToDouble(ra), da);
    ASSERT_EQ(ToDouble(Multiply64(ra, rb)), da * db);
    ASSERT_EQ(ToDouble(Divide64(Multiply64(ra, rb), rc)), da * db / dc);
    ASSERT_EQ(ToDouble(Larger(ra, rb)), std::max(da, db));
    const float product = fa * fb;
    const auto narrow = Multiply32(ra, rb);
    ASSERT_EQ(narrow.has_value(), std::isfinite(product));
    if (narrow) {
      ASSERT_EQ(ToDouble(*narrow), static_cast<double>(product));
    }
    const float quotient = 6.0f / fa;
    const auto six = Divide32({6, 0}, ra);
    ASSERT_EQ(six.has_value(), std::isfinite(quotient));
    if (six && std::fabs(quotient) < 1e9) {
      ASSERT_EQ(RoundToInteger(*six, 1000),
                static_cast<int64_t>(std::min(1000.0, std::round(static_cast<double>(quotient)))));
    }
  }
}

TEST(BinaryFloat, TiesGoToEven) {
  // (2^24 + 1) / 2^0 in binary32 is a tie: down to 2^24; 2^24 + 3 goes up to 2^24 + 4.
  EXPECT_EQ(ToDouble(*Multiply32({(1 << 24) + 1, 0}, {1, 0})), 16777216.0);
  EXPECT_EQ(ToDouble(*Multiply32({(1 << 24) + 3, 0}, {1, 0})), 16777220.0);
  // The largest binary32 and the first value that rounds past it.
  EXPECT_TRUE(Multiply32({0x1FFFFFE, 0}, {1, 103}).has_value());
  EXPECT_FALSE(Multiply32({0x1FFFFFF, 0}, {1, 103}).has_value());
}

TEST(BinaryFloat, PositiveNormals) {
  EXPECT_FALSE(IsPositiveNormal(0));
  EXPECT_FALSE(IsPositiveNormal(0x007FFFFF)) << "subnormal";
  EXPECT_TRUE(IsPositiveNormal(0x00800000));
  EXPECT_TRUE(IsPositiveNormal(0x7F7FFFFF));
  EXPECT_FALSE(IsPositiveNormal(0x7F800000)) << "infinite";
  EXPECT_FALSE(IsPositiveNormal(0x7FC00000)) << "not a number";
  EXPECT_FALSE(IsPositiveNormal(0xBF800000)) << "negative";
}

TEST(BinaryFloat, QuantizeMultiplierAsFrexpGivesIt) {
  std::mt19937_64 random(19);
  for (int round = 0; round < 100000; ++round) {
    const int spread = round % 2 == 0 ? 40 : 2;
    const double m = std::ldexp(static_cast<double>(random() >> 11 | uint64_t{1} << 52),
                                -52 + static_cast<int>(random() % (2 * spread)) - spread);
    int exponent = 0;
    const double fraction = std::frexp(m, &exponent);
    const Real real{static_cast<uint64_t>(std::ldexp(fraction, 53)), exponent - 53};
    auto q = static_cast<int64_t>(std::round(fraction * (int64_t{1} << 31)));
    if (q == int64_t{1} << 31) {
      q /= 2;
      ++exponent;
    }
    if (exponent < -31) q = exponent = 0;
    const QuantizedMultiplier got = QuantizeMultiplier(real, false);
    ASSERT_EQ(got.q, q);
    ASSERT_EQ(got.e, exponent);
  }
}

TEST(BinaryFloat, QuantizeMultiplierEnds) {
  const auto quantize = [](Real value, bool single) {
    const QuantizedMultiplier m = QuantizeMultiplier(value, single);
    return std::to_string(m.q) + " " + std::to_string(m.e);
  };
  EXPECT_EQ(quantize({0, 0}, false), "0 0");
  EXPECT_EQ(quantize({1, 0}, false), "1073741824 1");  // 1 = 0.5 * 2
  EXPECT_EQ(quantize({1, -32}, false), "1073741824 -31");
  EXPECT_EQ(quantize({1, -33}, false), "0 0");  // e would be -32
  EXPECT_EQ(quantize({1, 29}, true), "1073741824 30");
  EXPECT_EQ(quantize({1, 30}, true), "2147483647 30");  // e would be 31
  EXPECT_EQ(quantize({1, 30}, false), "1073741824 31");
  // 1 - 2^-53 rounds to 2^31 / 2^31: carried to 0.5 * 2.
  EXPECT_EQ(quantize({(uint64_t{1} << 53) - 1, -53}, false), "1073741824 1");
}

// A TFQ of one CONV_2D 1x1 on [1,2,2,1], weights 3, scales 1.0 in and out, zero points 5 and -7.
struct Tfq {
  std::string rounding = "double";
  std::string act = "none";
  std::string w_scale = "[1065353216]";
  std::string out_scale = "[1065353216]";
  std::string tensors;
  std::string ops;
  std::string out = "3";

  Tfq() { Fill(); }
  void Fill() {
    tensors =
        "{\"data\":null,\"scale\":[1065353216],\"shape\":[1,2,2,1],\"type\":\"int8\",\"zp\":5},"
        "{\"data\":[3],\"scale\":" +
        w_scale +
        ",\"shape\":[1,1,1,1],\"type\":\"int8\",\"zp\":0},"
        "{\"data\":[100],\"scale\":[],\"shape\":[1],\"type\":\"int32\",\"zp\":0},"
        "{\"data\":null,\"scale\":" +
        out_scale + ",\"shape\":[1,2,2,1],\"type\":\"int8\",\"zp\":-7}";
    ops = "{\"act\":\"" + act +
          "\",\"in\":[0,1,2],\"op\":\"CONV_2D\",\"opts\":{\"dh\":1,\"dw\":1,"
          "\"kh\":1,\"kw\":1,\"pad\":\"valid\",\"sh\":1,\"sw\":1},\"out\":3}";
  }
  std::string Text() const {
    return "{\"form\":\"tfq\",\"in\":0,\"ops\":[" + ops + "],\"out\":" + out + ",\"rounding\":\"" +
           rounding + "\",\"tensors\":[" + tensors + "]}\n";
  }
  // The text with one replacement.
  Tfq With(const std::string& from, const std::string& to) const {
    Tfq changed = *this;
    for (std::string* part : {&changed.tensors, &changed.ops}) {
      const size_t at = part->find(from);
      if (at == std::string::npos) continue;
      part->replace(at, from.size(), to);
      return changed;
    }
    ADD_FAILURE() << "no " << from;
    return changed;
  }
  std::string Code() const {
    const auto roles = Lower(*FindLowering("tflite_int8/1"), {{"model.tfq", Text()}}, {});
    return roles.ok() ? LoadOutcome(roles.value()[0].bytes)
                      : std::string(CodeName(roles.refusal().code));
  }
  // "ok", or the whole refusal.
  std::string Outcome() const {
    const auto roles = Lower(*FindLowering("tflite_int8/1"), {{"model.tfq", Text()}}, {});
    return roles.ok() ? "ok" : roles.refusal().Text();
  }
  std::string Nodes() const {
    const Result<Graph> graph = LowerTfq(Text());
    if (!graph.ok()) return graph.refusal().Text();
    std::string text;
    for (const Node& node : graph.value().nodes) {
      const Params& p = node.params;
      text += text.empty() ? "" : "; ";
      text += OpName(node.op);
      if (node.op == Op::kClamp) {
        text += " " + std::to_string(p.lo) + " " + std::to_string(p.hi);
      }
      if (node.op == Op::kRescale || node.op == Op::kConv) {
        text += " " + std::string(RoundingName(p.rounding())) + " " + std::to_string(p.mult[0]) +
                " " + std::to_string(p.shift[0]) + " " + std::to_string(p.post_bias[0]);
      }
    }
    return text;
  }
};

TEST(TfliteInt8, DoubleRounding) {
  // M = 1: Q = 2^30, e = 1: mult Q * 2, shift 31, then a rescale by 0 with zp.
  EXPECT_EQ(Tfq().Nodes(),
            "rescale half_up 1 0 -5; conv half_up 2147483648 31 0; rescale half_away 1 0 -7; "
            "clamp -128 127");
  // Output scale 4: M = 1/4: e = -1.
  Tfq quarter;
  quarter.out_scale = "[1082130432]";
  quarter.Fill();
  EXPECT_EQ(quarter.Nodes(),
            "rescale half_up 1 0 -5; conv half_up 1073741824 31 0; rescale half_away 1 1 -7; "
            "clamp -128 127");
}

TEST(TfliteInt8, SingleRounding) {
  Tfq single;
  single.rounding = "single";
  EXPECT_EQ(single.Nodes(),
            "rescale half_up 1 0 -5; conv half_up 1073741824 30 -7; clamp -128 127");
}

TEST(TfliteInt8, Activations) {
  Tfq relu;
  relu.act = "relu";
  relu.Fill();
  EXPECT_NE(relu.Nodes().find("clamp -7 127"), std::string::npos);
  relu.act = "relu6";
  relu.Fill();
  EXPECT_NE(relu.Nodes().find("clamp -7 -1"), std::string::npos) << "-7 + round(6 / 1)";
  relu.out_scale = "[1082130432]";
  relu.Fill();
  EXPECT_NE(relu.Nodes().find("clamp -7 -5"), std::string::npos) << "6/4 = 1.5 rounds away to 2";
  relu.out_scale = "[8388608]";
  relu.rounding = "single";
  relu.Fill();
  EXPECT_NE(relu.Nodes().find("clamp -7 127"), std::string::npos) << "6 / 2^-126 is infinite";
  relu.act = "tanh";
  relu.Fill();
  EXPECT_EQ(relu.Code(), "layer");
}

TEST(TfliteInt8, RunsTheFormula) {
  const Result<Graph> graph = LowerTfq(Tfq().Text());
  ASSERT_TRUE(graph.ok());
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph.value()));
  ASSERT_TRUE(loaded.ok());
  // 3 (x - 5) + 100 - 7, clamped: x = -128, 0, 5, 127.
  EXPECT_EQ(
      Instance(&loaded.value()).Decode({Tensor{{1, 2, 2}, {-128, 0, 5, 127}}}).value()[0].data,
      (Elements{-128, 78, 93, 127}));
}

TEST(TfliteInt8, Form) {
  const Tfq tfq;
  EXPECT_EQ(tfq.Code(), "ok");
  EXPECT_EQ(tfq.With("\"type\":\"int32\"", "\"type\":\"int16\"").Code(), "form");
  EXPECT_EQ(tfq.With("\"zp\":5", "\"zp\":\"5\"").Code(), "form");
  EXPECT_EQ(tfq.With("\"data\":[3]", "\"data\":[[3]]").Code(), "form");
  EXPECT_EQ(tfq.With("\"data\":[3],", "").Code(), "form");
  Tfq other;
  other.rounding = "triple";
  EXPECT_EQ(other.Code(), "form");
  other.rounding = "single";
  other.out = "null";
  EXPECT_EQ(other.Code(), "form");
}

TEST(TfliteInt8, Layer) {
  const Tfq tfq;
  EXPECT_EQ(tfq.With("\"act\":\"none\",", "").Code(), "layer");
  EXPECT_EQ(tfq.With("\"kh\":1", "\"kh\":0").Code(), "layer");
  EXPECT_EQ(tfq.With("\"kh\":1", "\"kh\":null").Code(), "layer");
  EXPECT_EQ(tfq.With("\"pad\":\"valid\"", "\"pad\":\"full\"").Code(), "layer");
  EXPECT_EQ(tfq.With("\"dh\":1,", "").Code(), "layer");
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0,1,[2]]").Code(), "layer");
  EXPECT_EQ(tfq.With("\"op\":\"CONV_2D\"", "\"op\":\"SOFTMAX\"").Code(), "unsupported")
      << "whatever its opts";
}

TEST(TfliteInt8, Unsupported) {
  const Tfq tfq;
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0]").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0,1,2,2]").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[3,1,2]").Code(), "unsupported") << "not written";
  EXPECT_EQ(tfq.With("\"out\":3", "\"out\":0").Code(), "unsupported") << "in is written";
  EXPECT_EQ(tfq.With("\"zp\":5", "\"zp\":128").Code(), "unsupported");
  EXPECT_EQ(
      tfq.With("\"scale\":[1065353216],\"shape\":[1,2,2,1]", "\"scale\":[0],\"shape\":[1,2,2,1]")
          .Code(),
      "unsupported");
  EXPECT_EQ(
      tfq.With("\"scale\":[1065353216],\"shape\":[1,2,2,1]", "\"scale\":[],\"shape\":[1,2,2,1]")
          .Code(),
      "unsupported");
  EXPECT_EQ(tfq.With("\"shape\":[1,2,2,1]", "\"shape\":[2,2,2,1]").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"shape\":[1,2,2,1]", "\"shape\":[1,2,2]").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"shape\":[1,1,1,1],\"type\":\"int8\",\"zp\":0",
                     "\"shape\":[1,1,1,1],\"type\":\"int8\",\"zp\":1")
                .Code(),
            "unsupported");
  EXPECT_EQ(tfq.With("\"type\":\"int32\",\"zp\":0", "\"type\":\"int32\",\"zp\":1").Code(),
            "unsupported");
  EXPECT_EQ(tfq.With("\"type\":\"int32\"", "\"type\":\"int8\"").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"data\":[3]", "\"data\":null").Code(), "unsupported");
  EXPECT_EQ(tfq.With("\"scale\":[1065353216],\"shape\":[1,1,1,1]",
                     "\"scale\":[1065353216,1065353216],\"shape\":[1,1,1,1]")
                .Code(),
            "unsupported");
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0,9,2]").Code(), "unsupported") << "no weights";
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0,1,9]").Code(), "unsupported") << "no bias";
  EXPECT_EQ(tfq.With("\"in\":[0,1,2]", "\"in\":[0,1,-1]").Code(), "unsupported");
  Tfq unused = tfq;
  unused.out = "0";
  EXPECT_EQ(unused.Code(), "unsupported") << "what is written is neither read nor out";
}

TEST(TfliteInt8, UnsupportedPrecedesLimit) {
  const Tfq limit = Tfq().With("\"data\":[3]", "\"data\":[3,3]");
  EXPECT_EQ(limit.Code(), "limit");
  EXPECT_EQ(limit.With("\"zp\":-7", "\"zp\":-129").Code(), "unsupported");
}

TEST(TfliteInt8, Limits) {
  const Tfq tfq;
  EXPECT_EQ(tfq.With("\"data\":[3]", "\"data\":[128]").Code(), "limit");
  EXPECT_EQ(tfq.With("\"data\":[100]", "\"data\":[2147483648]").Code(), "limit");
  EXPECT_EQ(tfq.With("\"data\":[100]", "\"data\":[]").Code(), "limit");
  EXPECT_EQ(tfq.With("\"kh\":1", "\"kh\":2").Code(), "limit") << "not the filter's";
  EXPECT_EQ(tfq.With("\"sh\":1", "\"sh\":65").Code(), "limit");
  EXPECT_EQ(tfq.With("\"sh\":1", "\"sh\":2").Code(), "limit") << "the output's shape";
  EXPECT_EQ(tfq.With("\"dh\":1", "\"dh\":17").Code(), "limit");
  EXPECT_EQ(tfq.With("\"scale\":[1065353216]", "\"scale\":[4294967296]").Code(), "limit");
  EXPECT_EQ(tfq.With("\"shape\":[1,2,2,1]", "\"shape\":[1,0,2,1]").Code(), "limit");
  // M = 2^126 / 2^-126: the multiplier passes i64 in "double"; "single" saturates it.
  Tfq large;
  large.w_scale = "[2122317824]";  // 2^126
  large.out_scale = "[8388608]";   // 2^-126
  large.Fill();
  EXPECT_EQ(large.Code(), "limit");
  large.rounding = "single";
  EXPECT_NE(large.Nodes().find("conv half_up 2147483647 1 -7"), std::string::npos);
}

// Two scales whose product passes binary32 (2^64 * 2^64): FULLY_CONNECTED with one scale multiplies
// in it, a convolution does not. "single" has no limit of its own that would refuse the multiplier.
TEST(TfliteInt8, ProductsPastBinary32) {
  const auto code = [](const std::string& op, const std::string& opts, const std::string& shape,
                       const std::string& x_scale) {
    Tfq tfq;
    tfq.rounding = "single";
    tfq.tensors = "{\"data\":null,\"scale\":[" + x_scale + "],\"shape\":" + shape +
                  ",\"type\":\"int8\",\"zp\":0},{\"data\":[1],\"scale\":[1602224128],\"shape\":" +
                  (shape == "[1,1]" ? shape : "[1,1,1,1]") +
                  ",\"type\":\"int8\",\"zp\":0},"
                  "{\"data\":null,\"scale\":[1602224128],\"shape\":" +
                  shape + ",\"type\":\"int8\",\"zp\":0}";
    tfq.ops =
        "{\"act\":\"none\",\"in\":[0,1],\"op\":\"" + op + "\",\"opts\":" + opts + ",\"out\":2}";
    tfq.out = "2";
    return tfq.Code();
  };
  // 1602224128 is 2^64; 1593835520 is 2^63, whose product with it is binary32's greatest power.
  EXPECT_EQ(code("FULLY_CONNECTED", "{}", "[1,1]", "1602224128"), "limit");
  EXPECT_EQ(code("FULLY_CONNECTED", "{}", "[1,1]", "1593835520"), "ok");
  const std::string window =
      "{\"dh\":1,\"dw\":1,\"kh\":1,\"kw\":1,\"pad\":\"valid\",\"sh\":1,\"sw\":1}";
  EXPECT_EQ(code("CONV_2D", window, "[1,1,1,1]", "1602224128"), "ok");
}

// The pads that "same" gives a kernel of 52 at dilation 10 are 255 and 255; of 33 at dilation 16,
// 256 and 256.
TEST(TfliteInt8, PadsOfSame) {
  const auto code = [](int kernel, int dilation) {
    Tfq tfq;
    tfq.Fill();
    const std::string k = std::to_string(kernel);
    std::string data = "[3";
    for (int i = 1; i < kernel; ++i) data += ",3";
    tfq = tfq.With("\"data\":[3]", "\"data\":" + data + "]")
              .With("\"shape\":[1,1,1,1]", "\"shape\":[1," + k + ",1,1]")
              .With("\"kh\":1", "\"kh\":" + k)
              .With("\"dh\":1", "\"dh\":" + std::to_string(dilation))
              .With("\"pad\":\"valid\"", "\"pad\":\"same\"");
    return tfq.Code();
  };
  EXPECT_EQ(code(52, 10), "ok");
  EXPECT_EQ(code(33, 16), "limit");
}

// The greatest window: kernel 64, stride 64 and dilation 16; and a depthwise filter of no channels.
TEST(TfliteInt8, GreatestWindows) {
  const auto code = [](const std::string& key, int value, int kernel, int in, int out) {
    const auto text = [](int v) { return std::to_string(v); };
    std::string data = "3";
    for (int i = 1; i < kernel; ++i) data += ",3";
    return Tfq()
        .With("\"data\":[3]", "\"data\":[" + data + "]")
        .With("\"shape\":[1,1,1,1]", "\"shape\":[1," + text(kernel) + ",1,1]")
        .With("\"kh\":1", "\"kh\":" + text(kernel))
        .With(key + ":1", key + ":" + text(value))
        .With("\"shape\":[1,2,2,1]", "\"shape\":[1," + text(in) + ",2,1]")
        .With("\"shape\":[1,2,2,1]", "\"shape\":[1," + text(out) + ",2,1]")
        .Outcome();
  };
  const std::string beyond =
      "limit: model.tfq: op 0 (CONV_2D): a kernel, stride or dilation is out of range";
  EXPECT_EQ(code("\"dw\"", 1, 64, 64, 1), "ok");
  EXPECT_EQ(code("\"sh\"", 64, 1, 65, 2), "ok");
  EXPECT_EQ(code("\"sh\"", 65, 1, 66, 2), beyond);
  EXPECT_EQ(code("\"dh\"", 16, 2, 17, 1), "ok");
  EXPECT_EQ(code("\"dh\"", 17, 2, 18, 1), beyond);
  EXPECT_EQ(Tfq()
                .With("\"op\":\"CONV_2D\"", "\"op\":\"DEPTHWISE_CONV_2D\"")
                .With("\"shape\":[1,2,2,1]", "\"shape\":[1,2,2,0]")
                .Code(),
            "limit");
}

// ADD's inputs are halved by twice the larger scale, whichever it is: 1/(2*2) and 2/(2*2), then
// 4/(4*2^20).
TEST(TfliteInt8, AddScalesByTheLargerScale) {
  for (const bool second_larger : {true, false}) {
    const std::string one = "1065353216";
    const std::string two = "1073741824";
    Tfq tfq;
    tfq.tensors =
        "{\"data\":null,\"scale\":[" + (second_larger ? one : two) +
        "],\"shape\":[1,2],\"type\":\"int8\",\"zp\":0},{\"data\":null,\"scale\":[" +
        (second_larger ? two : one) +
        "],\"shape\":[1,2],\"type\":\"int8\",\"zp\":0},"
        "{\"data\":null,\"scale\":[1082130432],\"shape\":[1,2],\"type\":\"int8\",\"zp\":0},"
        "{\"data\":[1,0,0,1],\"scale\":[" +
        one + "],\"shape\":[2,2],\"type\":\"int8\",\"zp\":0}";
    tfq.ops =
        "{\"act\":\"none\",\"in\":[0,3],\"op\":\"FULLY_CONNECTED\",\"opts\":{},\"out\":1},"
        "{\"act\":\"none\",\"in\":[0,1],\"op\":\"ADD\",\"opts\":{},\"out\":2}";
    tfq.out = "2";
    const std::string nodes = tfq.Nodes();
    const std::string quarter =
        "rescale half_up 1048576 0 0; rescale half_up 1073741824 31 0; "
        "rescale half_away 1 1 0; ";
    const std::string half =
        "rescale half_up 1048576 0 0; rescale half_up 1073741824 31 0; "
        "rescale half_away 1 0 0; ";
    EXPECT_NE(nodes.find((second_larger ? quarter + half : half + quarter) +
                         "add; rescale half_up 1073741824 31 0; rescale half_away 1 19 0; clamp"),
              std::string::npos)
        << nodes;
  }
}

// What a refusal names.
TEST(TfliteInt8, RefusalsNameTheirPlace) {
  EXPECT_EQ(Tfq().With("\"type\":\"int32\"", "\"type\":\"int16\"").Outcome(),
            "form: model.tfq: tensor 2 is not as the form states");
  EXPECT_EQ(Tfq().With("\"dh\":1,", "").Outcome(),
            "layer: model.tfq: op 0 is not as the form states");
  EXPECT_EQ(Tfq()
                .With("\"kw\":1", "\"kw\":2")
                .With("\"shape\":[1,1,1,1]", "\"shape\":[1,1,2,1]")
                .With("\"data\":[3]", "\"data\":[3,3]")
                .Outcome(),
            "limit: model.tfq: op 0 (CONV_2D): the output's shape");
  EXPECT_EQ(Tfq().With("\"zp\":0},{\"data\":[100]", "\"zp\":1},{\"data\":[100]").Outcome(),
            "unsupported: model.tfq: op 0 (CONV_2D): the weights are not an int8 constant of zero "
            "point 0");
}

// The other operators, on a chain built by name.
std::string OneOp(const std::string& op, const std::string& opts, const std::string& in_shape,
                  const std::string& out_shape, const std::string& act = "none",
                  const std::string& out_zp = "5") {
  Tfq tfq;
  tfq.tensors =
      "{\"data\":null,\"scale\":[1065353216],\"shape\":" + in_shape +
      ",\"type\":\"int8\",\"zp\":5},{\"data\":null,\"scale\":[1065353216],\"shape\":" + out_shape +
      ",\"type\":\"int8\",\"zp\":" + out_zp + "}";
  tfq.ops =
      "{\"act\":\"" + act + "\",\"in\":[0],\"op\":\"" + op + "\",\"opts\":" + opts + ",\"out\":1}";
  tfq.out = "1";
  const std::string code = tfq.Code();
  return code == "ok" ? tfq.Nodes() : code;
}

std::string WindowOptions(int kernel, int stride, const std::string& pad) {
  const std::string k = std::to_string(kernel);
  const std::string s = std::to_string(stride);
  return "{\"dh\":1,\"dw\":1,\"kh\":" + k + ",\"kw\":" + k + ",\"pad\":\"" + pad +
         "\",\"sh\":" + s + ",\"sw\":" + s + "}";
}

TEST(TfliteInt8, Pools) {
  EXPECT_EQ(OneOp("AVERAGE_POOL_2D", WindowOptions(2, 2, "valid"), "[1,4,4,3]", "[1,2,2,3]"),
            "conv half_up 1 0 0; divc; clamp -128 127");
  EXPECT_EQ(OneOp("AVERAGE_POOL_2D", WindowOptions(2, 2, "same"), "[1,4,4,3]", "[1,2,2,3]"),
            "conv half_up 1 0 0; divc; clamp -128 127");
  EXPECT_EQ(OneOp("AVERAGE_POOL_2D", WindowOptions(2, 2, "same"), "[1,5,4,3]", "[1,3,2,3]"),
            "unsupported")
      << "padded";
  EXPECT_EQ(OneOp("MAX_POOL_2D", WindowOptions(2, 2, "same"), "[1,5,5,3]", "[1,3,3,3]", "relu"),
            "maxpool; clamp 5 127");
  EXPECT_EQ(
      OneOp("MAX_POOL_2D", WindowOptions(2, 2, "same"), "[1,5,5,3]", "[1,3,3,3]", "none", "6"),
      "unsupported");
  EXPECT_EQ(OneOp("MAX_POOL_2D", WindowOptions(2, 2, "valid"), "[1,5,5,3]", "[1,3,3,3]"), "limit");
  EXPECT_EQ(OneOp("MAX_POOL_2D",
                  "{\"dh\":2,\"dw\":1,\"kh\":1,\"kw\":1,\"pad\":\"same\",\"sh\":1,\"sw\":1}",
                  "[1,5,5,3]", "[1,5,5,3]"),
            "limit");
  EXPECT_EQ(OneOp("MAX_POOL_2D", WindowOptions(1, 1, "same"), "[1,5]", "[1,5]"), "limit");
}

// A kernel that no WHG1 node has is refused by name, not left to the graph's own checks.
TEST(TfliteInt8, WindowsBeyondTheFormAreNamed) {
  const auto text = [](const std::string& op, const std::string& tensors, const std::string& out) {
    Tfq tfq;
    tfq.tensors = tensors;
    tfq.ops = op;
    tfq.out = out;
    return tfq.Outcome();
  };
  const auto activation = [](const std::string& shape) {
    return "{\"data\":null,\"scale\":[1065353216],\"shape\":" + shape +
           ",\"type\":\"int8\",\"zp\":0}";
  };
  EXPECT_EQ(text("{\"act\":\"none\",\"in\":[0],\"op\":\"MAX_POOL_2D\",\"opts\":{\"dh\":1,\"dw\":1,"
                 "\"kh\":65,\"kw\":1,\"pad\":\"valid\",\"sh\":1,\"sw\":1},\"out\":1}",
                 activation("[1,65,1,1]") + "," + activation("[1,1,1,1]"), "1"),
            "limit: model.tfq: op 0 (MAX_POOL_2D): a kernel, stride or dilation is out of range");
  std::string weights = "1";
  for (int i = 1; i < 65; ++i) weights += ",1";
  EXPECT_EQ(text("{\"act\":\"none\",\"in\":[0],\"op\":\"RESHAPE\",\"opts\":{},\"out\":1},"
                 "{\"act\":\"none\",\"in\":[1,2],\"op\":\"FULLY_CONNECTED\",\"opts\":{},\"out\":3}",
                 activation("[1,65,1,1]") + "," + activation("[1,65]") + ",{\"data\":[" + weights +
                     "],\"scale\":[1065353216],\"shape\":[1,65],\"type\":\"int8\",\"zp\":0}," +
                     activation("[1,1]"),
                 "3"),
            "limit: model.tfq: op 1 (FULLY_CONNECTED): the input is larger than 64x64");
}

TEST(TfliteInt8, PadAndReshape) {
  const std::string one = "{\"pb\":1,\"pl\":0,\"pr\":2,\"pt\":0}";
  EXPECT_EQ(OneOp("PAD", one, "[1,2,2,1]", "[1,3,4,1]"), "pad");
  EXPECT_EQ(OneOp("PAD", one, "[1,2,2,1]", "[1,3,3,1]"), "limit");
  EXPECT_EQ(OneOp("PAD", one, "[1,2,2,1]", "[1,3,4,1]", "relu"), "unsupported");
  EXPECT_EQ(OneOp("PAD", "{\"pb\":-1,\"pl\":0,\"pr\":2,\"pt\":0}", "[1,2,2,1]", "[1,3,4,1]"),
            "layer");
  EXPECT_EQ(
      OneOp("PAD", "{\"pb\":255,\"pl\":255,\"pr\":255,\"pt\":255}", "[1,2,2,1]", "[1,512,512,1]"),
      "pad");
  for (const std::string pad : {"pb", "pl", "pr", "pt"}) {
    std::string opts = "{\"pb\":0,\"pl\":0,\"pr\":0,\"pt\":0}";
    opts.replace(opts.find(pad) + 4, 1, "256");
    EXPECT_EQ(
        OneOp("PAD", opts, "[1,2,2,1]", pad == "pb" || pad == "pt" ? "[1,258,2,1]" : "[1,2,258,1]"),
        "limit")
        << pad;
  }
  EXPECT_EQ(OneOp("PAD", one, "[1,4]", "[1,4]"), "unsupported");
  EXPECT_EQ(OneOp("RESHAPE", "{}", "[1,1,1,4]", "[1,4]"), "limit") << "a graph without nodes";
  EXPECT_EQ(OneOp("RESHAPE", "{}", "[1,2,2,1]", "[1,4]"), "unsupported") << "it is out";
  EXPECT_EQ(OneOp("RESHAPE", "{}", "[1,4]", "[1,2,2,1]"), "unsupported");
  EXPECT_EQ(OneOp("RESHAPE", "{}", "[1,1,1,4]", "[1,5]"), "unsupported");
}

}  // namespace
}  // namespace helx::ops
