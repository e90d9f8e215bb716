// The checks of docs/integer-operators.md, section 10.5, that have no vector in the corpus: one
// test each, on the byte or the parameter that breaks it and on the value next to it that does not.
#include "core/ops/load.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

// Offsets in base(rescale)'s file (Annex B.1).
constexpr size_t kInputAt = 64;
constexpr size_t kNodeAt = 112;
constexpr size_t kOutputAt = 124;

std::string Base() { return WriteWhg1(BaseCase(Op::kRescale).Build()); }

TEST(Crc32, CheckValue) { EXPECT_EQ(Crc32("123456789"), 0xCBF43926u); }

TEST(Load, AnnexB1Bytes) {
  const std::string bytes = Base();
  ASSERT_EQ(bytes.size(), 154u);
  EXPECT_EQ(bytes.substr(0, 8), std::string("WHG1\x01\0\0\0", 8));
  // body_crc and header_crc of Annex B.1.
  EXPECT_EQ(bytes.substr(40, 4), std::string("\x32\x2d\x9d\xbd", 4));
  EXPECT_EQ(bytes.substr(60, 4), std::string("\xe4\xad\x3d\x1f", 4));
  EXPECT_EQ(LoadOutcome(bytes), "ok");
}

TEST(LoadStep1, CountsAndReservedBytes) {
  for (const auto& [at, value, width] : std::initializer_list<std::tuple<size_t, uint64_t, int>>{
           {8, 0, 4},  // n_in
           {8, 257, 4},
           {12, 65537, 4},  // n_nodes
           {16, 0, 4},      // n_out
           {16, 257, 4},
           {20, 2, 4},           // n_state above n_in
           {24, 1ull << 31, 8},  // max_elems
           {24, 1ull << 63, 8},
           {32, 0xFFFFFFFF, 4},  // params_len that passes the file
           {36, 153, 4},         // file_len
           {39, 1, 1}}) {
    EXPECT_EQ(LoadOutcome(Patched(Base(), at, value, width)), "header") << at << " " << value;
  }
  EXPECT_EQ(LoadOutcome(Patched(Base(), 24, (1ull << 31) - 1, 8)), "ok");
  for (size_t at = 44; at < 60; ++at) {
    EXPECT_EQ(LoadOutcome(Patched(Base(), at, 1, 1)), "header") << at;
  }
  EXPECT_EQ(LoadOutcome(std::string()), "header");
  for (size_t length = 0; length < 154; ++length) {
    EXPECT_EQ(LoadOutcome(Base().substr(0, length)), "header") << length;
  }
}

// Files that are right in all but one count, whose tables are as long as the count says.
TEST(LoadStep1, CountsOfWholeTables) {
  const auto inputs = [](size_t count) {
    Graph graph = BaseCase(Op::kRescale).Build();
    graph.inputs.resize(count, graph.inputs[0]);
    graph.outputs = {static_cast<uint32_t>(count)};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(inputs(256), "ok");
  EXPECT_EQ(inputs(257), "header");
  const auto outputs = [](size_t count) {
    Graph graph = BaseCase(Op::kRescale).Build();
    graph.outputs.resize(count, graph.outputs[0]);
    return LoadOutcome(graph);
  };
  EXPECT_EQ(outputs(0), "header");
  EXPECT_EQ(outputs(256), "ok");
  EXPECT_EQ(outputs(257), "header");
  // Each adds the one before it to the input: 65536 of them take x in [0, 1] to at most 65537.
  const auto nodes = [](uint32_t count) {
    Graph graph;
    graph.inputs = {FixedInput({1, 1, 1}, 0, 1)};
    for (uint32_t i = 0; i < count; ++i) AddNode(&graph, Op::kAdd, {i, 0}, {});
    graph.outputs = {count};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(nodes(0), "header");
  EXPECT_EQ(nodes(65536), "ok");
  EXPECT_EQ(nodes(65537), "header");
}

TEST(LoadStep1, PrecedesTheChecksums) {
  std::string bytes = Base();
  PatchField(&bytes, 4, 2, 2);
  EXPECT_EQ(LoadOutcome(bytes), "header");
}

TEST(LoadStep2, EveryBitIsCovered) {
  const std::string bytes = Base();
  for (size_t at = 64; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_EQ(LoadOutcome(flipped), "checksum") << at;
  }
  std::string crc = bytes;
  crc[40] = static_cast<char>(crc[40] ^ 1);
  EXPECT_EQ(LoadOutcome(crc), "checksum");
}

TEST(LoadStep3, InputEntry) {
  for (const auto& [at, value, width] : std::initializer_list<std::tuple<size_t, uint64_t, int>>{
           {2, 1, 2},      // reserved
           {4, 65536, 4},  // c
           {8, 0, 4},      // h_cap
           {8, 65536, 4},
           {12, 0, 4},  // w_cap
           {12, 65536, 4},
           {32, 1, 4},  // init_off of a data input
           {40, 1, 8},  // reserved
           {47, 1, 1}}) {
    EXPECT_EQ(LoadOutcome(Patched(Base(), kInputAt + at, value, width)), "inputs") << at;
  }
  EXPECT_EQ(LoadOutcome(Patched(Base(), kInputAt + 8, 65535, 4)), "ok");
}

// A state (1,1,2), range [-5, 5], whose update is a clamp of it.
Graph StateGraph() {
  Graph graph;
  graph.inputs = {StateInput({1, 1, 2}, -5, 5, {1, -2})};
  const uint32_t clamp = AddNode(&graph, Op::kClamp, {0}, LimitParams(-5, 5));
  graph.outputs = {clamp};
  graph.updates = {clamp};
  return graph;
}

TEST(LoadStep3, StateEntry) {
  const std::string bytes = WriteWhg1(StateGraph());
  EXPECT_EQ(LoadOutcome(bytes), "ok");
  EXPECT_EQ(LoadOutcome(Patched(bytes, kInputAt + 1, 0, 1)), "inputs") << "a state is fixed";
  EXPECT_EQ(LoadOutcome(Patched(bytes, kInputAt + 32, 8, 4)), "inputs") << "init_off";
  EXPECT_EQ(LoadOutcome(Patched(bytes, kInputAt + 36, 8, 4)), "inputs") << "init_len";
  EXPECT_EQ(LoadOutcome(Patched(bytes, 24, 1, 8)), "inputs") << "c*h*w above max_elems";
  EXPECT_EQ(LoadOutcome(Patched(bytes, 24, 2, 8)), "ok");
  // The block: outputs' ids end at 132.
  const size_t init = kNodeAt + 12 + 8;
  EXPECT_EQ(LoadOutcome(Patched(bytes, init, 6, 8)), "inputs") << "an initial value above hi";
  EXPECT_EQ(LoadOutcome(Patched(bytes, init + 8, static_cast<uint64_t>(-6), 8)), "inputs");
  EXPECT_EQ(LoadOutcome(Patched(bytes, init + 8, static_cast<uint64_t>(-5), 8)), "ok");
  // 65535 x 65535 elements are above max_elems: nothing of that size is allocated.
  std::string huge = bytes;
  PatchField(&huge, kInputAt + 4, 65535, 4);
  PatchField(&huge, kInputAt + 8, 65535, 4);
  PatchChecksums(&huge);
  EXPECT_EQ(LoadOutcome(huge), "inputs");
  // init_len right for its dims but beyond the parameters.
  std::string beyond = bytes;
  PatchField(&beyond, kInputAt + 12, 2000, 4);
  PatchField(&beyond, kInputAt + 36, 16000, 4);
  PatchChecksums(&beyond);
  EXPECT_EQ(LoadOutcome(beyond), "inputs");
}

TEST(LoadStep3, NumberOfStates) {
  // n_state 0 with a state input: the update's id leaves the file.
  std::string bytes = WriteWhg1(StateGraph());
  bytes.erase(kOutputAt + 4, 4);
  PatchField(&bytes, 20, 0, 4);
  PatchField(&bytes, 36, bytes.size(), 4);
  PatchChecksums(&bytes);
  EXPECT_EQ(LoadOutcome(bytes), "inputs");
}

TEST(LoadStep4, NodeEntry) {
  EXPECT_EQ(LoadOutcome(Patched(Base(), kNodeAt + 8, 3, 4)), "nodes") << "len below 4*n_args";
  EXPECT_EQ(LoadOutcome(Patched(Base(), kNodeAt + 8, 27, 4)), "nodes") << "past the end";
  EXPECT_EQ(LoadOutcome(Patched(Base(), kNodeAt + 8, 25, 4)), "nodes") << "not to the end";
  EXPECT_EQ(LoadOutcome(Patched(Base(), kNodeAt + 8, 0xFFFFFFFF, 4)), "nodes");
  EXPECT_EQ(LoadOutcome(Patched(Base(), kNodeAt + 2, 0, 2)), "nodes") << "n_args 0";
  EXPECT_EQ(LoadOutcome(Patched(Base(), 128, 0xFFFFFFFF, 4)), "nodes") << "an id far beyond";
}

TEST(LoadStep4, ArgumentCounts) {
  const auto with = [](Op op, size_t args) {
    Graph graph;
    graph.inputs.assign(2, FixedInput({1, 1, 1}, 0, 1));
    std::vector<uint32_t> ids(args, 0);
    graph.outputs = {AddNode(&graph, op, ids, {})};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(with(Op::kAdd, 1), "nodes");
  EXPECT_EQ(with(Op::kAdd, 2), "ok");
  EXPECT_EQ(with(Op::kAdd, 3), "nodes");
  EXPECT_EQ(with(Op::kConcat, 1), "nodes");
  EXPECT_EQ(with(Op::kConcat, 2), "ok");
  EXPECT_EQ(with(Op::kConcat, 16), "ok");
  EXPECT_EQ(with(Op::kConcat, 17), "nodes");
}

TEST(LoadStep4, BlocksWithoutGaps) {
  Graph graph = BaseCase(Op::kRescale).Build();
  AddNode(&graph, Op::kElu, {1}, {});
  graph.outputs = {2};
  std::string bytes = WriteWhg1(graph);
  EXPECT_EQ(LoadOutcome(bytes), "ok");
  EXPECT_EQ(LoadOutcome(Patched(bytes, kNodeAt + 12 + 4, 0, 4)), "nodes");
}

// One parameter's range: the values outside it are refused, the ends are not.
struct RangeCase {
  const char* name;
  Op op;
  std::function<void(BaseCase*, int64_t)> set;
  int64_t below;
  int64_t first;
  int64_t last;
  int64_t above;
};

std::string WithParameter(const RangeCase& row, int64_t value) {
  BaseCase base(row.op);
  row.set(&base, value);
  return LoadOutcome(base.Build());
}

TEST(LoadStep5, ScalarRanges) {
#define FIELD(field) [](BaseCase* c, int64_t v) { c->p.field = v; }
#define SCALAR(field) [](BaseCase* c, int64_t v) { c->field = v; }
  const RangeCase rows[] = {
      {"conv.rnd", Op::kConv, FIELD(rnd), -1, 0, 3, 4},
      {"conv.kh", Op::kConv, FIELD(kh), 0, 1, 64, 65},
      {"conv.kw", Op::kConv, FIELD(kw), 0, 1, 64, 65},
      {"conv.sh", Op::kConv, FIELD(sh), 0, 1, 64, 65},
      {"conv.sw", Op::kConv, FIELD(sw), 0, 1, 64, 65},
      {"conv.dh", Op::kConv, FIELD(dh), 0, 1, 16, 17},
      {"conv.dw", Op::kConv, FIELD(dw), 0, 1, 16, 17},
      {"conv.pt", Op::kConv, FIELD(pt), -1, 0, 255, 256},
      {"conv.pb", Op::kConv, FIELD(pb), -1, 0, 255, 256},
      {"conv.pl", Op::kConv, FIELD(pl), -1, 0, 255, 256},
      {"conv.pr", Op::kConv, FIELD(pr), -1, 0, 255, 256},
      {"conv.shift", Op::kConv, SCALAR(shift), -1, 0, 63, 64},
      {"conv_transpose.kh", Op::kConvTranspose, FIELD(kh), 0, 1, 64, 65},
      {"conv_transpose.sw", Op::kConvTranspose, FIELD(sw), 0, 1, 64, 65},
      {"conv_transpose.pt", Op::kConvTranspose, FIELD(pt), -1, 0, 0, 1},
      {"conv_transpose.pb", Op::kConvTranspose, FIELD(pb), -1, 0, 0, 1},
      {"conv_transpose.pl", Op::kConvTranspose, FIELD(pl), -1, 0, 0, 1},
      {"conv_transpose.pr", Op::kConvTranspose, FIELD(pr), -1, 0, 0, 1},
      {"mul.rnd", Op::kMul, FIELD(rnd), -1, 0, 3, 4},
      {"mul.shift", Op::kMul, SCALAR(shift), -1, 0, 63, 64},
      {"sigmoid.f", Op::kSigmoid, FIELD(f), -1, 0, 26, 27},
      {"sigmoid.o", Op::kSigmoid, FIELD(o), 0, 1, 30, 31},
      {"elu.f", Op::kElu, FIELD(f), -1, 0, 26, 27},
      {"slice.c0", Op::kSlice, FIELD(c0), -1, 0, 0, 1},
      {"slice.c1", Op::kSlice, FIELD(c1), 0, 1, 2, 65536},
      {"pixel_shuffle.r", Op::kPixelShuffle, FIELD(r), 1, 2, 2, 17},
      {"igdn.rnd", Op::kIgdn, FIELD(rnd), -1, 0, 3, 4},
      {"igdn.shift", Op::kIgdn, SCALAR(shift), -1, 0, 63, 64},
      {"igdn.beta", Op::kIgdn, SCALAR(beta), -1, 0, 1, kI64Min},
      {"igdn.gamma", Op::kIgdn, SCALAR(gamma), -1, 0, kI32Max, kI32Min},
      {"chscale.rnd", Op::kChscale, FIELD(rnd), -1, 0, 3, 4},
      {"chscale.s", Op::kChscale, SCALAR(s), -1, 0, 63, 64},
      {"l2norm.k", Op::kL2norm, FIELD(k), -1, 0, 31, 32},
      {"layernorm_c.k", Op::kLayernormC, FIELD(k), -1, 0, 31, 32},
      {"maxpool.kh", Op::kMaxpool, FIELD(kh), 0, 1, 64, 65},
      {"maxpool.sw", Op::kMaxpool, FIELD(sw), 0, 1, 64, 65},
      {"maxpool.pt", Op::kMaxpool, FIELD(pt), -1, 0, 0, 1},
      {"maxpool.pb", Op::kMaxpool, FIELD(pb), -1, 0, 0, 1},
      {"maxpool.pl", Op::kMaxpool, FIELD(pl), -1, 0, 0, 1},
      {"maxpool.pr", Op::kMaxpool, FIELD(pr), -1, 0, 0, 1},
      {"pad.pt", Op::kPad, FIELD(pt), -1, 0, 255, 256},
      {"pad.pr", Op::kPad, FIELD(pr), -1, 0, 255, 256},
      {"divc.d", Op::kDivc, FIELD(d), 0, 1, 0xFFFFFFFF, int64_t{1} << 32},
      {"clamp.lo", Op::kClamp, FIELD(lo), 101, kI64Min, 100, 102},
      {"check.hi", Op::kCheck, FIELD(hi), -101, -100, kI64Max, -102},
  };
#undef FIELD
#undef SCALAR
  for (const RangeCase& row : rows) {
    EXPECT_EQ(WithParameter(row, row.below), "params") << row.name << " " << row.below;
    EXPECT_EQ(WithParameter(row, row.above), "params") << row.name << " " << row.above;
    EXPECT_EQ(WithParameter(row, row.first), "ok") << row.name << " " << row.first;
    EXPECT_EQ(WithParameter(row, row.last), "ok") << row.name << " " << row.last;
  }
}

TEST(LoadStep5, MultipliersExceptTheLeast) {
  for (const Op op : {Op::kConv, Op::kConvTranspose, Op::kRescale, Op::kMul, Op::kChscale}) {
    BaseCase base(op);
    base.SetRange(0, 1);
    base.shift = base.s = 63;
    base.mult = base.m = kI64Min;
    EXPECT_EQ(LoadOutcome(base.Build()), "params") << OpName(op);
    base.mult = base.m = -kI64Max;
    EXPECT_EQ(LoadOutcome(base.Build()), "ok") << OpName(op);
  }
}

TEST(LoadStep5, LeakyTakesEveryU32) {
  BaseCase base(Op::kLeaky);
  base.p.a = 0xFFFFFFFF;
  EXPECT_EQ(LoadOutcome(base.Build()), "ok");
}

TEST(LoadStep5, EpsilonIsNotZero) {
  for (const Op op : {Op::kL2norm, Op::kLayernormC}) {
    BaseCase base(op);
    base.p.eps = 0;
    EXPECT_EQ(LoadOutcome(base.Build()), "params");
  }
}

// Parameters that are consistent in themselves and wrong for each other.
std::string WithParams(Op op, const std::function<void(Params*)>& change) {
  BaseCase base(op);
  Graph graph = base.Build();
  change(&graph.nodes[0].params);
  return LoadOutcome(graph);
}

TEST(LoadStep5, ChannelsAndGroups) {
  const auto conv = [](int64_t cin, int64_t cout, int64_t groups) {
    return WithParams(Op::kConv, [&](Params* p) {
      p->cin = cin;
      p->cout = cout;
      p->groups = groups;
      p->bias.assign(cout, 0);
      p->w.assign(groups == 0 ? 0 : cout * (cin / groups), 1);
    });
  };
  EXPECT_EQ(conv(2, 2, 2), "ok");
  EXPECT_EQ(conv(2, 2, 0), "params");
  EXPECT_EQ(conv(2, 4, 4), "params") << "groups does not divide cin";
  EXPECT_EQ(conv(2, 3, 2), "params") << "groups does not divide cout";
  EXPECT_EQ(conv(0, 2, 1), "params");
  EXPECT_EQ(conv(2, 0, 1), "params");
  EXPECT_EQ(conv(65536, 1, 65536), "params");
}

TEST(LoadStep5, RecordCounts) {
  for (const Op op : {Op::kConv, Op::kConvTranspose}) {
    const auto records = [op](int64_t n) {
      return WithParams(op, [n](Params* p) {
        p->cout = 3;
        p->bias.assign(3, 0);
        p->w.assign(6, 1);
        p->n = n;
        p->mult.assign(n, 1);
        p->post_bias.assign(n, 0);
        p->shift.assign(n, 0);
      });
    };
    EXPECT_EQ(records(1), "ok");
    EXPECT_EQ(records(2), "params") << "n is neither 1 nor cout";
    EXPECT_EQ(records(3), "ok");
  }
}

TEST(LoadStep5, AtMostTwoToThe26Weights) {
  // 65535 x 1024 + ... weights would be above 2^26; the count is refused before any is read.
  EXPECT_EQ(WithParams(Op::kConv,
                       [](Params* p) {
                         p->cin = 65535;
                         p->cout = 1025;
                       }),
            "params");
}

TEST(LoadStep5, CountsOfIgdnAndChscale) {
  EXPECT_EQ(WithParams(Op::kIgdn, [](Params* p) { p->c = 0; }), "params");
  EXPECT_EQ(WithParams(Op::kIgdn, [](Params* p) { p->c = 4097; }), "params");
  EXPECT_EQ(WithParams(Op::kChscale, [](Params* p) { p->c = 0; }), "params");
  EXPECT_EQ(WithParams(Op::kChscale, [](Params* p) { p->c = 65536; }), "params");
  EXPECT_EQ(WithParams(Op::kRescale, [](Params* p) { p->n = 65536; }), "params");
}

TEST(LoadStep5, EveryTruncatedBlockIsRefused) {
  for (int code = kFirstOp; code <= kLastOp; ++code) {
    const Graph graph = BaseCase(static_cast<Op>(code)).Build();
    const std::string bytes = WriteWhg1(graph);
    const size_t args = 4 * graph.nodes[0].args.size();
    const size_t node_at = 64 + 48 * graph.inputs.size();
    const size_t block = node_at + 12 + 4;
    for (size_t length = args; length + block < bytes.size(); ++length) {
      std::string cut = bytes.substr(0, block + length);
      PatchField(&cut, node_at + 8, length, 4);
      PatchField(&cut, 32, length, 4);
      PatchField(&cut, 36, cut.size(), 4);
      PatchChecksums(&cut);
      ASSERT_EQ(LoadOutcome(cut), "params") << OpName(static_cast<Op>(code)) << " " << length;
    }
  }
}

TEST(LoadStep6, UpdatesCountAsUses) {
  EXPECT_EQ(LoadOutcome(StateGraph()), "ok");
  Graph only_update = StateGraph();
  only_update.outputs = {0};
  EXPECT_EQ(LoadOutcome(only_update), "ok") << "a node used by an update alone";
  Graph far = StateGraph();
  far.updates = {2};
  EXPECT_EQ(LoadOutcome(far), "outputs");
}

TEST(LoadStep7, ShapeRules) {
  const auto fixed = [](Op op, const Shape& shape, const std::function<void(Params*)>& change) {
    BaseCase base(op);
    Graph graph = base.Build();
    for (Input& input : graph.inputs) input = FixedInput(shape, -1, 1);
    graph.max_elems = 0x7FFFFFFF;
    change(&graph.nodes[0].params);
    return LoadOutcome(graph);
  };
  const auto kernel = [](int64_t kh, int64_t kw) {
    return [kh, kw](Params* p) {
      p->kh = kh;
      p->kw = kw;
      p->w.assign(4 * kh * kw, 1);
    };
  };
  EXPECT_EQ(fixed(Op::kConv, {2, 3, 3}, kernel(3, 3)), "ok");
  EXPECT_EQ(fixed(Op::kConv, {2, 3, 3}, kernel(4, 1)), "plan");
  EXPECT_EQ(fixed(Op::kConv, {2, 3, 3}, kernel(1, 4)), "plan");
  EXPECT_EQ(fixed(Op::kConv, {1, 3, 3}, kernel(1, 1)), "plan") << "cin";
  EXPECT_EQ(fixed(Op::kMaxpool, {2, 3, 3}, kernel(3, 3)), "ok");
  EXPECT_EQ(fixed(Op::kMaxpool, {2, 3, 3}, kernel(4, 1)), "plan");
  EXPECT_EQ(fixed(Op::kConvTranspose, {1, 3, 3}, kernel(1, 1)), "plan") << "cin";
  EXPECT_EQ(fixed(Op::kConvTranspose, {2, 1, 1},
                  [&](Params* p) {
                    kernel(3, 3)(p);
                    p->pt = 2;
                    p->pb = 1;
                  }),
            "plan")
      << "fh - pt - pb is 0";
  EXPECT_EQ(fixed(Op::kConvTranspose, {2, 1, 1},
                  [&](Params* p) {
                    kernel(3, 3)(p);
                    p->pl = 1;
                    p->pr = 1;
                  }),
            "ok");
  const auto nothing = [](Params*) {};
  EXPECT_EQ(fixed(Op::kIgdn, {1, 3, 3}, nothing), "plan");
  EXPECT_EQ(fixed(Op::kChscale, {3, 3, 3}, nothing), "plan");
  EXPECT_EQ(fixed(Op::kCrop, {2, 3, 3}, [](Params* p) { p->pl = 3; }), "plan");
  EXPECT_EQ(fixed(Op::kCrop, {2, 3, 3}, [](Params* p) { p->pr = 65535; }), "plan");
  EXPECT_EQ(fixed(Op::kCrop, {2, 3, 3}, [](Params* p) { p->pb = 2; }), "ok");
}

TEST(LoadStep7, OutputDims) {
  const auto pad = [](int64_t h, int64_t pt) {
    Graph graph;
    graph.max_elems = 0x7FFFFFFF;
    graph.inputs = {FixedInput({1, h, 1}, 0, 1)};
    Params p;
    p.pt = pt;
    graph.outputs = {AddNode(&graph, Op::kPad, {0}, p)};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(pad(65535, 0), "ok");
  EXPECT_EQ(pad(65535, 1), "plan");
  EXPECT_EQ(pad(65534, 1), "ok");

  const auto concat = [](int64_t a, int64_t b) {
    Graph graph;
    graph.inputs = {FixedInput({a, 1, 1}, 0, 1), FixedInput({b, 1, 1}, 0, 1)};
    graph.inputs[0].fixed = graph.inputs[1].fixed = false;
    graph.outputs = {AddNode(&graph, Op::kConcat, {0, 1}, {})};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(concat(65534, 1), "ok") << "max_elems does not matter while H and W are unknown";
  EXPECT_EQ(concat(65535, 1), "plan");
}

TEST(LoadStep7, PartiallyKnownShapes) {
  // add of a fixed and an unfixed input: the first argument's dims are the output's.
  const auto add = [](bool fixed_first, int64_t max_elems) {
    Graph graph;
    graph.max_elems = max_elems;
    graph.inputs = {FixedInput({1, 4, 4}, 0, 1), FixedInput({1, 4, 4}, 0, 1)};
    graph.inputs[fixed_first ? 1 : 0].fixed = false;
    graph.outputs = {AddNode(&graph, Op::kAdd, {0, 1}, {})};
    return LoadOutcome(graph);
  };
  EXPECT_EQ(add(true, 15), "plan");
  EXPECT_EQ(add(false, 15), "ok");
  EXPECT_EQ(add(true, 16), "ok");

  Graph differs;
  differs.inputs = {FixedInput({1, 4, 4}, 0, 1), FixedInput({1, 4, 5}, 0, 1)};
  differs.outputs = {AddNode(&differs, Op::kMul, {0, 1}, RequantParams(Rounding::kFloor, 1, 0, 0))};
  EXPECT_EQ(LoadOutcome(differs), "plan");
  differs.nodes[0] = {Op::kConcat, {0, 1}, {}};
  EXPECT_EQ(LoadOutcome(differs), "plan");
  differs.inputs[1] = FixedInput({2, 4, 4}, 0, 1);
  EXPECT_EQ(LoadOutcome(differs), "ok");
  differs.nodes[0] = {Op::kAdd, {0, 1}, {}};
  EXPECT_EQ(LoadOutcome(differs), "plan") << "add needs equal channels";
}

TEST(LoadStep7, AnUpdatesDimsAreKnown) {
  Graph graph;
  Input data = FixedInput({1, 1, 2}, -5, 5);
  data.fixed = false;
  graph.inputs = {data, StateInput({1, 1, 2}, -5, 5, {0, 0})};
  const uint32_t clamp = AddNode(&graph, Op::kClamp, {0}, LimitParams(-5, 5));
  graph.outputs = {clamp};
  graph.updates = {clamp};
  EXPECT_EQ(LoadOutcome(graph), "plan");
  graph.inputs[0].fixed = true;
  EXPECT_EQ(LoadOutcome(graph), "ok");
}

TEST(LoadStep8, AnUpdateWithinItsRange) {
  Graph graph = StateGraph();
  graph.nodes[0].params = LimitParams(-5, 6);
  EXPECT_EQ(LoadOutcome(graph), "ok") << "[-5, 5] clamped to [-5, 6] is within [-5, 5]";
  graph.inputs.push_back(FixedInput({1, 1, 2}, -9, 9));
  graph.nodes[0].args = {1};
  graph.outputs = graph.updates = {2};
  EXPECT_EQ(LoadOutcome(graph), "bounds");
  const Result<PlannedGraph> planned = PlanWhg1(WriteWhg1(graph));
  ASSERT_TRUE(planned.ok());
  const std::vector<Failure> expected = {{2, "state"}};
  EXPECT_EQ(planned.value().bounds.fail_acc32, expected);
  EXPECT_EQ(planned.value().bounds.fail_acc64, expected);
}

TEST(WriteWhg1, ReadsBackEveryOperator) {
  for (int code = kFirstOp; code <= kLastOp; ++code) {
    const std::string bytes = WriteWhg1(BaseCase(static_cast<Op>(code)).Build());
    const Result<Graph> read = ReadWhg1(bytes);
    ASSERT_TRUE(read.ok()) << OpName(static_cast<Op>(code));
    EXPECT_EQ(WriteWhg1(read.value()), bytes);
    EXPECT_EQ(FileSize(read.value()), bytes.size());
  }
}

}  // namespace
}  // namespace helx::ops
