#include "server/store/blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>
#include <thread>

#include "core/base/splitmix64.h"
#include "server/store/executor.h"
#include "server/store/keys.h"
#include "server/store/uploads.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

// SHA-256 of nothing (FIPS 180-4 examples).
constexpr char kEmptySha[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string RandomBytes(size_t count, uint64_t seed) {
  SplitMix64 random(seed);
  std::string out(count, '\0');
  for (char& c : out) c = static_cast<char>(random.Next());
  return out;
}

class BlobStoreTest : public ::testing::Test {
 protected:
  BlobStoreTest() {
    StoreOptions options;
    options.path = folder_.path();
    options.ballast_bytes = 0;
    store_ = *Store::Open(options);
    blobs_ = std::make_unique<BlobStore>(store_.get());
    executor_ = std::make_unique<Executor>(1);
    std::filesystem::create_directory(folder_.path() + "/uploads");
    uploads_ = std::make_unique<Uploads>(folder_.path() + "/uploads", store_.get(), blobs_.get(),
                                         executor_.get());
  }

  absl::Status Finish(const std::shared_ptr<Upload>& upload) {
    std::promise<absl::Status> promise;
    uploads_->Finish(upload, [&](const absl::Status& status) { promise.set_value(status); });
    return promise.get_future().get();
  }
  absl::Status Put(const std::string& content) {
    Writes writes;
    blobs_->AppendRows("default", DigestOf(std::string_view(content)), content, writes);
    return store_->CommitAndWait(std::move(writes));
  }
  UploadName NameOf(const std::string& content) {
    return {"default", "u1", DigestOf(std::string_view(content))};
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Uploads> uploads_;
};

TEST_F(BlobStoreTest, EmptyBlobAlwaysExists) {
  EXPECT_TRUE(*blobs_->Has("default", {kEmptySha, 0}));
  EXPECT_EQ(*blobs_->Read("default", {kEmptySha, 0}), "");
  EXPECT_FALSE(*blobs_->Has("default", {std::string(64, 'a'), 0}));
}

TEST_F(BlobStoreTest, ContentOfOneChunkAndOfSeveralComesBack) {
  for (const size_t size : {size_t{1}, size_t{1} << 20, (size_t{1} << 20) + 1, size_t{3'000'000}}) {
    const std::string content = RandomBytes(size, size);
    ASSERT_TRUE(Put(content).ok());
    EXPECT_EQ(*blobs_->Read("default", DigestOf(std::string_view(content))), content) << size;
    // Another tenant does not see it.
    EXPECT_FALSE(*blobs_->Has("other", DigestOf(std::string_view(content))));
  }
}

TEST_F(BlobStoreTest, LostChunkIsDataLossAndChangedBytesToo) {
  const std::string content = RandomBytes(2 << 20, 7);
  const Digest digest = DigestOf(std::string_view(content));
  ASSERT_TRUE(Put(content).ok());
  ASSERT_TRUE(
      store_->CommitAndWait({{Family::kBlobs, BlobChunkKey("default", digest, 1), std::nullopt}})
          .ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs_->Read("default", digest).status()));
  ASSERT_TRUE(store_
                  ->CommitAndWait({{Family::kBlobs, BlobChunkKey("default", digest, 1),
                                    std::string(1 << 20, 'x')}})
                  .ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs_->Read("default", digest).status()));
  const uint64_t before = blobs_->generation();
  blobs_->Discard("default", digest);
  ASSERT_TRUE(store_->CommitAndWait({}).ok());
  EXPECT_FALSE(*blobs_->Has("default", digest));
  EXPECT_NE(blobs_->generation(), before);
}

TEST_F(BlobStoreTest, UploadIsInvisibleUntilItsDigestWasChecked) {
  const std::string content = RandomBytes(9'000'000, 1);
  const UploadName name = NameOf(content);
  auto upload = uploads_->Open(name);
  ASSERT_TRUE(upload.ok()) << upload.status();
  ASSERT_TRUE((*upload)->Append(0, content).ok());
  EXPECT_FALSE(*blobs_->Has("default", name.digest));
  ASSERT_TRUE(Finish(*upload).ok());
  EXPECT_EQ(*blobs_->Read("default", name.digest), content);
  EXPECT_TRUE(absl::IsNotFound(uploads_->Received(name).status()));  // nothing stays staged
}

TEST_F(BlobStoreTest, UploadResumesInAnotherProcess) {
  const std::string content = RandomBytes(100'000, 2);
  const UploadName name = NameOf(content);
  ASSERT_TRUE((*uploads_->Open(name))->Append(0, content.substr(0, 40'000)).ok());
  Uploads restarted(folder_.path() + "/uploads", store_.get(), blobs_.get(), executor_.get());
  EXPECT_EQ(*restarted.Received(name), 40'000);
  auto upload = restarted.Open(name);
  ASSERT_TRUE(upload.ok());
  EXPECT_EQ((*upload)->received(), 40'000);
  ASSERT_TRUE((*upload)->Append(40'000, content.substr(40'000)).ok());
  std::promise<absl::Status> promise;
  restarted.Finish(*upload, [&](const absl::Status& status) { promise.set_value(status); });
  EXPECT_TRUE(promise.get_future().get().ok());
  EXPECT_EQ(*blobs_->Read("default", name.digest), content);
}

TEST_F(BlobStoreTest, MismatchStoresNothingAndDropsTheStagedBytes) {
  const std::string content = RandomBytes(1000, 3);
  UploadName name = NameOf(content);
  name.digest.hash[0] = name.digest.hash[0] == '0' ? '1' : '0';
  auto upload = uploads_->Open(name);
  ASSERT_TRUE((*upload)->Append(0, content).ok());
  const absl::Status status = Finish(*upload);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr(DigestOf(std::string_view(content)).hash));
  EXPECT_FALSE(*blobs_->Has("default", name.digest));
  EXPECT_TRUE(absl::IsNotFound(uploads_->Received(name).status()));
}

TEST_F(BlobStoreTest, WrongOffsetAndExcessAndTakeoverAreRefused) {
  const std::string content = RandomBytes(1000, 4);
  const UploadName name = NameOf(content);
  auto first = uploads_->Open(name);
  ASSERT_TRUE((*first)->Append(0, content.substr(0, 100)).ok());
  EXPECT_TRUE(absl::IsOutOfRange((*first)->Append(50, "x")));
  EXPECT_TRUE(absl::IsInvalidArgument((*first)->Append(100, std::string(901, 'x'))));
  auto second = uploads_->Open(name);
  EXPECT_EQ((*second)->received(), 100);
  EXPECT_TRUE(absl::IsAborted((*first)->Append(100, "x")));
  EXPECT_TRUE((*second)->Append(100, content.substr(100)).ok());
  EXPECT_TRUE(Finish(*second).ok());
}

TEST_F(BlobStoreTest, RemovesOnlyWhatNobodyUses) {
  const std::string content = RandomBytes(2'000'000, 5);
  const Digest digest = DigestOf(std::string_view(content));
  const int64_t before = blobs_->Now();
  ASSERT_TRUE(Put(content).ok());
  // Used when it was stored.
  EXPECT_FALSE(*blobs_->RemoveUnused("default", digest, before));
  EXPECT_FALSE(*blobs_->RemoveUnused("default", {std::string(64, 'a'), 1}, blobs_->Now() + 9));
  ASSERT_TRUE(
      store_->CommitAndWait({{Family::kBlobMeta, BlobMetaKey("default", digest), BigEndian64(1)}})
          .ok());
  // Onlookers do not prolong its life, users do.
  EXPECT_TRUE(*blobs_->IsStored("default", digest));
  EXPECT_EQ(*blobs_->Read("default", digest), content);
  EXPECT_TRUE(*blobs_->Has("default", digest));
  EXPECT_FALSE(*blobs_->RemoveUnused("default", digest, blobs_->Now()));
  ASSERT_TRUE(store_->CommitAndWait({}).ok());
  EXPECT_FALSE(*blobs_->RemoveUnused("default", digest, blobs_->Now()));

  ASSERT_TRUE(
      store_->CommitAndWait({{Family::kBlobMeta, BlobMetaKey("default", digest), BigEndian64(1)}})
          .ok());
  EXPECT_TRUE(*blobs_->RemoveUnused("default", digest, 2));
  ASSERT_TRUE(store_->CommitAndWait({}).ok());
  EXPECT_FALSE(*blobs_->Has("default", digest));
  EXPECT_FALSE(*store_->Has(Family::kBlobs, BlobChunkKey("default", digest, 1)));
  EXPECT_EQ(store_->UsageOf("default"), BlobUsage());
  ASSERT_TRUE(Put(content).ok());
  EXPECT_EQ(*blobs_->Read("default", digest), content);
}

// Uploads and uses race with removals of everything that is not noted as used: whoever was told
// that the blob is there finds it whole.
TEST_F(BlobStoreTest, RemovalsNeverTakeWhatWasPromised) {
  std::vector<std::string> contents;
  for (uint64_t i = 0; i < 8; ++i) contents.push_back(RandomBytes(i % 2 ? 5'000 : 6'000'000, i));
  std::atomic<bool> stop{false};
  std::atomic<int> removed{0};
  std::thread remover([&] {
    while (!stop) {
      for (const std::string& content : contents) {
        const Digest digest = DigestOf(std::string_view(content));
        if (*blobs_->RemoveUnused("default", digest, 2)) ++removed;
      }
    }
  });
  for (int round = 0; round < 20; ++round) {
    for (const std::string& content : contents) {
      const UploadName name = NameOf(content);
      if (!*blobs_->Has("default", name.digest)) {
        auto upload = uploads_->Open(name);
        ASSERT_TRUE(upload.ok());
        ASSERT_TRUE((*upload)->Append(0, content).ok());
        ASSERT_TRUE(Finish(*upload).ok());
      }
      ASSERT_TRUE(blobs_->Verify("default", name.digest).ok()) << round;
      // Forgotten: from here on it may go.
      if (round % 2 == 0) {
        store_->Commit({{Family::kBlobMeta, BlobMetaKey("default", name.digest), BigEndian64(1)}},
                       nullptr);
      }
    }
  }
  stop = true;
  remover.join();
  EXPECT_GT(removed, 8);
}

TEST_F(BlobStoreTest, ChunksOfAStorageThatACrashCutShortGoAtTheNextStart) {
  const std::string content = RandomBytes(6'000'000, 6);
  const Digest digest = DigestOf(std::string_view(content));
  // As PutFile leaves it before the meta row.
  ASSERT_TRUE(
      store_
          ->CommitAndWait(
              {{Family::kBlobs, BlobChunkKey("default", digest, 0), content.substr(0, 1 << 20)},
               {Family::kDefault, InstanceKey("staged", "default", digest.ToString()), ""}})
          .ok());
  ASSERT_TRUE(blobs_->Recover().ok());
  EXPECT_FALSE(*store_->Has(Family::kBlobs, BlobChunkKey("default", digest, 0)));
  EXPECT_FALSE(*store_->Has(Family::kDefault, InstanceKey("staged", "default", digest.ToString())));
  // One that was stored whole keeps its chunks and leaves no such row.
  auto upload = uploads_->Open(NameOf(content));
  ASSERT_TRUE((*upload)->Append(0, content).ok());
  ASSERT_TRUE(Finish(*upload).ok());
  ASSERT_TRUE(blobs_->Recover().ok());
  EXPECT_EQ(*blobs_->Read("default", digest), content);
}

TEST_F(BlobStoreTest, DiscardTakesOnlyWhatIsDamaged) {
  const std::string content = RandomBytes(100, 8);
  const Digest digest = DigestOf(std::string_view(content));
  ASSERT_TRUE(Put(content).ok());
  blobs_->Discard("default", digest);
  ASSERT_TRUE(store_->CommitAndWait({}).ok());
  EXPECT_TRUE(*blobs_->Has("default", digest));
  EXPECT_EQ(blobs_->counts().mismatches, 0);
}

TEST_F(BlobStoreTest, PurgeDropsOnlyOldUploads) {
  const UploadName name = NameOf("abc");
  ASSERT_TRUE((*uploads_->Open(name))->Append(0, "a").ok());
  uploads_->Purge(60);
  EXPECT_EQ(*uploads_->Received(name), 1);
  uploads_->Purge(-60);
  EXPECT_TRUE(absl::IsNotFound(uploads_->Received(name).status()));
}

}  // namespace
}  // namespace helx::server
