// The exit statuses of section 14.6 and what a user sees for wrong input.
#include "client/ops/commands.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "client/ops/arguments.h"
#include "client/ops/files.h"
#include "client/ops/sha256.h"
#include "core/ops/corpus/sets.h"
#include "core/ops/whg1.h"
#include "tests/unit/core/ops/graph_builder.h"

namespace helx::ops {
namespace {

class Commands : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "helx_ops_commands_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    std::string error;
    EXPECT_TRUE(WriteFile(folder_ + "/" + name, bytes, &error)) << error;
    return folder_ + "/" + name;
  }
  std::string Read(const std::string& name) {
    std::string error;
    const auto bytes = ReadFile(folder_ + "/" + name, &error);
    EXPECT_TRUE(bytes.has_value()) << error;
    return bytes.value_or("");
  }
  // The folder of a generated set's members.
  std::string SetFolder(const std::string& name) {
    for (const CorpusSet& set : GenerateSets(Sha256)) {
      if (set.name != name) continue;
      for (const Member& member : set.members) Write(name + "/" + member.name, member.bytes);
    }
    return folder_ + "/" + name;
  }

  std::string folder_;
};

using testing::internal::CaptureStderr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStderr;
using testing::internal::GetCapturedStdout;

TEST_F(Commands, BoundsMeetsItsProfileOrNot) {
  const Words mlp = {SetFolder("mlp_a"), "--capability", "wai.neural.mlp"};
  EXPECT_EQ(BoundsCommand(mlp), kMet);
  const Words claim = {SetFolder("claim_acc32"), "--capability", "wai.neural.int_conv"};
  EXPECT_EQ(BoundsCommand(claim), kMet);
  Words acc32 = claim;
  acc32.insert(acc32.end(), {"--profile", "acc32"});
  CaptureStderr();
  EXPECT_EQ(BoundsCommand(acc32), kNotMet);
  EXPECT_EQ(GetCapturedStderr(),
            "wai-verify: net: value 1 (conv): part [0, 2147483648] does not meet acc32\n"
            "wai-verify: net: value 1 (conv): acc [0, 2147483648] does not meet acc32\n");
  const Words overflow = {SetFolder("overflow_acc64"), "--capability", "wai.neural.int_conv"};
  EXPECT_EQ(BoundsCommand(overflow), kNotMet) << "refused at step 8 only: certified, not malformed";
  BaseCase wide(Op::kRescale);
  wide.mult = int64_t{1} << 31;
  wide.shift = 8;
  wide.SetRange(0, 1);
  CaptureStderr();
  EXPECT_EQ(BoundsCommand({Write("wide.whg1", WriteWhg1(wide.Build())), "--profile", "acc32"}),
            kNotMet);
  EXPECT_EQ(GetCapturedStderr(),
            "wai-verify: wide: value 1 (rescale): rq.mult does not meet acc32\n");
}

// Of many failures the first ten and their number are told.
TEST_F(Commands, BoundsTellsTenFailures) {
  Graph graph;
  Input input;
  input.c = 1;
  input.lo = 0;
  input.hi = kI64Max / 2;
  graph.inputs = {input};
  for (int i = 0; i < 12; ++i) AddNode(&graph, Op::kClamp, {0}, LimitParams(0, kI64Max));
  for (uint32_t i = 1; i <= 12; ++i) graph.outputs.push_back(i);
  const std::string path = Write("many.whg1", WriteWhg1(graph));
  CaptureStderr();
  EXPECT_EQ(BoundsCommand({path, "--profile", "acc32"}), kNotMet);
  const std::string text = GetCapturedStderr();
  // The input and twelve clamps.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11) << text;
  EXPECT_NE(text.find("and 3 more"), std::string::npos) << text;
}

TEST_F(Commands, BoundsChecksACertificate) {
  const std::string set = SetFolder("mlp_a");
  const std::string cert = folder_ + "/cert.json";
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.neural.mlp", "--out", cert}), kMet);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.neural.mlp", "--check", cert}), kMet);
  Write("other.json", Read("cert.json") + "\n");
  const auto complaint = [&](const std::string& check) {
    CaptureStderr();
    EXPECT_EQ(BoundsCommand({set, "--capability", "wai.neural.mlp", "--check", check}), kDiffers);
    return GetCapturedStderr();
  };
  EXPECT_NE(complaint(folder_ + "/other.json").find("is not canonical: "), std::string::npos);
  std::string text = Read("cert.json");
  text.replace(text.find("[\"y\","), 5, "[\"z\",");
  const std::string place = std::to_string(text.find("[\"z\",") + 2);
  EXPECT_NE(complaint(Write("other.json", text)).find("at byte " + place), std::string::npos);
  const std::string other_set = folder_ + "/gru.json";
  EXPECT_EQ(
      BoundsCommand({SetFolder("gru_a"), "--capability", "wai.neural.gru", "--out", other_set}),
      kMet);
  EXPECT_NE(complaint(other_set).find("given is of set "), std::string::npos);
  // 3 precedes 1.
  const std::string overflow = SetFolder("overflow_acc64");
  EXPECT_EQ(BoundsCommand({overflow, "--capability", "wai.neural.int_conv", "--check", cert}),
            kDiffers);
}

TEST_F(Commands, BoundsOfGraphs) {
  const std::string graph = Write("a.whg1", WriteWhg1(BaseCase(Op::kElu).Build()));
  EXPECT_EQ(BoundsCommand({graph}), kMet);
  EXPECT_EQ(BoundsCommand({graph, "--profile", "acc32", "--capability", "anything"}), kMet);
  const std::string broken = Write("b.whg1", "WHG1");
  EXPECT_EQ(BoundsCommand({graph, broken}), kMalformed);
}

TEST_F(Commands, UsageAndRefusals) {
  const std::string set = SetFolder("world_a");
  EXPECT_EQ(BoundsCommand({}), kUsage);
  EXPECT_EQ(BoundsCommand({set}), kUsage) << "no capability";
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.unknown"}), kUsage);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model", "--lowering", "int_conv/1"}),
            kUsage);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model", "--profile", "acc16"}), kUsage);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model", "--check", "/none"}), kUsage);
  EXPECT_EQ(BoundsCommand({set, "--capability"}), kUsage);
  EXPECT_EQ(BoundsCommand({set, "--speed", "9"}), kUsage);
  EXPECT_EQ(BoundsCommand({"/none"}), kUsage);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model"}), kLoweringRefuses)
      << "the field c is missing";
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model", "--field", "c=2"}), kMet);
  EXPECT_EQ(BoundsCommand({set, "--capability", "wai.world.model", "--field", "c=two"}), kUsage);
  EXPECT_EQ(
      BoundsCommand({set, "--capability", "wai.world.model", "--field", "c=2", "--field", "c=2"}),
      kUsage);
}

TEST_F(Commands, Certify) {
  const std::string folder = SetFolder("hyper_a");
  const Words good = {"--capability", "wai.neural.int_hyper",
                      "--lowering",   "int_hyper/1",
                      "--member",     "h_s.whm=" + folder + "/h_s.whm",
                      "--member",     "g_s.whm=" + folder + "/g_s.whm",
                      "--out",        folder_ + "/cert.json"};
  EXPECT_EQ(CertifyCommand(good), kMet);
  Words one = good;
  one.erase(one.begin() + 6, one.begin() + 8);
  EXPECT_EQ(CertifyCommand(one), kLoweringRefuses);
  EXPECT_EQ(CertifyCommand({"--capability", "wai.neural.int_hyper"}), kUsage);
  EXPECT_EQ(CertifyCommand({"--capability", "x", "--member", "a=b", "--whg1", "a=b"}), kUsage);
  EXPECT_EQ(CertifyCommand({"--capability", "wai.neural.mlp", "--lowering", "int_conv/1",
                            "--member", "net.whm=" + folder + "/h_s.whm"}),
            kUsage);
  EXPECT_EQ(CertifyCommand({"--lowering", "", "--whg1", "novalue"}), kUsage);
  const std::string graph = Write("a.whg1", WriteWhg1(BaseCase(Op::kElu).Build()));
  EXPECT_EQ(CertifyCommand({"--whg1", "main=" + graph}), kMet);
  // The certificate of bounds and of certify are the same bytes.
  EXPECT_EQ(BoundsCommand({folder, "--capability", "wai.neural.int_hyper", "--check",
                           folder_ + "/cert.json"}),
            kMet);
}

TEST_F(Commands, LowerRunDescribe) {
  const std::string folder = SetFolder("mlp_a");
  const std::string out = folder_ + "/out";
  EXPECT_EQ(LowerCommand({folder, "--capability", "wai.neural.mlp", "--out", out}), kMet);
  EXPECT_EQ(LowerCommand({folder, "--capability", "wai.neural.mlp"}), kUsage);
  EXPECT_EQ(LowerCommand({folder, "--capability", "wai.neural.mlp", "--out", ""}), kUsage);
  CaptureStdout();
  EXPECT_EQ(DescribeCommand({out + "/net.whg1"}), kMet);
  EXPECT_NE(GetCapturedStdout().find("2 clamp 1 -> 3x1x1 y [0, 255]"), std::string::npos);
  const std::string elu = Write("elu.whg1", WriteWhg1(BaseCase(Op::kElu).Build()));
  const std::string decodes = Write("in.jsonl",
                                    "[{\"data\":[5,-8192],\"shape\":[2,1,1]}]\n"
                                    "[{\"data\":[101,0],\"shape\":[2,1,1]}]\n");
  CaptureStdout();
  EXPECT_EQ(RunCommand({elu, decodes}), kMet);
  EXPECT_EQ(GetCapturedStdout(), "{\"refuse\":\"range\"}\n{\"refuse\":\"range\"}\n");
  const std::string hostile = Write("bad.jsonl", "[]\n[{\"data\":0}]\n");
  CaptureStderr();
  EXPECT_EQ(RunCommand({elu, hostile}), kUsage);
  EXPECT_NE(GetCapturedStderr().find("bad.jsonl:2: not a list of {data, shape}"),
            std::string::npos);
  EXPECT_EQ(RunCommand({decodes, decodes}), kMalformed);
  EXPECT_EQ(DescribeCommand({decodes}), kMalformed);
}

TEST_F(Commands, VectorsRoundTrip) {
  EXPECT_EQ(GenerateVectors({folder_}), kMet);
  EXPECT_EQ(VerifyVectors({folder_}), kMet);
  const std::string path = "ops-conformance/vectors/add.jsonl";
  std::string text = Read(path);
  text[text.find("-")] = '+';
  Write(path, text);
  CaptureStderr();
  EXPECT_EQ(VerifyVectors({folder_}), kDiffers);
  EXPECT_NE(GetCapturedStderr().find("vectors/add.jsonl:1: "), std::string::npos);
  EXPECT_EQ(VerifyVectors({folder_ + "/none"}), kUsage);
  EXPECT_EQ(VerifyVectors({}), kUsage);
  EXPECT_EQ(VerifyVectors({""}), kUsage);
  EXPECT_EQ(GenerateVectors({""}), kUsage);
}

// What may stand in a set's or the corpus's folder in place of a file: one error that names it, and
// no read that does not end.
TEST_F(Commands, FoldersWithOtherThingsThanFiles) {
  namespace fs = std::filesystem;
  const std::string set = SetFolder("mlp_a");
  const Words words = {set, "--capability", "wai.neural.mlp"};
  const std::string member = set + "/net.whm";
  const auto refused = [&](const std::string& what) {
    CaptureStderr();
    const int status = BoundsCommand(words);
    const std::string text = GetCapturedStderr();
    EXPECT_EQ(status, kUsage) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  };
  fs::create_directory_symlink(set, set + "/loop");
  refused("loop: a link to a folder");
  fs::remove(set + "/loop");
  ASSERT_EQ(mkfifo((set + "/pipe").c_str(), 0600), 0);
  refused("pipe: neither a file nor a folder");
  fs::remove(set + "/pipe");
  fs::create_symlink("nothing", set + "/dangling");
  refused("dangling: No such file");
  fs::remove(set + "/dangling");
  // A link to a file is that file.
  fs::rename(member, folder_ + "/elsewhere");
  fs::create_symlink(folder_ + "/elsewhere", member);
  EXPECT_EQ(BoundsCommand(words), kMet);
  fs::remove(member);
  // The lowering, not the reader, says what a set lacks: here its one member, then a folder's.
  EXPECT_EQ(BoundsCommand(words), kLoweringRefuses);
  Write("mlp_a/net.whm/net.whm", "{}\n");
  EXPECT_EQ(BoundsCommand(words), kLoweringRefuses);
}

TEST(Arguments, WordsOptionsAndPairs) {
  std::string error;
  const auto parsed =
      ParseArguments({"a", "--x", "1", "b", "--y", "2", "--y", "3"}, {"x"}, {"y"}, &error);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->words, (Words{"a", "b"}));
  EXPECT_EQ(parsed->Get("x", ""), "1");
  EXPECT_EQ(parsed->All("y"), (Words{"2", "3"}));
  EXPECT_FALSE(ParseArguments({"--x", "1", "--x", "2"}, {"x"}, {}, &error).has_value());
  EXPECT_EQ(error, "--x is given twice");
  EXPECT_EQ(SplitPair("a=b=c"), std::pair(std::string("a"), std::string("b=c")));
  EXPECT_FALSE(SplitPair("=b").has_value());
  EXPECT_FALSE(SplitPair("ab").has_value());
  EXPECT_FALSE(SplitPair("a=").has_value());
  EXPECT_FALSE(SplitPair("a b=c").has_value());
  const auto joined = ParseArguments({"--x=1", "--y=a=b", "c"}, {"x"}, {"y"}, &error);
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->Get("x", ""), "1");
  EXPECT_EQ(joined->All("y"), (Words{"a=b"}));
}

}  // namespace
}  // namespace helx::ops
