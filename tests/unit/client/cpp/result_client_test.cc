#include "client/cpp/result_client.h"

#include <gtest/gtest.h>

#include "client/cpp/bundle_folder.h"
#include "core/base/file.h"
#include "tests/unit/client/cpp/fake_server.h"
#include "tests/unit/client/cpp/temporary_folder.h"
#include "tests/unit/client/cpp/test_bundle.h"

namespace helx::client {
namespace {

class ResultClientTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteTestBundle(folder_.path() + "/made");
    result_ = StoreTestBundle(folder_.path() + "/made", "kws", server_);
    connection_ = server_.Connect();
    ASSERT_NE(connection_, nullptr);
  }
  std::string Hash() const { return result_.bundle().hash(); }

  FakeServer server_;
  TemporaryFolder folder_;
  helx::v1::Result result_;
  std::shared_ptr<Connection> connection_;
};

TEST_F(ResultClientTest, FetchedBundleVerifiesWithTheServerStopped) {
  ResultClient client(connection_);
  const auto result = client.GetNewest("kws");
  ASSERT_TRUE(result.ok()) << result.status();
  const std::string out = folder_.path() + "/results/kws";
  const absl::Status fetched = client.Fetch(*result, out);
  ASSERT_TRUE(fetched.ok()) << fetched;
  server_.Stop();
  const auto bundle = LoadBundle(out);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->content_digest, result_.content_digest());
}

TEST_F(ResultClientTest, DamagedArtifactLeavesTheOlderBundle) {
  ResultClient client(connection_);
  const std::string out = folder_.path() + "/kws";
  ASSERT_TRUE(client.Fetch(result_, out).ok());
  for (auto& [hash, bytes] : server_.state().blobs) {
    if (bytes.find("helx.result/4") != std::string::npos) bytes[10] ^= 1;
  }
  EXPECT_TRUE(absl::IsDataLoss(client.Fetch(result_, out)));
  EXPECT_TRUE(LoadBundle(out).ok());
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    ++entries;
  }
  EXPECT_EQ(entries, 2u);  // made, kws: no staging folder is left
}

TEST_F(ResultClientTest, ManifestThatDoesNotHashIsDataLoss) {
  server_.state().results["kws"].set_manifest(result_.manifest() + " ");
  EXPECT_TRUE(absl::IsDataLoss(ResultClient(connection_).GetNewest("kws").status()));
}

TEST_F(ResultClientTest, MissingArtifactIsNamed) {
  server_.state().blobs.clear();
  const absl::Status status = ResultClient(connection_).Fetch(result_, folder_.path() + "/kws");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_NE(status.message().find("build/memory.json"), absl::string_view::npos) << status;
}

TEST_F(ResultClientTest, BundleIsFoundByThePrefixOfItsDigest) {
  ResultClient client(connection_);
  const auto digest = client.FindByHash(Hash().substr(0, 8));
  ASSERT_TRUE(digest.ok()) << digest.status();
  EXPECT_EQ(digest->hash, Hash());
  EXPECT_TRUE(absl::IsNotFound(client.FindByHash("0123456789abcdef0123").status()));
  helx::v1::ResultEntry other = server_.state().entries[0];
  other.mutable_bundle()->set_hash(Hash().substr(0, 63) + (Hash()[63] == '0' ? "1" : "0"));
  server_.state().entries.push_back(other);
  EXPECT_TRUE(absl::IsInvalidArgument(client.FindByHash(Hash().substr(0, 8)).status()));
}

TEST_F(ResultClientTest, StoredBundleIsReadInPlace) {
  ResultClient client(connection_);
  const auto source = client.Open(result_);
  ASSERT_TRUE(source.ok());
  const auto bundle = LoadBundle(*source);
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(*bundle->Output(0, 0), std::string("\x0a\xfd\x7f\x05", 4));
}

}  // namespace
}  // namespace helx::client
