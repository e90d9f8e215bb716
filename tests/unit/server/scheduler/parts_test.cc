// The pieces that stand alone: names, documents, catalogues, placements, the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/scheduler/catalogue.h"
#include "server/scheduler/job_document.h"
#include "server/scheduler/log_buffer.h"
#include "server/scheduler/names.h"
#include "server/scheduler/placement.h"
#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

TEST(NamesTest, ContractsGrammar) {
  EXPECT_TRUE(CheckName("name", "kws-m55").ok());
  EXPECT_TRUE(CheckName("name", std::string(64, 'a')).ok());
  for (const std::string& bad : {std::string(), std::string(65, 'a'), std::string("-a"),
                                 std::string("a/b"), std::string("a b"), std::string("\xff")}) {
    const absl::Status status = CheckName("name", bad);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bad;
    EXPECT_THAT(MessageOf(status), HasSubstr("A-Za-z0-9._-"));
  }
  EXPECT_THAT(MessageOf(CheckName("name", "a\xff")), HasSubstr("a\\xff"));
}

TEST(JobDocumentTest, EngineplatformAndBlobsInOrder) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const auto view = ReadJobDocument(
      R"({"schema":"helx.document/v1","engine":"builtin","platform":"m55","model":{"sha256":")" +
      a + R"(","size":5},"tensor_io":{"inputs":[{"sha256":")" + b + R"(","size":3},{"sha256":")" +
      a + R"(","size":5}]}})");
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->engine, "builtin");
  EXPECT_EQ(view->platform, "m55");
  EXPECT_THAT(view->blobs, ::testing::ElementsAre(Digest{a, 5}, Digest{b, 3}));
}

TEST(JobDocumentTest, RefusesWhatItCannotRead) {
  const std::string a(64, 'a');
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string(R"({"schema":"helx.document/v2"})"),
        std::string(R"({"schema":"helx.document/v1","engine":"e","platform":"p"})"),
        R"({"schema":"helx.document/v1","engine":"e","platform":"p","model":{"sha256":")" + a +
            R"(","size":-1}})",
        R"({"schema":"helx.document/v1","engine":1,"platform":"p","model":{"sha256":")" + a +
            R"(","size":1}})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReadJobDocument(bad).status())) << bad;
  }
}

TEST(CatalogueTest, DigestDependsOnTheSetOnly) {
  const auto a = CatalogueOf("board");
  const auto b = CatalogueOf("other");
  EXPECT_EQ(CatalogueDigest({&a, &b}), CatalogueDigest({&b, &a, &a}));
  EXPECT_NE(CatalogueDigest({&a}), CatalogueDigest({&a, &b}));
  auto newer = a;
  newer.mutable_targets(0)->set_version("8.0");
  EXPECT_NE(CatalogueDigest({&a}), CatalogueDigest({&newer}));
  // python3 -c 'import hashlib; print(hashlib.sha256(
  //   b"{\"engines\":[],\"targets\":[],\"workers\":[]}").hexdigest())'
  EXPECT_EQ(CatalogueDigest({}),
            "fe7c8817a90c2c7ee228cb64b9d7b2979fd1c10af6382ad2dd2c1de3c308bc49");
}

TEST(CatalogueTest, MergeCountsWorkersPerTarget) {
  const auto a = CatalogueOf("board");
  auto gone = CatalogueOf("board");
  gone.mutable_targets(0)->set_reason("qemu-system-arm is not installed");
  v1::ServerCapabilities out;
  MergeCatalogues({&a, &a, &gone}, &out);
  ASSERT_EQ(out.targets_size(), 1);
  EXPECT_EQ(out.targets(0).live_workers(), 2);
  EXPECT_EQ(out.targets(0).reason(), "");
  EXPECT_EQ(out.live_workers(), 3);
}

TEST(PlacementTest, UnavailableIsToldFromUnknown) {
  auto catalogue = CatalogueOf("corstone-300");
  auto* broken = catalogue.add_targets();
  broken->set_platform("mps2-m4");
  broken->set_reason("not installed");
  records::Placement wanted;
  wanted.set_engine("builtin");
  wanted.set_platform("corstone-300");
  EXPECT_TRUE(CanPlace(wanted, catalogue));
  EXPECT_TRUE(Refusal(wanted, {&catalogue}).empty());
  wanted.set_platform("mps2-m4");
  auto refusal = Refusal(wanted, {&catalogue});
  ASSERT_EQ(refusal.size(), 1u);
  EXPECT_EQ(refusal[0].code(), "platform_unavailable");
  EXPECT_THAT(refusal[0].message(), HasSubstr("not installed"));
  wanted.set_platform("corstone300");
  wanted.set_engine("bultin");
  refusal = Refusal(wanted, {&catalogue});
  ASSERT_EQ(refusal.size(), 2u);
  EXPECT_EQ(refusal[0].code(), "unknown_platform");
  EXPECT_THAT(refusal[0].message(), HasSubstr("did you mean \"corstone-300\"?"));
  EXPECT_EQ(refusal[1].code(), "unknown_engine");
  EXPECT_THAT(refusal[1].message(), HasSubstr("did you mean \"builtin\"?"));
}

TEST(PlacementTest, ExactPlacementNeedsTheSameVersions) {
  const auto catalogue = CatalogueOf("board", "7.2");
  const auto exact = ExactPlacement(catalogue, "builtin", "board");
  ASSERT_TRUE(exact.has_value());
  EXPECT_TRUE(CanPlace(*exact, catalogue));
  EXPECT_FALSE(CanPlace(*exact, CatalogueOf("board", "7.3")));
  EXPECT_FALSE(ExactPlacement(catalogue, "builtin", "other").has_value());
}

TEST(LogBufferTest, KeepsBothEndsAndCountsTheRest) {
  LogBuffer log(8);
  log.Append("abcd");
  log.Append("ef");
  log.Append("gh");
  EXPECT_EQ(log.Text(), "abcdefgh");
  log.Append("ij");
  EXPECT_EQ(log.Text(), "abcd\n[... 2 bytes left out ...]\nghij");
  log.Append(std::string(1000, 'x') + "wxyz");
  EXPECT_EQ(log.Text(), "abcd\n[... 1006 bytes left out ...]\nwxyz");
}

}  // namespace
}  // namespace helx::server
