#include "core/ops/run.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "core/ops/phase_form.h"
#include "core/ops/simd.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

Tensor RandomTensor(const Shape& shape, int64_t lo, int64_t hi, std::mt19937_64* random) {
  Tensor tensor{shape, {}};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    tensor.data.push_back(lo +
                          static_cast<int64_t>((*random)() % static_cast<uint64_t>(hi - lo + 1)));
  }
  return tensor;
}

// The text's formula for one sum of conv (section 5.1), in 128 bits.
i128 ConvSum(const Params& p, const Tensor& x, int64_t o, int64_t oy, int64_t ox) {
  const int64_t cg = p.cin / p.groups;
  const int64_t g = o / (p.cout / p.groups);
  i128 sum = p.bias[o];
  for (int64_t i = 0; i < cg; ++i) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      for (int64_t kx = 0; kx < p.kw; ++kx) {
        const int64_t y = oy * p.sh - p.pt + ky * p.dh;
        const int64_t xx = ox * p.sw - p.pl + kx * p.dw;
        if (y < 0 || y >= x.shape.h || xx < 0 || xx >= x.shape.w) continue;
        sum += static_cast<i128>(p.w[((o * cg + i) * p.kh + ky) * p.kw + kx]) *
               x.data[((g * cg + i) * x.shape.h + y) * x.shape.w + xx];
      }
    }
  }
  return sum;
}

// The text's formula for one sum of conv_transpose (section 5.2).
i128 TransposeSum(const Params& p, const Tensor& x, int64_t o, int64_t oy, int64_t ox) {
  i128 sum = p.bias[o];
  for (int64_t i = 0; i < p.cin; ++i) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      for (int64_t kx = 0; kx < p.kw; ++kx) {
        const int64_t ny = oy + p.pt - ky;
        const int64_t nx = ox + p.pl - kx;
        if (ny < 0 || nx < 0 || ny % p.sh != 0 || nx % p.sw != 0) continue;
        if (ny / p.sh >= x.shape.h || nx / p.sw >= x.shape.w) continue;
        sum += static_cast<i128>(p.w[((i * p.cout + o) * p.kh + ky) * p.kw + kx]) *
               x.data[(i * x.shape.h + ny / p.sh) * x.shape.w + nx / p.sw];
      }
    }
  }
  return sum;
}

constexpr ElementType kTypes[] = {ElementType::kI8, ElementType::kI16, ElementType::kI32,
                                  ElementType::kI64};

// The least value above a type's.
i128 Limit(ElementType type) { return static_cast<i128>(1) << (8 * ElementBytes(type) - 1); }

// Every path of the convolutions (16-bit pairs, int16, int32 and int64 lanes; by columns, by rows
// and by planes) against the formula: ranges and group sizes on both sides of each choice.
TEST(Run, ConvolutionsEqualTheFormula) {
  std::mt19937_64 random(3);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  const int64_t magnitudes[] = {7, 127, 32767, 32768, 1 << 20, int64_t{1} << 34};
  int checked = 0;
  for (int round = 0; round < 600; ++round) {
    const bool transpose = round % 3 == 0;
    const int64_t magnitude = magnitudes[draw(0, 5)];
    Params p;
    p.groups = transpose ? 1 : draw(1, 3);
    p.cin = p.groups * draw(1, 3);
    p.cout = p.groups * draw(1, 6);
    p.kh = draw(1, 3);
    p.kw = draw(1, 4);
    p.sh = round % 2 == 0 ? 1 : draw(1, 3);
    p.sw = round % 2 == 0 ? 1 : draw(1, 3);
    if (!transpose) {
      p.dh = draw(1, 2);
      p.dw = draw(1, 3);
    }
    p.pt = draw(0, p.kh - 1);
    p.pb = draw(0, p.kh - 1);
    p.pl = draw(0, p.kw - 1);
    p.pr = draw(0, p.kw - 1);
    p.n = 1;
    p.mult = {1};
    p.post_bias = {0};
    p.shift = {0};
    for (int64_t o = 0; o < p.cout; ++o) p.bias.push_back(draw(-99999, 99999));
    const int64_t weight = draw(0, 1) == 0 ? 127 : 70000;
    const int64_t count = (transpose ? p.cin : p.cin / p.groups) * p.cout * p.kh * p.kw;
    for (int64_t i = 0; i < count; ++i) p.w.push_back(static_cast<int32_t>(draw(-weight, weight)));
    Graph graph;
    Input input;
    input.c = p.cin;
    input.lo = -magnitude;
    input.hi = magnitude;
    input.h_cap = input.w_cap = 12;
    graph.inputs = {input};
    graph.outputs = {AddNode(&graph, transpose ? Op::kConvTranspose : Op::kConv, {0}, p)};
    const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
    ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();
    Instance instance(&loaded.value());
    const Tensor x = RandomTensor({p.cin, draw(1, 9), draw(1, 9)}, -magnitude, magnitude, &random);
    const auto outcome = instance.Decode({x});
    if (!outcome.ok()) continue;
    const Tensor& y = outcome.value()[0];
    for (const ElementType type : kTypes) {
      if (magnitude >= Limit(type)) continue;
      const auto packed = instance.DecodePacked({Pack(x, type)});
      ASSERT_TRUE(packed.ok() && Unpack(packed.value()[0]) == y) << "round " << round;
    }
    size_t at = 0;
    for (int64_t o = 0; o < y.shape.c; ++o) {
      for (int64_t oy = 0; oy < y.shape.h; ++oy) {
        for (int64_t ox = 0; ox < y.shape.w; ++ox, ++at) {
          const i128 sum = transpose ? TransposeSum(p, x, o, oy, ox) : ConvSum(p, x, o, oy, ox);
          ASSERT_TRUE(sum == y.data[at]) << "round " << round << " element " << at;
        }
      }
    }
    ++checked;
  }
  EXPECT_GT(checked, 300);
}

// Kernels of one element with a pad on one side alone: what need not be laid out as planes may not
// be taken for it.
TEST(Run, PointwiseConvolutionsWithOnePadEqualTheFormula) {
  std::mt19937_64 random(11);
  for (int side = 0; side < 4; ++side) {
    for (const int64_t magnitude : {int64_t{127}, int64_t{1} << 34}) {
      for (const int64_t pad : {1, 2}) {
        Params p = RequantParams(Rounding::kHalfUp, 1, 0, 0);
        p.cin = 3;
        p.cout = 5;
        p.pt = side == 0 ? pad : 0;
        p.pb = side == 1 ? pad : 0;
        p.pl = side == 2 ? pad : 0;
        p.pr = side == 3 ? pad : 0;
        p.bias = {1, -2, 3, -4, 5};
        const Tensor w = RandomTensor({p.cin * p.cout, 1, 1}, -128, 127, &random);
        p.w.assign(w.data.begin(), w.data.end());
        Graph graph;
        graph.inputs = {FixedInput({3, 4, 6}, -magnitude, magnitude)};
        graph.outputs = {AddNode(&graph, Op::kConv, {0}, p)};
        const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
        ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();
        const Tensor x = RandomTensor({3, 4, 6}, -magnitude, magnitude, &random);
        const auto y = Instance(&loaded.value()).Decode({x});
        ASSERT_TRUE(y.ok());
        const Shape& out = y.value()[0].shape;
        ASSERT_EQ(out, (Shape{5, 4 + p.pt + p.pb, 6 + p.pl + p.pr}));
        for (int64_t at = 0; at < out.elements(); ++at) {
          ASSERT_TRUE(ConvSum(p, x, at / (out.h * out.w), at / out.w % out.h, at % out.w) ==
                      y.value()[0].data[at])
              << "side " << side << " element " << at;
        }
      }
    }
  }
}

// One layer, unit rqb and bias 0, against the formula; input element i is value - i % 7 * step.
void ExpectConvolutionOf(Params p, const Shape& shape, int64_t value, int64_t step = 0) {
  p.mult = {1};
  p.post_bias = {0};
  p.shift = {0};
  p.bias.assign(p.cout, 0);
  Graph graph;
  graph.inputs = {FixedInput(shape, std::min<int64_t>(value, 0), std::max<int64_t>(value, 0))};
  graph.outputs = {AddNode(&graph, Op::kConv, {0}, p)};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();
  Tensor x{shape, {}};
  for (int64_t i = 0; i < shape.elements(); ++i) x.data.push_back(value - i % 7 * step);
  const auto y = Instance(&loaded.value()).Decode({x});
  ASSERT_TRUE(y.ok()) << y.refusal().Text();
  const Shape& out = y.value()[0].shape;
  for (int64_t at = 0; at < out.elements(); ++at) {
    ASSERT_TRUE(ConvSum(p, x, at / (out.h * out.w), at / out.w % out.h, at % out.w) ==
                y.value()[0].data[at])
        << "element " << at;
  }
}

// Inputs and sums at the ends of the types that narrower lanes have, and one past them.
TEST(Run, LanesEndWhereTheirTypesDo) {
  for (const int64_t value : {-32769, -32768, 32767, 32768}) {
    Params p;
    p.cin = p.cout = 8;
    p.w.assign(64, 3);
    ExpectConvolutionOf(p, {8, 5, 5}, value);
  }
  // One tap of weight 1: the sum is the input.
  for (const int64_t value : {kI32Min - 1, kI32Min, kI32Max, kI32Max + 1}) {
    for (const int64_t channels : {1, 5}) {
      Params p;
      p.cin = 1;
      p.cout = channels;
      p.w.assign(channels, 1);
      ExpectConvolutionOf(p, {1, 5, 5}, value);
    }
  }
}

// A row of outputs from two columns of taps, side by side or a stride apart; two rows from one row
// and a pad; and rows of the input that no tap reads, below those of a plane whose first rows are
// pads.
TEST(Run, PlanesOfOneRow) {
  Params columns;
  columns.cin = 3;
  columns.cout = 4;
  columns.kw = 2;
  columns.w.assign(24, 5);
  for (size_t i = 0; i < columns.w.size(); ++i) columns.w[i] -= static_cast<int32_t>(i);
  ExpectConvolutionOf(columns, {3, 1, 50}, 9, 1);
  columns.sw = 2;
  ExpectConvolutionOf(columns, {3, 1, 50}, 9, 1);
  Params point;
  point.cin = 3;
  point.cout = 4;
  point.pt = 1;
  point.w = {1, -2, 3, 4, 5, -6, 7, 8, 9, -1, 2, -3};
  ExpectConvolutionOf(point, {3, 1, 50}, 9, 1);
  Params rows;
  rows.cin = rows.cout = 2;
  rows.kh = 2;
  rows.sh = 4;
  rows.pt = 2;
  rows.w.assign(8, 7);
  ExpectConvolutionOf(rows, {2, 3, 48}, 9, 1);
}

// Convolutions whose inputs do not fit the nearest cache, so that their positions are computed in
// several passes; the first three are of one tap.
TEST(Run, LargeConvolutionsEqualTheFormula) {
  struct Case {
    int64_t cin, cout, groups, kernel, stride, height, width;
  };
  std::mt19937_64 random(6);
  for (const Case& c :
       {Case{600, 7, 1, 1, 1, 7, 7}, Case{129, 13, 1, 1, 1, 9, 9}, Case{3, 5, 1, 1, 2, 2, 41},
        Case{130, 6, 1, 3, 1, 8, 8}, Case{70, 8, 2, 3, 2, 17, 17}, Case{2, 4, 2, 3, 1, 60, 60}}) {
    Params p;
    p.cin = c.cin;
    p.cout = c.cout;
    p.groups = c.groups;
    p.kh = p.kw = c.kernel;
    p.sh = p.sw = c.stride;
    p.pt = p.pl = c.kernel / 2;
    p.mult = {1};
    p.post_bias = {0};
    p.shift = {0};
    p.bias.assign(c.cout, 5);
    const int64_t count = c.cin / c.groups * c.cout * c.kernel * c.kernel;
    const Tensor w = RandomTensor({count, 1, 1}, -128, 127, &random);
    p.w.assign(w.data.begin(), w.data.end());
    Graph graph;
    graph.max_elems = 1 << 16;
    graph.inputs = {FixedInput({c.cin, c.height, c.width}, -128, 127)};
    graph.outputs = {AddNode(&graph, Op::kConv, {0}, p)};
    const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
    ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();
    const Tensor x = RandomTensor({c.cin, c.height, c.width}, -128, 127, &random);
    const auto y = Instance(&loaded.value()).Decode({x});
    const auto packed = Instance(&loaded.value()).DecodePacked({Pack(x, ElementType::kI8)});
    ASSERT_TRUE(y.ok() && packed.ok());
    EXPECT_TRUE(Unpack(packed.value()[0]) == y.value()[0]);
    const Shape& out = y.value()[0].shape;
    for (int64_t at = 0; at < out.elements(); ++at) {
      const int64_t o = at / (out.h * out.w);
      ASSERT_TRUE(ConvSum(p, x, o, at / out.w % out.h, at % out.w) == y.value()[0].data[at])
          << c.cin << " channels, element " << at;
    }
  }
}

// An element just outside the declared range, wherever it stands, in every type that holds it.
TEST(Run, FindsAnElementOutsideItsRange) {
  Graph graph;
  graph.inputs = {FixedInput({1, 1, 37}, -100, 100)};
  graph.outputs = {AddNode(&graph, Op::kRescale, {0}, RequantParams(Rounding::kFloor, 1, 0, 0))};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok());
  Instance instance(&loaded.value());
  Tensor x{{1, 1, 37}, Elements(37, 100)};
  for (const int64_t outside : {-101, 101}) {
    for (size_t at = 0; at < x.data.size(); ++at) {
      x.data[at] = outside;
      EXPECT_EQ(instance.Decode({x}).refusal().code, Code::kRange) << at;
      for (const ElementType type : kTypes) {
        EXPECT_EQ(instance.DecodePacked({Pack(x, type)}).refusal().code, Code::kRange) << at;
      }
      x.data[at] = -100;
      for (const ElementType type : kTypes) {
        EXPECT_TRUE(instance.DecodePacked({Pack(x, type)}).ok()) << at;
      }
    }
  }
  // What lies beyond the elements is not looked at.
  for (int64_t count = 0; count < 40; ++count) {
    Elements padded(41, 1000);
    std::fill_n(padded.begin(), count, 5);
    EXPECT_TRUE(AllWithin(padded.data(), count, -100, 100)) << count;
    EXPECT_FALSE(AllWithin(padded.data(), count + 1, -100, 100)) << count;
  }
  // A range that has its type's end alone in common with it.
  for (const auto& [value, lo, hi] : std::initializer_list<std::tuple<int8_t, int64_t, int64_t>>{
           {127, 127, 300}, {-128, -300, -128}}) {
    EXPECT_TRUE(AllWithin(&value, 1, lo, hi));
    EXPECT_FALSE(AllWithin(&value, 1, lo + 300, hi + 300));
    EXPECT_FALSE(AllWithin(&value, 1, lo - 300, hi - 300));
  }
  PackedTensor short_tensor = Pack(x, ElementType::kI16);
  short_tensor.bytes.pop_back();
  EXPECT_EQ(instance.DecodePacked({short_tensor}).refusal().code, Code::kInputs);
  short_tensor.bytes.pop_back();
  EXPECT_EQ(instance.DecodePacked({short_tensor}).refusal().code, Code::kInputs);
}

// Convolutions that follow one another, values with several readers, a state and an input that are
// outputs: packed decodes give what wide ones give, decode after decode.
TEST(Run, PackedDecodesEqualWideOnes) {
  const auto conv = [](int64_t cin, int64_t cout, int64_t weight, int64_t shift) {
    Params p = RequantParams(Rounding::kHalfUp, 1, shift, 0);
    p.cin = cin;
    p.cout = cout;
    p.kh = p.kw = 3;
    p.pt = p.pb = p.pl = p.pr = 1;
    p.bias.assign(cout, 3);
    for (int64_t i = 0; i < cin * cout * 9; ++i) {
      p.w.push_back(static_cast<int32_t>((i * 5 % 11 - 5) * weight));
    }
    return p;
  };
  Graph graph;
  graph.inputs = {FixedInput({2, 6, 6}, -128, 127),
                  StateInput({3, 6, 6}, -500, 500, std::vector<int64_t>(3 * 36, 7))};
  const uint32_t first = AddNode(&graph, Op::kConv, {0}, conv(2, 3, 1, 7));        // int8
  const uint32_t second = AddNode(&graph, Op::kConv, {first}, conv(3, 3, 9, 0));   // int32
  const uint32_t third = AddNode(&graph, Op::kConv, {second}, conv(3, 3, 1, 12));  // int16
  const uint32_t sum = AddNode(&graph, Op::kAdd, {third, 1}, Params());
  Params limits;
  limits.lo = -500;
  limits.hi = 500;
  const uint32_t next = AddNode(&graph, Op::kClamp, {sum}, limits);
  graph.outputs = {first, third, third, 1, 0, next};
  graph.updates = {next};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();
  Instance wide(&loaded.value());
  Instance packed(&loaded.value());
  std::mt19937_64 random(7);
  for (int decode = 0; decode < 4; ++decode) {
    const Tensor x = RandomTensor({2, 6, 6}, -128, 127, &random);
    const auto expected = wide.Decode({x});
    const auto outputs = packed.DecodePacked({Pack(x, kTypes[decode])});
    ASSERT_TRUE(expected.ok() && outputs.ok());
    for (size_t i = 0; i < expected.value().size(); ++i) {
      EXPECT_TRUE(Unpack(outputs.value()[i]) == expected.value()[i]) << i << " of " << decode;
    }
    EXPECT_EQ(outputs.value()[0].type, ElementType::kI8);
    EXPECT_EQ(outputs.value()[5].type, ElementType::kI16);
  }
}

// Both paths of a rescale, in 128 bits and in 64-bit lanes, against section 2.4: multipliers and
// ranges on both sides of the choice, and more elements than a lane's group.
TEST(Run, RescalesEqualTheFormula) {
  std::mt19937_64 random(5);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  const int64_t ranges[] = {1, 127, 65536, kI32Max, int64_t{1} << 31};
  const int64_t mults[] = {1, 1 << 20, (1 << 30) - 1, 1 << 30, kI32Max, int64_t{1} << 31};
  for (int round = 0; round < 3000; ++round) {
    const auto rounding = static_cast<Rounding>(round % kRoundings);
    const int64_t range = ranges[draw(0, 4)];
    const int64_t mult = mults[draw(0, 5)] * (draw(0, 1) == 0 ? 1 : -1);
    const int64_t shift = draw(0, 63);
    const int64_t post_bias = draw(0, 3) == 0 ? draw(-5, 5) << 31 : draw(-300, 300);
    Graph graph;
    graph.inputs = {FixedInput({1, 1, 11}, -range, range)};
    graph.outputs = {
        AddNode(&graph, Op::kRescale, {0}, RequantParams(rounding, mult, shift, post_bias))};
    const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
    if (!loaded.ok()) continue;
    Tensor x = RandomTensor({1, 1, 11}, -range, range, &random);
    x.data[0] = -range;
    x.data[5] = range;
    const auto outcome = Instance(&loaded.value()).Decode({x});
    ASSERT_TRUE(outcome.ok());
    for (size_t i = 0; i < x.data.size(); ++i) {
      const i128 q =
          RoundShift(rounding, static_cast<i128>(x.data[i]) * mult, static_cast<int>(shift));
      ASSERT_TRUE(q + post_bias == outcome.value()[0].data[i])
          << "round " << round << " element " << i;
    }
  }
}

// Section 9.3, over kernels, strides and pads beyond the corpus's.
TEST(Run, PhaseFormEqualsConvTranspose) {
  std::mt19937_64 random(5);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  for (int round = 0; round < 200; ++round) {
    Params p;
    p.cin = draw(1, 2);
    p.cout = draw(1, 3);
    p.kh = draw(1, 6);
    p.kw = draw(1, 6);
    p.sh = p.sw = draw(2, 5);
    p.pt = draw(0, std::min<int64_t>(p.kh - 1, 1));
    p.pb = draw(0, p.kh - 1);
    p.pl = draw(0, p.kw - 1);
    p.pr = draw(0, std::min<int64_t>(p.kw - 1, 1));
    p.rnd = draw(0, 3);
    p.n = draw(0, 1) == 0 ? 1 : p.cout;
    for (int64_t i = 0; i < p.n; ++i) {
      p.mult.push_back(draw(-9, 9));
      p.post_bias.push_back(draw(-9, 9));
      p.shift.push_back(draw(0, 5));
    }
    for (int64_t i = 0; i < p.cout; ++i) p.bias.push_back(draw(-99, 99));
    for (int64_t i = 0; i < p.cin * p.cout * p.kh * p.kw; ++i) {
      p.w.push_back(static_cast<int32_t>(draw(-99, 99)));
    }
    Graph graph;
    Input input;
    input.c = p.cin;
    graph.inputs = {input};
    const uint32_t direct = AddNode(&graph, Op::kConvTranspose, {0}, p);
    graph.outputs = {direct, AddPhaseForm(p, 0, &graph)};
    const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
    ASSERT_TRUE(loaded.ok());
    Instance instance(&loaded.value());
    const auto outcome =
        instance.Decode({RandomTensor({p.cin, draw(1, 4), draw(1, 4)}, -100, 100, &random)});
    if (!outcome.ok()) continue;
    ASSERT_EQ(outcome.value()[0], outcome.value()[1]) << "round " << round;
  }
}

TEST(Run, ValuesInsideAndTheirRelease) {
  Graph graph;
  graph.inputs = {FixedInput({1, 1, 2}, -9, 9)};
  const uint32_t doubled = AddNode(&graph, Op::kAdd, {0, 0}, {});
  const uint32_t clamped = AddNode(&graph, Op::kClamp, {doubled}, LimitParams(-3, 3));
  graph.outputs = {clamped, 0, clamped};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok());
  Instance instance(&loaded.value());
  const Tensor x{{1, 1, 2}, {-9, 1}};
  const auto outputs = instance.Decode({x});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs.value()[0].data, (Elements{-3, 2}));
  EXPECT_EQ(outputs.value()[1], x);
  EXPECT_EQ(outputs.value()[2].data, (Elements{-3, 2}));
  const auto inside = instance.DecodeValues({x}, {doubled});
  ASSERT_TRUE(inside.ok());
  EXPECT_EQ(inside.value()[0].data, (Elements{-18, 2}));
}

// Run step 3 where the shapes are a decode's: the limit itself is allowed, and what is refused is
// named.
TEST(Run, MaxElemsAndTheInputAtFault) {
  Graph graph;
  Input input;
  input.c = 1;
  input.lo = 0;
  input.hi = 1;
  graph.max_elems = 6;
  graph.inputs = {input, input};
  graph.outputs = {AddNode(&graph, Op::kAdd, {0, 1}, {})};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok());
  Instance instance(&loaded.value());
  const Tensor six{{1, 2, 3}, Elements(6, 1)};
  const Tensor eight{{1, 2, 4}, Elements(8, 1)};
  EXPECT_TRUE(instance.Decode({six, six}).ok());
  EXPECT_EQ(instance.ElementsOf({six, six}), 18);
  EXPECT_EQ(instance.Decode({eight, eight}).refusal().Text(),
            "max_elems: value 0: more than max_elems elements");
  EXPECT_EQ(instance.ElementsOf({eight, eight}), 0);
  EXPECT_EQ(instance.Decode({six, Tensor{{2, 1, 3}, Elements(6, 1)}}).refusal().Text(),
            "shape: input 1: not the declared shape");
}

TEST(Run, InstancesShareNoState) {
  Graph graph;
  graph.inputs = {FixedInput({1, 1, 1}, -5, 5), StateInput({1, 1, 1}, -50, 50, {0})};
  const uint32_t sum = AddNode(&graph, Op::kAdd, {0, 1}, {});
  const uint32_t clamp = AddNode(&graph, Op::kClamp, {sum}, LimitParams(-50, 50));
  graph.outputs = {clamp};
  graph.updates = {clamp};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok());
  Instance first(&loaded.value());
  Instance second(&loaded.value());
  const std::vector<Tensor> five = {{{1, 1, 1}, {5}}};
  EXPECT_EQ(first.Decode(five).value()[0].data[0], 5);
  EXPECT_EQ(first.Decode(five).value()[0].data[0], 10);
  EXPECT_EQ(second.Decode(five).value()[0].data[0], 5);
}

TEST(Run, MalformedTensorsAreRefusedBeforeAnythingElse) {
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(BaseCase(Op::kElu).Build()));
  ASSERT_TRUE(loaded.ok());
  Instance instance(&loaded.value());
  const auto code = [&](const Shape& shape, size_t count) {
    const auto outcome = instance.Decode({Tensor{shape, Elements(count, 1000)}});
    return outcome.ok() ? "ok" : std::string(CodeName(outcome.refusal().code));
  };
  EXPECT_EQ(code({0, 1, 1}, 0), "inputs");
  EXPECT_EQ(code({1, 65536, 1}, 65536), "inputs");
  EXPECT_EQ(code({-1, -1, 1}, 1), "inputs");
  EXPECT_EQ(code({2, 1, 1}, 1), "inputs");
  EXPECT_EQ(code({65535, 65535, 65535}, 0), "inputs") << "the product is exact";
  EXPECT_EQ(code({2, 1, 1}, 2), "range");
}

// A single element through one operator.
int64_t Eval(Op op, const std::function<void(BaseCase*)>& change, int64_t x) {
  BaseCase base(op);
  base.OneChannel(1, 1);
  base.SetRange(-(int64_t{1} << 40), int64_t{1} << 40);
  change(&base);
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(base.Build()));
  if (!loaded.ok()) return kI64Min;
  Instance instance(&loaded.value());
  const auto outcome = instance.Decode({Tensor{{1, 1, 1}, {x}}});
  return outcome.ok() ? outcome.value()[0].data[0] : kI64Min;
}

TEST(Run, AnnexASigmoidAndElu) {
  const auto nothing = [](BaseCase*) {};
  const int64_t sigmoid[][2] = {{-8192, 0}, {-2000, 13},  {-256, 8813},  {-1, 16352},  {0, 16384},
                                {1, 16416}, {256, 23955}, {2000, 32755}, {8192, 32768}};
  for (const auto& row : sigmoid) EXPECT_EQ(Eval(Op::kSigmoid, nothing, row[0]), row[1]) << row[0];
  const int64_t elu[][2] = {{-8192, -256}, {-2000, -256}, {-256, -162}, {-1, -1}, {0, 0}, {7, 7}};
  for (const auto& row : elu) EXPECT_EQ(Eval(Op::kElu, nothing, row[0]), row[1]) << row[0];
}

TEST(Run, LeakyRoundsItsNegativeSideUp) {
  const auto half = [](BaseCase* c) { c->p.a = 32768; };
  EXPECT_EQ(Eval(Op::kLeaky, half, -3), -1);  // -1.5
  EXPECT_EQ(Eval(Op::kLeaky, half, -1), 0);   // -0.5
  EXPECT_EQ(Eval(Op::kLeaky, half, -5), -2);  // -2.5
  EXPECT_EQ(Eval(Op::kLeaky, half, 5), 5);
}

TEST(Run, LutInterpolates) {
  const auto narrow = [](BaseCase* c) { c->SetRange(-32767, 32767); };
  // T[j] = 128 (j - 128) is x/2: between entries half up of (256 T[j] + 128 fr)/256.
  EXPECT_EQ(Eval(Op::kLut16, narrow, 0), 0);
  EXPECT_EQ(Eval(Op::kLut16, narrow, 1), 1);    // 0.5
  EXPECT_EQ(Eval(Op::kLut16, narrow, -1), 0);   // -0.5
  EXPECT_EQ(Eval(Op::kLut16, narrow, -3), -1);  // -1.5
  EXPECT_EQ(Eval(Op::kLut16, narrow, 32767), 16384);
}

TEST(Run, NormsByHand) {
  // l2norm of (3, 4), eps 1, k 8: D = floor(sqrt 26) = 5; 3*256/5 = 153.6, 4*256/5 = 204.8.
  const Result<PlannedGraph> l2 = LoadWhg1(WriteWhg1(BaseCase(Op::kL2norm).Build()));
  ASSERT_TRUE(l2.ok());
  EXPECT_EQ(Instance(&l2.value()).Decode({Tensor{{2, 1, 1}, {3, 4}}}).value()[0].data,
            (Elements{154, 205}));
  // layernorm_c of (1, 4): s 5; d -3, 3; ss 18; D = floor(sqrt(9 + 1)) = 3; -3*256/3.
  const Result<PlannedGraph> norm = LoadWhg1(WriteWhg1(BaseCase(Op::kLayernormC).Build()));
  ASSERT_TRUE(norm.ok());
  EXPECT_EQ(Instance(&norm.value()).Decode({Tensor{{2, 1, 1}, {1, 4}}}).value()[0].data,
            (Elements{-256, 256}));
}

TEST(Run, IgdnByHand) {
  BaseCase base(Op::kIgdn);
  base.shift = 1;
  Graph graph = base.Build();
  graph.nodes[0].params.gamma = {1, 2, 3, 4};
  graph.nodes[0].params.beta = {10, 20};
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
  ASSERT_TRUE(loaded.ok());
  // x = (-3, 5): n0 = 10 + 3 + 10 = 23, n1 = 20 + 9 + 20 = 49; -69/2 half up, 245/2 half up.
  EXPECT_EQ(Instance(&loaded.value()).Decode({Tensor{{2, 1, 1}, {-3, 5}}}).value()[0].data,
            (Elements{-34, 123}));
}

TEST(Run, MovesByHand) {
  // pixel_shuffle r 2 on (4,1,1): channel c*4 + dy*2 + dx goes to (dy, dx).
  const Result<PlannedGraph> shuffle = LoadWhg1(WriteWhg1(BaseCase(Op::kPixelShuffle).Build()));
  ASSERT_TRUE(shuffle.ok());
  const auto shuffled =
      Instance(&shuffle.value()).Decode({Tensor{{4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}});
  EXPECT_EQ(shuffled.value()[0], (Tensor{{1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8}}));

  BaseCase crop(Op::kCrop);
  crop.p.pt = 1;
  crop.p.pr = 2;
  const Result<PlannedGraph> cropped = LoadWhg1(WriteWhg1(crop.Build()));
  ASSERT_TRUE(cropped.ok());
  const Tensor grid{{2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_EQ(Instance(&cropped.value()).Decode({grid}).value()[0], (Tensor{{2, 1, 1}, {4, 10}}));

  BaseCase pad(Op::kPad);
  pad.p.pb = 1;
  pad.p.pl = 1;
  pad.p.v = -7;
  const Result<PlannedGraph> padded = LoadWhg1(WriteWhg1(pad.Build()));
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(Instance(&padded.value()).Decode({Tensor{{2, 1, 1}, {1, 2}}}).value()[0],
            (Tensor{{2, 2, 2}, {-7, 1, -7, -7, -7, 2, -7, -7}}));
}

}  // namespace
}  // namespace helx::ops
