#include "server/store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "server/store/backup.h"
#include "server/store/ballast.h"
#include "server/store/data_folder.h"
#include "server/store/keys.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Fails writes of the log with "no space" while `full` is set, as a full disk does.
class FullDiskFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FullDiskFile(std::unique_ptr<rocksdb::FSWritableFile> file, const std::atomic<bool>* full)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)), full_(full) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    if (*full_) return rocksdb::IOStatus::NoSpace("No space left on device");
    return FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override {
    if (*full_) return rocksdb::IOStatus::NoSpace("No space left on device");
    return FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override {
    if (*full_) return rocksdb::IOStatus::NoSpace("No space left on device");
    return FSWritableFileOwnerWrapper::Sync(options, debug);
  }

 private:
  const std::atomic<bool>* const full_;
};

class FullDisk : public rocksdb::FileSystemWrapper {
 public:
  explicit FullDisk(const std::atomic<bool>* full)
      : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()), full_(full) {}
  const char* Name() const override { return "FullDisk"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const rocksdb::IOStatus status = target()->NewWritableFile(name, options, &file, debug);
    if (status.ok()) *result = std::make_unique<FullDiskFile>(std::move(file), full_);
    return status;
  }

 private:
  const std::atomic<bool>* const full_;
};

std::atomic<bool> never{false};

// A database as a helxd of another version would leave it.
struct RawDatabase {
  explicit RawDatabase(const std::string& path, std::vector<std::string> names = {}) {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    if (names.empty()) {
      EXPECT_TRUE(rocksdb::DB::ListColumnFamilies(options, path, &names).ok());
    }
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : names) descriptors.emplace_back(name, FamilyOptions());
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, path, descriptors, &families, &opened).ok());
    db.reset(opened);
  }
  ~RawDatabase() {
    for (auto* family : families) db->DestroyColumnFamilyHandle(family);
    db->Close();
  }
  static rocksdb::ColumnFamilyOptions FamilyOptions() {
    rocksdb::ColumnFamilyOptions options;
    options.enable_blob_files = true;
    options.min_blob_size = 4096;
    return options;
  }

  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;
};

StoreOptions Options(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.ballast_bytes = 0;
  options.reopen_interval_ms = 20;
  return options;
}

TEST(StoreTest, KeepsRowsOverReopening) {
  TempFolder folder;
  {
    auto store = Store::Open(Options(folder.path()));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)
                    ->CommitAndWait({{Family::kJobs, "a", "1"},
                                     {Family::kActions, "a", "2"},
                                     {Family::kJobs, "gone", "x"}})
                    .ok());
    ASSERT_TRUE((*store)->CommitAndWait({{Family::kJobs, "gone", std::nullopt}}).ok());
  }
  auto store = Store::Open(Options(folder.path()));
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "a"), "1");
  EXPECT_EQ(*(*store)->Get(Family::kActions, "a"), "2");
  EXPECT_TRUE(absl::IsNotFound((*store)->Get(Family::kJobs, "gone").status()));
  EXPECT_EQ(*(*store)->Get(Family::kDefault, "schema_version"), "2");
}

TEST(StoreTest, RefusesANewerSchema) {
  TempFolder folder;
  {
    auto store = Store::Open(Options(folder.path()));
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE((*store)->CommitAndWait({{Family::kDefault, "schema_version", "3"}}).ok());
  }
  const auto store = Store::Open(Options(folder.path()));
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(MessageOf(store.status()), HasSubstr("schema version 3"));
}

// Families of its own, as version 2 added them.
TEST(StoreTest, RefusesANewerSchemaWithFamiliesThatItDoesNotKnow) {
  TempFolder folder;
  { ASSERT_TRUE(Store::Open(Options(folder.path())).ok()); }
  {
    RawDatabase raw(folder.path() + "/db");
    rocksdb::ColumnFamilyHandle* added = nullptr;
    ASSERT_TRUE(raw.db->CreateColumnFamily({}, "of_tomorrow", &added).ok());
    raw.families.push_back(added);
    ASSERT_TRUE(raw.db->Put({}, "schema_version", "3").ok());
  }
  const auto store = Store::Open(Options(folder.path()));
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(MessageOf(store.status()), HasSubstr("schema version 3"));
}

// keys.h of schema version 1: the meta row of a blob is its prefix and 'm', behind its chunks.
TEST(StoreTest, MigratesTheFirstSchema) {
  TempFolder folder;
  const std::string name = std::string("default\0", 8) + std::string(32, '\x12');
  const std::string first = name + BigEndian64(3);
  const std::string second = name + BigEndian64(4);
  const std::string unfinished = name + BigEndian64(5);
  {
    RawDatabase raw(folder.path() + "/db", {"default", "blobs", "jobs"});
    auto* const blobs = raw.families[1];
    for (const std::string& blob : {first, second, unfinished}) {
      ASSERT_TRUE(raw.db->Put({}, blobs, blob + "c" + std::string(4, '\0'), "abc").ok());
    }
    ASSERT_TRUE(raw.db->Put({}, blobs, first + "m", "1").ok());
    ASSERT_TRUE(raw.db->Put({}, blobs, second + "m", "1").ok());
    ASSERT_TRUE(raw.db->Put({}, raw.families[2], "row", "kept").ok());
    ASSERT_TRUE(raw.db->Put({}, "schema_version", "1").ok());
  }
  const int64_t before = time(nullptr);
  for (int opening = 0; opening < 2; ++opening) {
    auto store = Store::Open(Options(folder.path()));
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ(*(*store)->Get(Family::kDefault, "schema_version"), "2");
    EXPECT_EQ(*(*store)->Get(Family::kJobs, "row"), "kept");
    EXPECT_FALSE(*(*store)->Has(Family::kBlobs, first + "m"));
    EXPECT_FALSE(*(*store)->Has(Family::kBlobMeta, unfinished));
    EXPECT_EQ((*store)->UsageOf("default"), (BlobUsage{2, 3 + 4}));
    for (const std::string& blob : {first, second}) {
      const auto used = (*store)->Get(Family::kBlobMeta, blob);
      ASSERT_TRUE(used.ok()) << used.status();
      // Nothing is old enough to be collected because of the upgrade.
      EXPECT_GE(static_cast<int64_t>(FromBigEndian64(*used)), before);
    }
    EXPECT_EQ(*(*store)->Get(Family::kBlobs, first + "c" + std::string(4, '\0')), "abc");
  }
}

TEST(StoreTest, CountsBlobsAsTheyAreCommitted) {
  TempFolder folder;
  const Digest three{std::string(64, 'a'), 3};
  const Digest seven{std::string(64, 'b'), 7};
  const std::string used = BigEndian64(0);
  {
    auto store = Store::Open(Options(folder.path()));
    ASSERT_TRUE(store.ok()) << store.status();
    // Twice in one batch, and a deletion of what is not there.
    ASSERT_TRUE((*store)
                    ->CommitAndWait({{Family::kBlobMeta, BlobMetaKey("a", three), used},
                                     {Family::kBlobMeta, BlobMetaKey("a", three), used},
                                     {Family::kBlobMeta, BlobMetaKey("a", seven), std::nullopt},
                                     {Family::kBlobMeta, BlobMetaKey("b", seven), used}})
                    .ok());
    EXPECT_EQ((*store)->UsageOf("a"), (BlobUsage{1, 3}));
    ASSERT_TRUE((*store)
                    ->CommitAndWait({{Family::kBlobMeta, BlobMetaKey("a", three), used},
                                     {Family::kBlobMeta, BlobMetaKey("a", seven), used}})
                    .ok());
    EXPECT_EQ((*store)->UsageOf("a"), (BlobUsage{2, 10}));
    ASSERT_TRUE(
        (*store)->CommitAndWait({{Family::kBlobMeta, BlobMetaKey("a", three), std::nullopt}}).ok());
  }
  auto store = Store::Open(Options(folder.path()));
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->UsageOf("a"), (BlobUsage{1, 7}));
  EXPECT_EQ((*store)->UsageOf("b"), (BlobUsage{1, 7}));
  EXPECT_EQ((*store)->UsageOf("c"), BlobUsage());
  EXPECT_EQ((*store)->Usage().size(), 2u);
}

TEST(StoreTest, BackupIsAStoreOfItsTime) {
  TempFolder folder;
  const std::string backups = folder.path() + "/backups";
  std::filesystem::create_directory(folder.path() + "/a");
  std::filesystem::create_directory(folder.path() + "/b");
  EXPECT_TRUE(absl::IsNotFound(ListBackups(backups).status()));
  const std::string big(3 << 20, 'x');  // beyond the memory table: in a blob file
  {
    auto store = Store::Open(Options(folder.path() + "/a"));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE(
        (*store)->CommitAndWait({{Family::kJobs, "a", "1"}, {Family::kBlobs, "big", big}}).ok());
    EXPECT_EQ(*(*store)->Backup(backups, 2, &never), 1u);
    ASSERT_TRUE((*store)->CommitAndWait({{Family::kJobs, "a", "2"}}).ok());
    EXPECT_EQ(*(*store)->Backup(backups, 2, &never), 2u);
    EXPECT_EQ(*(*store)->Backup(backups, 2, &never), 3u);
    EXPECT_TRUE(
        absl::IsFailedPrecondition(RestoreBackup(backups, 0, folder.path() + "/a").status()));
  }
  const auto listed = ListBackups(backups);
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[0].id, 2u);
  EXPECT_TRUE(absl::IsNotFound(RestoreBackup(backups, 1, folder.path() + "/b").status()));
  ASSERT_EQ(RestoreBackup(backups, 0, folder.path() + "/b")->id, 3u);
  auto store = Store::Open(Options(folder.path() + "/b"));
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "a"), "2");
  EXPECT_EQ(*(*store)->Get(Family::kBlobs, "big"), big);
}

TEST(StoreTest, DamagedBackupIsNotRestored) {
  TempFolder folder;
  const std::string backups = folder.path() + "/backups";
  std::filesystem::create_directory(folder.path() + "/a");
  std::filesystem::create_directory(folder.path() + "/b");
  {
    auto store = Store::Open(Options(folder.path() + "/a"));
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->CommitAndWait({{Family::kJobs, "a", std::string(10'000, 'x')}}).ok());
    ASSERT_TRUE((*store)->Backup(backups, 2, &never).ok());
  }
  bool changed = false;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(backups)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('?');
    changed = true;
  }
  ASSERT_TRUE(changed);
  const auto restored = RestoreBackup(backups, 0, folder.path() + "/b");
  EXPECT_TRUE(absl::IsDataLoss(restored.status())) << restored.status();
}

TEST(StoreTest, CommitsInOrderAndAnswersEachBatch) {
  TempFolder folder;
  auto store = Store::Open(Options(folder.path()));
  ASSERT_TRUE(store.ok());
  std::vector<int> order;  // written by the committer thread only, read after the barrier
  for (int i = 0; i < 1000; ++i) {
    (*store)->Commit({{Family::kJobs, "key", std::to_string(i)}},
                     [&order, i](const absl::Status& s) {
                       EXPECT_TRUE(s.ok()) << s;
                       order.push_back(i);
                     });
  }
  ASSERT_TRUE((*store)->CommitAndWait({}).ok());
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "key"), "999");
}

TEST(StoreTest, ScansAPrefixInBothDirections) {
  TempFolder folder;
  auto store = Store::Open(Options(folder.path()));
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)
                  ->CommitAndWait({{Family::kJobs, "a1", ""},
                                   {Family::kJobs, "b1", ""},
                                   {Family::kJobs, "b2", ""},
                                   {Family::kJobs, "b3", ""},
                                   {Family::kJobs, "c1", ""}})
                  .ok());
  const auto keys = [&](const Store::ScanRange& range) {
    std::vector<std::string> out;
    EXPECT_TRUE((*store)
                    ->Scan(Family::kJobs, range,
                           [&](std::string_view key, std::string_view) {
                             out.emplace_back(key);
                             return true;
                           })
                    .ok());
    return out;
  };
  EXPECT_THAT(keys({.prefix = "b"}), ElementsAre("b1", "b2", "b3"));
  EXPECT_THAT(keys({.prefix = "b", .descending = true}), ElementsAre("b3", "b2", "b1"));
  EXPECT_THAT(keys({.prefix = "b", .start = "b3", .descending = true}), ElementsAre("b2", "b1"));
  EXPECT_THAT(keys({.prefix = "b", .start = "b2"}), ElementsAre("b2", "b3"));
}

TEST(StoreTest, FullDiskIsAStatusAndHealsByItself) {
  TempFolder folder;
  std::atomic<bool> full = false;
  auto disk = std::make_shared<FullDisk>(&full);
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk);
  StoreOptions options = Options(folder.path());
  options.env = env.get();
  auto store = Store::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->CommitAndWait({{Family::kJobs, "before", "1"}}).ok());

  full = true;
  const absl::Status refused = (*store)->CommitAndWait({{Family::kJobs, "during", "2"}});
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(absl::IsResourceExhausted((*store)->health())) << (*store)->health();

  full = false;
  for (int i = 0; i < 500 && !(*store)->health().ok(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE((*store)->health().ok()) << (*store)->health();
  EXPECT_TRUE((*store)->CommitAndWait({{Family::kJobs, "after", "3"}}).ok());
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "before"), "1");
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "during"), "2");  // kept, and committed in its turn
  EXPECT_EQ(*(*store)->Get(Family::kJobs, "after"), "3");
}

TEST(DataFolderTest, SecondHolderIsRefusedWithTheProcessOfTheFirst) {
  TempFolder folder;
  auto first = DataFolder::Open(folder.path() + "/data");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = DataFolder::Open(folder.path() + "/data");
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status()));
  EXPECT_THAT(MessageOf(second.status()), HasSubstr("process " + std::to_string(getpid())));
  first->reset();
  EXPECT_TRUE(DataFolder::Open(folder.path() + "/data").ok());
  struct stat info {};
  ASSERT_EQ(stat((folder.path() + "/data").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(BallastTest, HoldsItsBytesUntilReleased) {
  TempFolder folder;
  Ballast ballast(folder.path() + "/ballast", 1 << 20);
  ASSERT_TRUE(ballast.Take().ok());
  struct stat info {};
  ASSERT_EQ(stat((folder.path() + "/ballast").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 1 << 20);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);  // allocated, not sparse
  ballast.Release();
  EXPECT_NE(stat((folder.path() + "/ballast").c_str(), &info), 0);
  Ballast impossible(folder.path() + "/ballast", int64_t{1} << 60);
  EXPECT_TRUE(absl::IsResourceExhausted(impossible.Take()));
  EXPECT_NE(stat((folder.path() + "/ballast").c_str(), &info), 0);
}

TEST(KeysTest, OrderOfBytesIsOrderOfNumbers) {
  EXPECT_EQ(BigEndian64(0x0102030405060708), std::string("\1\2\3\4\5\6\7\10", 8));
  EXPECT_LT(JobEventKey("default", "a", 255), JobEventKey("default", "a", 256));
  EXPECT_EQ(LastPart(InstanceKey("default", "name", "id")), "id");
  EXPECT_EQ(FirstPart(InstanceKey("default", "name", "id")), "default");
}

}  // namespace
}  // namespace helx::server
