#include "core/ops/lower/lowering.h"

#include <gtest/gtest.h>

#include "client/ops/sha256.h"
#include "core/ops/corpus/sets.h"
#include "tests/unit/core/ops/corpus_set.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

std::string CodeOf(const CorpusSet& set) {
  const auto lowered = Lower(*set.lowering, set.members, set.fields);
  return lowered.ok() ? "ok" : std::string(CodeName(lowered.refusal().code));
}

// A set with one replacement in one member's text; "unchanged" if the text is not there.
std::string Replaced(const std::string& name, size_t member, const std::string& from,
                     const std::string& to) {
  CorpusSet set = SetNamed(name);
  std::string& bytes = set.members[member].bytes;
  const size_t at = bytes.find(from);
  if (at == std::string::npos) return "unchanged";
  bytes.replace(at, from.size(), to);
  return CodeOf(set);
}

TEST(Lowering, TheTable) {
  ASSERT_EQ(Lowerings().size(), 6u);
  EXPECT_EQ(FindLowering("int_hyper/1")->capability, "wai.neural.int_hyper");
  EXPECT_EQ(FindLowering("int_hyper/2"), nullptr);
  EXPECT_EQ(FindLoweringOfCapability("wai.neural.gru")->id, "gru_cell/1");
  EXPECT_EQ(FindLoweringOfCapability(""), nullptr);
}

TEST(Lowering, Members) {
  CorpusSet set = SetNamed("hyper_a");
  EXPECT_EQ(CodeOf(set), "ok");
  set.members.pop_back();
  EXPECT_EQ(CodeOf(set), "member");
  set = SetNamed("hyper_a");
  set.members.push_back({"extra", ""});
  EXPECT_EQ(CodeOf(set), "member");
  set = SetNamed("hyper_a");
  set.members[0].name = "x.whm";
  set.members[1].bytes = "";
  EXPECT_EQ(CodeOf(set), "member") << "before form";
}

TEST(Lowering, Fields) {
  CorpusSet set = SetNamed("world_a");
  EXPECT_EQ(CodeOf(set), "ok");
  set.fields.clear();
  EXPECT_EQ(CodeOf(set), "limit");
  set.fields = {{"c", 2}, {"d", 1}};
  EXPECT_EQ(CodeOf(set), "limit");
  set.fields = {{"c", 3}};
  EXPECT_EQ(CodeOf(set), "limit") << "init is not 3*2*2";
  set.fields = {{"c", 0}};
  EXPECT_EQ(CodeOf(set), "limit");
  set = SetNamed("conv_a");
  set.fields = {{"c", 2}};
  EXPECT_EQ(CodeOf(set), "limit");
}

TEST(Lowering, TheCodeOfTheWholeSet) {
  // A limit in the first member and a fault of form in the second.
  CorpusSet set = SetNamed("hyper_a");
  std::string& first = set.members[0].bytes;
  first.replace(first.find("\"max_elems\":4096"), 16, "\"max_elems\":0000");
  EXPECT_EQ(CodeOf(set), "form") << "0000 is not canonical";
  set = SetNamed("hyper_a");
  set.members[0].bytes.replace(set.members[0].bytes.find("\"max_elems\":4096"), 16,
                               "\"max_elems\":0");
  EXPECT_EQ(CodeOf(set), "limit");
  set.members[1].bytes.replace(set.members[1].bytes.find("\"op\":\"clamp\""), 12, "\"op\":\"add\"");
  EXPECT_EQ(CodeOf(set), "layer");
  set.members[1].bytes.pop_back();
  EXPECT_EQ(CodeOf(set), "form");
}

TEST(Whm, Form) {
  const auto conv = [](const std::string& from, const std::string& to) {
    return Replaced("conv_a", 0, from, to);
  };
  EXPECT_EQ(conv("\"form\":\"int_conv\"", "\"form\":\"int_hyper_h\""), "form");
  EXPECT_EQ(conv("\"pin\":\"\"", "\"pin\":\"acc16\""), "form");
  EXPECT_EQ(conv("\"pin\":\"\"", "\"pin\":0"), "form");
  EXPECT_EQ(conv("\"pin\":\"\"", "\"pin\":\"acc64\""), "ok") << "no lowering reads a pin";
  EXPECT_EQ(conv("\"out\":null", "\"out\":0"), "form");
  EXPECT_EQ(conv("\"out\":null", "\"out\":{\"hi\":9}"), "form");
  EXPECT_EQ(conv("\"out\":null", "\"out\":{\"hi\":9,\"lo\":null}"), "form");
  EXPECT_EQ(conv("\"out\":null", "\"out\":{\"hi\":9,\"lo\":0}"), "ok");
  EXPECT_EQ(conv("\"max_elems\":4096", "\"max_elems\":\"4096\""), "form");
  EXPECT_EQ(conv("\"fixed\":0", "\"fixed\":false"), "form");
  EXPECT_EQ(conv("\"in\":{\"c\":2,", "\"in\":{"), "form");
  EXPECT_EQ(conv("\"max_elems\":4096,", "\"max_elems\":4096,\"more\":0,"), "form");
  EXPECT_EQ(conv("\"form\"", " \"form\""), "form");
  EXPECT_EQ(conv("\"layers\":[", "\"layers\":[0,"), "layer");
}

TEST(Whm, Layers) {
  const auto conv = [](const std::string& from, const std::string& to) {
    return Replaced("conv_a", 0, from, to);
  };
  EXPECT_EQ(conv("\"op\":\"conv\"", "\"op\":\"mul\""), "layer");
  EXPECT_EQ(conv("\"op\":\"conv\"", "\"op\":\"convolve\""), "layer");
  EXPECT_EQ(conv("\"op\":\"conv\",", ""), "layer");
  EXPECT_EQ(conv("\"kh\":3", "\"kh\":\"3\""), "layer");
  EXPECT_EQ(conv("\"kh\":3,", ""), "layer");
  EXPECT_EQ(conv("\"kh\":3", "\"kg\":1,\"kh\":3"), "layer");
  EXPECT_EQ(conv("\"bias\":[", "\"bias\":[null,"), "layer");
  EXPECT_EQ(
      conv("{\"hi\":255,\"lo\":0,\"op\":\"clamp\"}", "{\"hi\":255,\"lo\":0,\"op\":\"concat\"}"),
      "layer");
}

TEST(Whm, Limits) {
  const auto conv = [](const std::string& from, const std::string& to) {
    return Replaced("conv_a", 0, from, to);
  };
  EXPECT_EQ(conv("\"max_elems\":4096", "\"max_elems\":0"), "limit");
  EXPECT_EQ(conv("\"max_elems\":4096", "\"max_elems\":2147483648"), "limit");
  EXPECT_EQ(conv("\"fixed\":0", "\"fixed\":2"), "limit");
  EXPECT_EQ(conv("\"h_cap\":8", "\"h_cap\":65536"), "limit");
  EXPECT_EQ(conv("\"in\":{\"c\":2", "\"in\":{\"c\":0"), "limit");
  EXPECT_EQ(conv("\"hi\":127,\"lo\":-128", "\"hi\":-129,\"lo\":-128"), "limit");
  EXPECT_EQ(conv("\"hi\":127", "\"hi\":9223372036854775808"), "limit");
  EXPECT_EQ(conv("\"kh\":3", "\"kh\":65"), "limit");
  EXPECT_EQ(conv("\"bias\":[", "\"bias\":[0,"), "limit") << "one entry too many";
  EXPECT_EQ(conv("\"mult\":[", "\"mult\":[1,"), "limit");
  EXPECT_EQ(conv("\"groups\":1", "\"groups\":2"), "limit");
  EXPECT_EQ(conv("\"out\":null", "\"out\":{\"hi\":0,\"lo\":1}"), "limit");
  CorpusSet empty = SetNamed("conv_a");
  empty.members[0].bytes =
      "{\"form\":\"int_conv\",\"in\":{\"c\":2,\"fixed\":0,\"h_cap\":8,\"hi\":127,\"lo\":-128,"
      "\"w_cap\":8},\"layers\":[],\"max_elems\":4096,\"out\":null,\"pin\":\"\"}\n";
  EXPECT_EQ(CodeOf(empty), "limit") << "a graph without nodes";
}

TEST(Whm, HyperRequirements) {
  EXPECT_EQ(Replaced("hyper_a", 0, "\"out\":{\"hi\":15,\"lo\":0}", "\"out\":null"), "form");
  EXPECT_EQ(
      Replaced("hyper_a", 1, "{\"hi\":255,\"lo\":0,\"op\":\"clamp\"}", "{\"f\":8,\"op\":\"elu\"}"),
      "layer");
}

TEST(Whm, LowersToNodesInOrder) {
  const CorpusSet& set = SetNamed("hyper_a");
  const auto lowered = Lower(*set.lowering, set.members, set.fields);
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered.value()[0].role, "h_s");
  const Graph graph = ReadWhg1(lowered.value()[0].bytes).value();
  const Op expected[] = {Op::kConvTranspose, Op::kClamp, Op::kConv, Op::kClamp, Op::kCheck};
  ASSERT_EQ(graph.nodes.size(), 5u);
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(graph.nodes[i].op, expected[i]);
    EXPECT_EQ(graph.nodes[i].args, std::vector<uint32_t>{i});
  }
  EXPECT_EQ(graph.outputs, std::vector<uint32_t>{5});
}

TEST(WorldModel, Form) {
  const auto world = [](const std::string& from, const std::string& to) {
    return Replaced("world_a", 0, from, to);
  };
  EXPECT_EQ(world("\"out\":null", "\"out\":{\"hi\":1,\"lo\":0}"), "form");
  EXPECT_EQ(world("\"limit\":{\"hi\":100,\"lo\":-100}", "\"limit\":null"), "form");
  EXPECT_EQ(world("\"state\":{\"h\":2,", "\"state\":{"), "form");
  EXPECT_EQ(world("\"init\":[", "\"init\":[null,"), "form");
  EXPECT_EQ(world("\"state\":{\"h\":2", "\"state\":{\"h\":\"2\""), "form");
}

TEST(WorldModel, Limits) {
  const auto world = [](const std::string& from, const std::string& to) {
    return Replaced("world_a", 0, from, to);
  };
  EXPECT_EQ(world("\"limit\":{\"hi\":100", "\"limit\":{\"hi\":-101"), "limit");
  EXPECT_EQ(world("\"init\":[", "\"init\":[0,"), "limit");
  EXPECT_EQ(world("\"fixed\":1", "\"fixed\":0"), "limit");
  EXPECT_EQ(world("\"h_cap\":2", "\"h_cap\":3"), "limit");
  EXPECT_EQ(world("\"w_cap\":2", "\"w_cap\":1"), "limit");
  EXPECT_EQ(world("\"state\":{\"h\":2", "\"state\":{\"h\":0"), "limit");
  EXPECT_EQ(world("\"hi\":100,\"init\"", "\"hi\":10,\"init\""), "limit")
      << "an initial value outside the range";
}

TEST(WorldModel, Graph) {
  const CorpusSet& set = SetNamed("world_a");
  const auto lowered = Lower(*set.lowering, set.members, set.fields);
  ASSERT_TRUE(lowered.ok());
  const Graph graph = ReadWhg1(lowered.value()[0].bytes).value();
  // Inputs z, action; concat 2, conv 3, clamp 4, add(z, 4) 5, clamp 6.
  ASSERT_EQ(graph.nodes.size(), 5u);
  EXPECT_TRUE(graph.inputs[0].state);
  EXPECT_EQ(graph.nodes[0].args, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(graph.nodes[3].args, (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(graph.outputs, std::vector<uint32_t>{6});
  EXPECT_EQ(graph.updates, std::vector<uint32_t>{6});

  // Without an action there is no concat.
  CorpusSet alone = set;
  std::string& bytes = alone.members[0].bytes;
  const size_t in = bytes.find("\"in\":{");
  bytes.replace(in, bytes.find('}', in) + 1 - in, "\"in\":null");
  bytes.replace(bytes.find("\"layers\":["), bytes.find("],\"limit\"") - bytes.find("\"layers\":["),
                "\"layers\":[");
  const auto without = Lower(*alone.lowering, alone.members, alone.fields);
  ASSERT_TRUE(without.ok()) << without.refusal().Text();
  const Graph small = ReadWhg1(without.value()[0].bytes).value();
  ASSERT_EQ(small.nodes.size(), 2u);
  EXPECT_EQ(small.nodes[0].args, (std::vector<uint32_t>{0, 0}));
}

TEST(GruCell, Refusals) {
  const auto gru = [](const std::string& from, const std::string& to) {
    return Replaced("gru_a", 0, from, to);
  };
  EXPECT_EQ(gru("\"f\":8", "\"f\":\"8\""), "form");
  EXPECT_EQ(gru("\"h\":{\"c\":2,\"init\":0}", "\"h\":{\"c\":2}"), "form");
  EXPECT_EQ(gru("\"n\":{\"bias\"", "\"n\":{\"bais\""), "layer");
  EXPECT_EQ(gru("\"f\":8", "\"f\":0"), "limit");
  EXPECT_EQ(gru("\"f\":8", "\"f\":27"), "limit");
  EXPECT_EQ(gru("\"o\":8", "\"o\":0"), "limit");
  EXPECT_EQ(gru("\"o\":8", "\"o\":31"), "limit");
  EXPECT_EQ(gru("\"fixed\":1", "\"fixed\":0"), "limit");
  EXPECT_EQ(gru("\"init\":0", "\"init\":257"), "limit");
  EXPECT_EQ(gru("\"init\":0", "\"init\":-256"), "ok");
  EXPECT_EQ(gru("\"c\":2,\"init\"", "\"c\":3,\"init\""), "limit") << "cin is not in.c + h.c";
  EXPECT_EQ(gru("\"pb\":0", "\"pb\":1"), "limit") << "the output is not of the input's size";
  EXPECT_EQ(gru("\"pr\":0", "\"pr\":1"), "limit");
  EXPECT_EQ(gru("\"max_elems\":4096", "\"max_elems\":1"), "limit") << "the state's elements";
}

TEST(IntMlp, Refusals) {
  const auto mlp = [](const std::string& from, const std::string& to) {
    return Replaced("mlp_a", 0, from, to);
  };
  EXPECT_EQ(mlp("\"layers\":[", "\"layers\":[null,"), "layer");
  EXPECT_EQ(mlp("\"act\":null", "\"act\":0"), "layer");
  EXPECT_EQ(mlp("\"cout\":3", "\"cout\":[3]"), "layer");
  EXPECT_EQ(mlp("\"fixed\":1", "\"fixed\":0"), "limit");
  EXPECT_EQ(mlp("\"h_cap\":1", "\"h_cap\":2"), "limit");
  EXPECT_EQ(mlp("\"w_cap\":1", "\"w_cap\":2"), "limit");
  EXPECT_EQ(mlp("\"cout\":3", "\"cout\":4"), "limit");
  EXPECT_EQ(mlp("\"bias\":[", "\"bias\":[1,"), "limit");
  EXPECT_EQ(mlp("\"mult\":[", "\"mult\":[1,"), "limit");
  EXPECT_EQ(mlp("\"w\":[", "\"w\":[1,"), "limit");
  EXPECT_EQ(mlp("\"act\":{\"hi\":255", "\"act\":{\"hi\":-1"), "limit");
  EXPECT_EQ(mlp("\"out\":null", "\"out\":{\"hi\":9999,\"lo\":-9999}"), "ok");
}

// Where a layer is at fault the refusal says so, and does not leave it to the graph's own checks.
TEST(IntMlp, TheLayerAtFaultIsNamed) {
  const std::string member =
      "{\"form\":\"int_mlp\",\"in\":{\"c\":1,\"fixed\":1,\"h_cap\":1,\"hi\":1,\"lo\":0,\"w_cap\":1}"
      ","
      "\"layers\":[{\"act\":null,\"bias\":[],\"cout\":0,\"mult\":[1],\"rnd\":0,\"shift\":[0],\"w\":"
      "[]}"
      "],\"max_elems\":4096,\"out\":null,\"pin\":\"\"}\n";
  EXPECT_EQ(Lower(*FindLowering("int_mlp/1"), {{"net.whm", member}}, {}).refusal().Text(),
            "limit: net.whm: layer 0: a parameter is out of range");
}

TEST(Lowering, OfTwoFaultsOfOneCodeTheFirstMembersIsNamed) {
  CorpusSet set = SetNamed("hyper_a");
  for (Member& member : set.members) member.bytes = "{}\n";
  const auto roles = Lower(*set.lowering, set.members, set.fields);
  ASSERT_FALSE(roles.ok());
  EXPECT_EQ(roles.refusal().code, Code::kForm);
  EXPECT_EQ(roles.refusal().detail.substr(0, 8), "h_s.whm:") << roles.refusal().detail;
}

TEST(Lowering, AFileOfFourGibibytesHasNoForm) {
  // 2^26 weights of a conv are 2^28 bytes: sixteen layers pass 2^32 - 1. The check is on sizes.
  Graph graph = BaseCase(Op::kRescale).Build();
  EXPECT_EQ(FileSize(graph), 154u);
  graph.nodes.resize(3, graph.nodes[0]);
  EXPECT_EQ(FileSize(graph), 154u + 2 * (12 + 26));
}

}  // namespace
}  // namespace helx::ops
