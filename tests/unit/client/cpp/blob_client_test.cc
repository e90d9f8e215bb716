#include "client/cpp/blob_client.h"

#include <gtest/gtest.h>

#include "client/cpp/errors.h"
#include "core/base/file.h"
#include "tests/unit/client/cpp/fake_server.h"
#include "tests/unit/client/cpp/temporary_folder.h"

namespace helx::client {
namespace {

// FIPS 180-4's example: SHA-256 of "abc".
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class BlobClientTest : public testing::Test {
 protected:
  void SetUp() override {
    connection_ = server_.Connect();
    ASSERT_NE(connection_, nullptr);
  }
  static std::string Bytes(size_t count) {
    std::string bytes(count, '\0');
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    return bytes;
  }
  FakeServer server_;
  std::shared_ptr<Connection> connection_;
};

TEST_F(BlobClientTest, UploadsUnderThePublishedDigest) {
  const BlobContent content = BlobContent::OfBytes("abc");
  EXPECT_EQ(content.digest().hash, kAbc);
  ASSERT_TRUE(BlobClient(connection_).Upload(content).ok());
  EXPECT_EQ(server_.state().blobs.at(kAbc), "abc");
}

TEST_F(BlobClientTest, UploadGoesOnWhereItWas) {
  const std::string bytes = Bytes(900'000);
  server_.state().break_write_at = 300'000;
  const BlobContent content = BlobContent::OfBytes(bytes);
  const absl::Status status = BlobClient(connection_).Upload(content);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(server_.state().blobs.at(content.digest().hash), bytes);
  ASSERT_EQ(server_.state().write_offsets.size(), 2u);
  EXPECT_EQ(server_.state().write_offsets[0], 0);
  EXPECT_EQ(server_.state().write_offsets[1], 2 * 256 * 1024);  // the second piece passed 300,000
}

TEST_F(BlobClientTest, UploadMissingSkipsWhatIsThere) {
  const std::vector<BlobContent> contents = {BlobContent::OfBytes("abc"), BlobContent::OfBytes(""),
                                             BlobContent::OfBytes("xyz"),
                                             BlobContent::OfBytes("xyz")};
  server_.state().blobs[kAbc] = "abc";
  int64_t last_done = -1;
  int64_t last_total = -1;
  const absl::Status status =
      BlobClient(connection_).UploadMissing(contents, [&](int64_t done, int64_t total) {
        last_done = done;
        last_total = total;
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(server_.state().write_offsets.size(), 1u);
  EXPECT_EQ(last_done, 3);
  EXPECT_EQ(last_total, 3);
}

TEST_F(BlobClientTest, FileThatChangesWhileUploadedIsRefused) {
  TemporaryFolder folder;
  const std::string path = folder.Write("model", Bytes(5000));
  auto content = BlobContent::OfFile(path, 1 << 20);
  ASSERT_TRUE(content.ok());
  folder.Write("model", std::string(5000, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(BlobClient(connection_).Upload(*content)));
  folder.Write("model", std::string(4000, 'x'));
  EXPECT_TRUE(absl::IsDataLoss(BlobClient(connection_).Upload(*content)));
  EXPECT_TRUE(server_.state().blobs.empty());
}

TEST_F(BlobClientTest, FilesAreHashedAsBytesAre) {
  TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{262144}, size_t{262145}}) {
    const auto content = BlobContent::OfFile(folder.Write("f", Bytes(size)), 1 << 20);
    ASSERT_TRUE(content.ok());
    EXPECT_EQ(content->digest(), BlobContent::OfBytes(Bytes(size)).digest()) << size;
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(BlobContent::OfFile(folder.Write("big", Bytes(11)), 10).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(BlobContent::OfFile(folder.path(), 10).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(BlobContent::OfFile(folder.path() + "/no", 10).status()));
}

TEST_F(BlobClientTest, DownloadGoesOnWhereItWas) {
  const std::string bytes = Bytes(10'500);
  const Digest digest = DigestOf(std::string_view(bytes));
  server_.state().blobs[digest.hash] = bytes;
  server_.state().break_read_at = 4000;
  const auto got = BlobClient(connection_).DownloadBytes(digest);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, bytes);
  EXPECT_EQ(server_.state().read_offsets, (std::vector<int64_t>{0, 4000}));
}

TEST_F(BlobClientTest, DamagedBytesAreDataLossAndLeaveNoFile) {
  TemporaryFolder folder;
  std::string bytes = Bytes(3000);
  const Digest digest = DigestOf(std::string_view(bytes));
  const std::string path = folder.path() + "/out";
  bytes[1500] ^= 1;
  for (const std::string& wrong : {bytes, bytes.substr(0, 2999), bytes + "x"}) {
    server_.state().blobs[digest.hash] = wrong;
    EXPECT_TRUE(absl::IsDataLoss(BlobClient(connection_).DownloadFile(digest, path)));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
}

TEST_F(BlobClientTest, EmptyBlobNeedsNoServer) {
  server_.Stop();
  const auto got = BlobClient(connection_).DownloadBytes(DigestOf(std::string_view("")));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, "");
}

TEST_F(BlobClientTest, ServerThatWentAwayIsUnreachable) {
  server_.Stop();
  const auto missing = BlobClient(connection_).FindMissing({DigestOf(std::string_view("abc"))});
  EXPECT_TRUE(IsUnreachable(missing.status())) << missing.status();
  EXPECT_TRUE(IsUnreachable(BlobClient(connection_).Upload(BlobContent::OfBytes("abc"))));
}

}  // namespace
}  // namespace helx::client
