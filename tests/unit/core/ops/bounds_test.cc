#include "core/ops/bounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "core/ops/run.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

// The named intervals of the last node, as "name lo hi" in order, "~" for wide.
std::string NamedText(const Graph& graph) {
  const Result<PlannedGraph> planned = PlanWhg1(WriteWhg1(graph));
  if (!planned.ok()) return planned.refusal().Text();
  std::string text;
  for (const NamedInterval& named : planned.value().bounds.values.back().named) {
    if (!text.empty()) text += "; ";
    text +=
        named.CertificateName() + " " + ToText(named.interval.lo) + " " + ToText(named.interval.hi);
  }
  return text;
}

std::string FailuresText(const std::vector<Failure>& failures) {
  std::string text;
  for (const Failure& failure : failures) {
    text += (text.empty() ? "" : " ") + std::to_string(failure.id) + ":" + failure.name;
  }
  return text;
}

struct Failures {
  std::string acc32;
  std::string acc64;
};

Failures FailuresOf(const Graph& graph) {
  const Result<PlannedGraph> planned = PlanWhg1(WriteWhg1(graph));
  if (!planned.ok()) return {planned.refusal().Text(), planned.refusal().Text()};
  return {FailuresText(planned.value().bounds.fail_acc32),
          FailuresText(planned.value().bounds.fail_acc64)};
}

Graph BaseWith(Op op, const std::function<void(BaseCase*)>& change) {
  BaseCase base(op);
  change(&base);
  return base.Build();
}

// Every interval below is calculated by hand from section 5's Bounds.

TEST(Bounds, ConvWithoutPads) {
  // Two taps per output, w 3 and -2, bias 5, x in [-10, 20]:
  // 3x in [-30, 60], -2x in [-40, 20]; part [0-70, 5+80]; acc [5-70, 5+80].
  Graph graph = BaseWith(Op::kConv, [](BaseCase* c) {
    c->SetRange(-10, 20);
    c->p.cout = 1;
    c->bias = 5;
    c->mult = 3;
    c->shift = 1;
    c->post_bias = 100;
  });
  graph.nodes[0].params.w = {3, -2};
  EXPECT_EQ(NamedText(graph), "part -70 85; acc -65 85; ~p -195 255; q -97 128; y 3 228");
}

TEST(Bounds, ConvWithPadsCountsAbsentTaps) {
  // x in [10, 20]: 3x in [30, 60], -2x in [-40, -20]; a tap may be absent.
  Graph graph = BaseWith(Op::kConv, [](BaseCase* c) {
    c->SetRange(10, 20);
    c->p.cout = 1;
    c->bias = -5;
  });
  graph.nodes[0].params.w = {3, -2};
  EXPECT_EQ(NamedText(graph), "part -45 60; acc -15 35; ~p -15 35; q -15 35; y -15 35");
  for (int side = 0; side < 4; ++side) {
    Params& p = graph.nodes[0].params;
    p.pt = side == 0;
    p.pb = side == 1;
    p.pl = side == 2;
    p.pr = side == 3;
    EXPECT_EQ(NamedText(graph), "part -45 60; acc -45 55; ~p -45 55; q -45 55; y -45 55");
  }
}

TEST(Bounds, ConvRecordsTheHullOverChannels) {
  // Outputs 4x and -x of one input in [-1, 2], mult 1 and 10: acc [-4, 8] and [-2, 1].
  Graph graph = BaseWith(Op::kConv, [](BaseCase* c) {
    c->OneChannel(3, 3);
    c->SetRange(-1, 2);
    c->p.cout = 2;
  });
  Params& p = graph.nodes[0].params;
  p.w = {4, -1};
  p.n = 2;
  p.mult = {1, 10};
  p.post_bias = {0, 0};
  p.shift = {0, 0};
  EXPECT_EQ(NamedText(graph), "part -4 8; acc -4 8; ~p -20 10; q -20 10; y -20 10");
}

TEST(Bounds, ConvTransposeByPhase) {
  // Kernel 3, stride 2 on one axis: phases {0, 2} and {1} of w 1, 10, 100, x in [1, 2].
  Graph graph = BaseWith(Op::kConvTranspose, [](BaseCase* c) {
    c->OneChannel(3, 3);
    c->SetRange(1, 2);
    c->p.kw = 3;
    c->p.sw = 2;
    c->bias = 7;
  });
  graph.nodes[0].params.w = {1, 10, 100};
  EXPECT_EQ(NamedText(graph), "part 0 209; acc 7 209; ~p 7 209; q 7 209; y 7 209");
  // Stride 4 leaves phase 3 without a tap: the bias alone, which is the hull's low end here.
  graph.nodes[0].params.sw = 4;
  graph.nodes[0].params.w = {-1, -10, -100};
  EXPECT_EQ(NamedText(graph), "part -200 7; acc -193 7; ~p -193 7; q -193 7; y -193 7");
  graph.nodes[0].params.sw = 1;
  graph.nodes[0].params.sh = 2;
  EXPECT_EQ(NamedText(graph), "part -222 7; acc -215 7; ~p -215 7; q -215 7; y -215 7");
}

TEST(Bounds, RescaleByNegativeMultiplier) {
  const Graph graph = BaseWith(Op::kRescale, [](BaseCase* c) {
    c->SetRange(-3, 8);
    c->mult = -5;
    c->shift = 2;
    c->post_bias = -1;
  });
  // p [-40, 15]; half_up by 4: [-10, 4]; y [-11, 3].
  EXPECT_EQ(NamedText(graph), "~p -40 15; q -10 4; y -11 3");
}

TEST(Bounds, AddAndMul) {
  const auto two = [](Op op, Range a, Range b) {
    return BaseWith(op, [&](BaseCase* c) {
      c->ranges = {a, b};
      c->mult = 3;
      c->shift = 1;
      c->p.rnd = 0;
    });
  };
  EXPECT_EQ(NamedText(two(Op::kAdd, {-5, 3}, {2, 7})), "y -3 10");
  EXPECT_EQ(NamedText(two(Op::kMul, {-5, 3}, {2, 7})), "acc -35 21; ~p -105 63; q -53 31");
  EXPECT_EQ(NamedText(two(Op::kMul, {-5, -3}, {-7, 2})), "acc -10 35; ~p -30 105; q -15 52");
}

TEST(Bounds, MulOfAValueWithItselfIsNotASquare) {
  Graph graph = BaseWith(Op::kMul, [](BaseCase* c) { c->SetRange(-5, 3); });
  graph.inputs.pop_back();
  graph.nodes[0].args = {0, 0};
  graph.outputs = {1};
  EXPECT_EQ(NamedText(graph), "acc -15 25; ~p -15 25; q -15 25");
}

TEST(Bounds, Lut16) {
  // Entries 127..129 of T around 0; x in [-1, 1] uses T[127], T[128], T[129].
  Graph graph = BaseWith(Op::kLut16, [](BaseCase* c) { c->SetRange(-1, 1); });
  graph.nodes[0].params.table[127] = -500;
  graph.nodes[0].params.table[129] = 700;
  graph.nodes[0].params.table[126] = -9999;
  graph.nodes[0].params.table[130] = 9999;
  EXPECT_EQ(NamedText(graph), "x -1 1; y -500 700");
  graph.inputs[0].hi = 40000;
  graph.nodes[0].params.table[256] = 30000;
  EXPECT_EQ(NamedText(graph), "x -1 40000; y -500 30000") << "recorded unclamped, used clamped";
  EXPECT_EQ(FailuresOf(graph).acc32, "1:x");
  EXPECT_EQ(FailuresOf(graph).acc64, "1:x");
}

TEST(Bounds, SigmoidAndElu) {
  const auto with = [](Op op, int64_t lo, int64_t hi) {
    return NamedText(BaseWith(op, [&](BaseCase* c) { c->SetRange(lo, hi); }));
  };
  EXPECT_EQ(with(Op::kSigmoid, -7, 3), "exp.negx 0 7; y 0 32768");
  EXPECT_EQ(with(Op::kSigmoid, 2, 3), "exp.negx 0 3; y 0 32768");
  EXPECT_EQ(with(Op::kElu, -7, 3), "exp.negx 0 7; y -256 3");
  EXPECT_EQ(with(Op::kElu, 2, 3), "exp.negx 0 0; y 2 3");
  EXPECT_EQ(with(Op::kElu, -7, -2), "exp.negx 0 7; y -256 0");
}

TEST(Bounds, Leaky) {
  const auto with = [](int64_t lo, int64_t hi) {
    return NamedText(BaseWith(Op::kLeaky, [&](BaseCase* c) {
      c->SetRange(lo, hi);
      c->p.a = 16384;  // 1/4
    }));
  };
  EXPECT_EQ(with(-10, 3), "~p -163840 0; y -2 3");  // half up of -2.5 is -2
  EXPECT_EQ(with(-11, -6), "~p -180224 -98304; y -3 -1");
  EXPECT_EQ(with(4, 9), "~p 0 0; y 4 9");
}

TEST(Bounds, Igdn) {
  // c = 2: n_i <= 1 + 3 * |x| * 2; x in [-4, 2]: absx [0, 4]; acc [0, 25]; p [-100, 50]; >> 1.
  Graph graph = BaseWith(Op::kIgdn, [](BaseCase* c) {
    c->SetRange(-4, 2);
    c->gamma = 3;
    c->shift = 1;
    c->p.rnd = 0;
  });
  EXPECT_EQ(NamedText(graph), "igdn.absx 0 4; acc 0 25; ~p -100 50; y -50 25");
  graph.inputs[0].lo = -4;
  graph.inputs[0].hi = -3;
  EXPECT_EQ(NamedText(graph), "igdn.absx 3 4; acc 0 25; ~p -100 0; y -50 0");
}

TEST(Bounds, Chscale) {
  Graph graph = BaseWith(Op::kChscale, [](BaseCase* c) { c->SetRange(-4, 3); });
  graph.nodes[0].params.m = {2, -3};
  graph.nodes[0].params.s = {1, 0};
  EXPECT_EQ(NamedText(graph), "~p -9 12; y -9 12");
}

TEST(Bounds, L2norm) {
  // C = 2, x in [-3, 5]: ss [0, 50]; eps 1: Rr [1, 51]; D [1, 7]; k 2: n [-12, 20];
  // y: -12/1 and 20/1 clamped to [-4, 4].
  const auto with = [](int64_t lo, int64_t hi, uint64_t eps) {
    return NamedText(BaseWith(Op::kL2norm, [&](BaseCase* c) {
      c->SetRange(lo, hi);
      c->p.k = 2;
      c->p.eps = eps;
    }));
  };
  EXPECT_EQ(with(-3, 5, 1), "ss 0 50; ~Rr 1 51; ~n -12 20; D 1 7; y -4 4");
  // x in [2, 3]: ss [8, 18]; Rr [108, 118]; D [10, 10]; n [8, 12]; 8/10 and 12/10 round to 1.
  EXPECT_EQ(with(2, 3, 100), "ss 8 18; ~Rr 108 118; ~n 8 12; D 10 10; y 1 1");
  // x in [-9, -4]: ss [32, 162]; Rr [33, 163]; D [5, 12]; n [-36, -16]; -36/5 clamped, -16/12.
  EXPECT_EQ(with(-9, -4, 1), "ss 32 162; ~Rr 33 163; ~n -36 -16; D 5 12; y -4 -1");
  // x in [40, 90]: D [56, 127]; n [160, 360]; 160/127 = 1.26, 360/56 clamped to 4.
  EXPECT_EQ(with(40, 90, 1), "ss 3200 16200; ~Rr 3201 16201; ~n 160 360; D 56 127; y 1 4");
}

TEST(Bounds, LayernormC) {
  // C = 3, x in [2, 4]: s [0, 12]; d [-6, 6]; ss [0, 108]; Rr [1, 37]; k 1: n [-12, 12];
  // D [1, 6]; B = 4 * (1 + 1) = 8.
  EXPECT_EQ(NamedText(BaseWith(Op::kLayernormC,
                               [](BaseCase* c) {
                                 c->shape = {3, 3, 3};
                                 c->SetRange(2, 4);
                                 c->p.k = 1;
                               })),
            "s 0 12; d -6 6; ss 0 108; ~Rr 1 37; ~n -12 12; D 1 6; y -8 8");
  // eps 100: Rr [100, 136]; D [10, 11]; 12/10 rounds to 1.
  EXPECT_EQ(NamedText(BaseWith(Op::kLayernormC,
                               [](BaseCase* c) {
                                 c->shape = {3, 3, 3};
                                 c->SetRange(-4, -2);
                                 c->p.k = 1;
                                 c->p.eps = 100;
                               })),
            "s -12 0; d -6 6; ss 0 108; ~Rr 100 136; ~n -12 12; D 10 11; y -1 1");
}

TEST(Bounds, ClampCheckPadConcatDivc) {
  const auto ranged = [](Op op, int64_t lo, int64_t hi, int64_t a, int64_t b) {
    return BaseWith(op, [&](BaseCase* c) {
      c->SetRange(lo, hi);
      c->p.lo = a;
      c->p.hi = b;
    });
  };
  EXPECT_EQ(NamedText(ranged(Op::kClamp, -9, 9, -3, 20)), "y -3 9");
  EXPECT_EQ(NamedText(ranged(Op::kClamp, 30, 40, -3, 20)), "y 20 20");
  EXPECT_EQ(NamedText(ranged(Op::kCheck, -9, 9, -3, 20)), "x -9 9; y -3 9");
  EXPECT_EQ(NamedText(ranged(Op::kCheck, 30, 40, -3, 20)), "x 30 40; y 20 20");
  EXPECT_EQ(NamedText(ranged(Op::kCheck, -40, -30, -3, 20)), "x -40 -30; y -3 -3");
  EXPECT_EQ(FailuresOf(ranged(Op::kCheck, -40, -30, -3, 20)).acc64, "1:x");
  EXPECT_EQ(FailuresOf(ranged(Op::kCheck, -40, -3, -3, 20)).acc32, "");

  const auto pad = [](int64_t pr, int64_t v) {
    return NamedText(BaseWith(Op::kPad, [&](BaseCase* c) {
      c->SetRange(2, 5);
      c->p.pr = pr;
      c->p.v = v;
    }));
  };
  EXPECT_EQ(pad(1, 9), "y 2 9");
  EXPECT_EQ(pad(1, -9), "y -9 5");
  EXPECT_EQ(pad(0, 9), "y 2 5");
  EXPECT_EQ(NamedText(BaseWith(Op::kConcat,
                               [](BaseCase* c) {
                                 c->ranges = {{1, 2}, {-7, 0}};
                               })),
            "y -7 2");
  EXPECT_EQ(NamedText(BaseWith(Op::kDivc,
                               [](BaseCase* c) {
                                 c->SetRange(-10, 7);
                                 c->p.d = 4;
                               })),
            "y -3 2");  // -2.5 and 1.75, half away from zero
}

TEST(Bounds, ACheckMayNarrowWhatPassesItsType) {
  // x is beyond i32 and recorded, and not tested; y is within it.
  const Graph graph = BaseWith(Op::kCheck, [](BaseCase* c) { c->SetRange(-1, int64_t{1} << 40); });
  EXPECT_EQ(FailuresOf(graph).acc32, "0:x") << "the input's own interval, not the check's";
}

TEST(Bounds, TypesAreTestedAtTheirEnds) {
  const auto input = [](int64_t lo, int64_t hi) {
    return FailuresOf(BaseWith(Op::kElu, [&](BaseCase* c) { c->SetRange(lo, hi); })).acc32;
  };
  EXPECT_EQ(input(0, kI32Max), "");
  EXPECT_EQ(input(0, kI32Max + 1), "0:x 1:y");
  EXPECT_EQ(input(-kI32Max, 0), "");
  EXPECT_EQ(input(kI32Min, 0), "1:exp.negx") << "-(-2^31) is 2^31";
  EXPECT_EQ(input(kI32Min - 1, 0), "0:x 1:exp.negx");

  // A wide value may fill i64 under acc32: p = 2^32 * 2^31 - ... at its ends.
  const auto wide = [](int64_t hi, int64_t mult) {
    return FailuresOf(BaseWith(Op::kRescale,
                               [&](BaseCase* c) {
                                 c->SetRange(0, hi);
                                 c->mult = mult;
                                 c->shift = 62;
                               }))
        .acc32;
  };
  EXPECT_EQ(wide(kI32Max, kI32Max), "");
  EXPECT_EQ(wide(kI32Max, int64_t{1} << 33), "1:~p 1:rq.mult");
}

TEST(Bounds, FailuresFollowTheNamesThenTheConditions) {
  const Failures failures = FailuresOf(BaseWith(Op::kConv, [](BaseCase* c) {
    c->SetRange(kI64Min, kI64Max);
    c->w = 40000;
    c->mult = kI64Max;
    c->shift = 63;
    c->post_bias = kI64Max;
  }));
  EXPECT_EQ(failures.acc32,
            "0:x 1:part 1:acc 1:~p 1:q 1:y 1:rq.mult 1:rq.shift 1:rq.post_bias 1:weights");
  EXPECT_EQ(failures.acc64, "1:part 1:acc 1:y");
}

TEST(Bounds, TheLimitOfTwoToThe126) {
  // x^2 = 2^126 for x = -2^63; twice that is recorded as 2^126.
  const std::string text =
      NamedText(BaseWith(Op::kL2norm, [](BaseCase* c) { c->SetRange(kI64Min, kI64Max); }));
  EXPECT_EQ(text.substr(0, text.find(';')), "ss 0 85070591730234615865843651857942052864");
  // Used clamped: ss_hi is 2^63 - 1, so Rr is 2^63 with eps 1.
  EXPECT_NE(text.find("~Rr 1 9223372036854775808"), std::string::npos) << text;
}

TEST(Bounds, TwoStatesWithOneUpdateFailOnce) {
  Graph graph;
  graph.inputs = {FixedInput({1, 1, 1}, -9, 9), StateInput({1, 1, 1}, -1, 1, {0}),
                  StateInput({1, 1, 1}, -1, 1, {0})};
  const uint32_t copy = AddNode(&graph, Op::kElu, {0}, {});
  graph.outputs = {copy};
  graph.updates = {copy, copy};
  EXPECT_EQ(FailuresOf(graph).acc64, "3:state");
}

TEST(Npu, ReasonsAndFlags) {
  const auto verdict = [](const Graph& graph) {
    const Result<PlannedGraph> planned = PlanWhg1(WriteWhg1(graph));
    return ComputeNpuVerdict(graph, planned.value().verdict);
  };
  const NpuVerdict plain = verdict(BaseWith(Op::kRescale, [](BaseCase*) {}));
  EXPECT_TRUE(plain.npu);
  EXPECT_TRUE(plain.flags.empty()) << "shift 0 rounds nothing";
  const auto rescale = [&](int64_t shift, int64_t mult) {
    return verdict(BaseWith(Op::kRescale,
                            [&](BaseCase* c) {
                              c->SetRange(-1, 1);
                              c->shift = shift;
                              c->mult = mult;
                              c->p.rnd = 3;
                            }))
        .flags;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(rescale(1, 32767), Words{"round:half_even"});
  EXPECT_EQ(rescale(59, -32768), (Words{"mult:wide", "round:half_even"}));
  EXPECT_EQ(rescale(60, -32767), (Words{"round:half_even", "shift_60"}));

  Graph large = BaseWith(Op::kClamp, [](BaseCase*) {});
  large.max_elems = (int64_t{1} << 24) + 1;
  EXPECT_EQ(verdict(large).reasons, Words{"size"});
  large.max_elems = int64_t{1} << 24;
  EXPECT_TRUE(verdict(large).npu);

  const NpuVerdict outside =
      verdict(BaseWith(Op::kDivc, [](BaseCase* c) { c->SetRange(0, int64_t{1} << 40); }));
  EXPECT_FALSE(outside.npu);
  EXPECT_EQ(outside.reasons, (Words{"op:divc", "profile"}));
  EXPECT_EQ(verdict(BaseWith(Op::kLeaky, [](BaseCase*) {})).flags, Words{"round:half_up"});
  const NpuVerdict strided =
      verdict(BaseWith(Op::kConvTranspose, [](BaseCase* c) { c->p.sw = 2; }));
  EXPECT_EQ(strided.flags, Words{"phase"});
  EXPECT_TRUE(verdict(BaseWith(Op::kConvTranspose, [](BaseCase*) {})).flags.empty());
  EXPECT_TRUE(verdict(BaseWith(Op::kConv, [](BaseCase* c) { c->p.sw = 2; })).flags.empty());
}

// Whatever the pass records of the output holds for every decode (the property the profiles rest
// on): random one-operator graphs, inputs drawn at the ends as often as between them.
TEST(Bounds, HoldForRandomDecodes) {
  std::mt19937_64 random(7);
  const auto draw = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random() % static_cast<uint64_t>(hi - lo + 1));
  };
  for (int round = 0; round < 4000; ++round) {
    const Op op = static_cast<Op>(draw(kFirstOp, kLastOp));
    BaseCase base(op);
    if (op != Op::kPixelShuffle) base.shape = {draw(1, 3), draw(1, 4), draw(1, 4)};
    for (Range& range : base.ranges) {
      const int64_t a = draw(-300, 300);
      range = {a, a + draw(0, 300)};
    }
    base.p.rnd = draw(0, 3);
    base.mult = base.m = draw(-50, 50);
    base.shift = base.s = draw(0, 6);
    base.post_bias = draw(-50, 50);
    base.bias = draw(-50, 50);
    base.gamma = draw(0, 5);
    base.p.kh = draw(1, 2);
    base.p.sw = draw(1, 2);
    base.p.pt = base.p.kh - 1;
    base.p.k = draw(0, 6);
    base.p.f = draw(0, 12);
    base.p.d = draw(1, 9);
    base.p.v = draw(-400, 400);
    base.p.c1 = base.shape.c;
    Graph graph = base.Build();
    for (int32_t& w : graph.nodes[0].params.w) w = static_cast<int32_t>(draw(-9, 9));
    const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(graph));
    if (!loaded.ok()) continue;
    Instance instance(&loaded.value());
    std::vector<Tensor> inputs;
    for (const Range& range : base.ranges) {
      Tensor tensor{base.shape, {}};
      for (int64_t i = 0; i < base.shape.elements(); ++i) {
        const int64_t kind = draw(0, 2);
        tensor.data.push_back(kind == 0   ? range.lo
                              : kind == 1 ? range.hi
                                          : draw(range.lo, range.hi));
      }
      inputs.push_back(std::move(tensor));
    }
    const auto outcome = instance.Decode(inputs);
    if (!outcome.ok()) continue;
    const Interval bounds = loaded.value().bounds.values.back().out;
    for (const int64_t v : outcome.value()[0].data) {
      ASSERT_TRUE(v >= bounds.lo && v <= bounds.hi)
          << OpName(op) << ": " << v << " is outside " << ToText(bounds.lo) << ".."
          << ToText(bounds.hi);
    }
  }
}

}  // namespace
}  // namespace helx::ops
