#include "server/store/log_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/splitmix64.h"
#include "server/store/store.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 20;

std::string KeyOf(int row) { return "row-" + std::to_string(100 + row); }

absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path, bool drop = false) {
  StoreOptions options;
  options.path = path;
  options.ballast_bytes = 0;
  options.drop_damaged_log = drop;
  return Store::Open(options);
}

class LogCheckTest : public testing::Test {
 protected:
  // A store with kRows rows, each a record of the log, the store closed.
  void SetUp() override {
    auto store = Open(folder_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    for (int row = 0; row < kRows; ++row) {
      ASSERT_TRUE(
          (*store)->CommitAndWait({{Family::kJobs, KeyOf(row), std::string(200, 'v')}}).ok());
    }
    store->reset();
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/db")) {
      if (entry.path().extension() != ".log") continue;
      const std::string content = *ReadFile(entry.path());
      if (content.find(KeyOf(0)) != content.npos) log_ = entry.path();
    }
    ASSERT_FALSE(log_.empty());
    content_ = *ReadFile(log_);
    ASSERT_LT(content_.size(), 32768u) << "one block";
  }

  // Where the record of a row begins: records are a header of 7 bytes, whose bytes 4 and 5 are the
  // length, and so many bytes.
  size_t RecordOf(int row) const {
    const size_t key = content_.find(KeyOf(row));
    size_t at = 0;
    for (;;) {
      const size_t length = static_cast<uint8_t>(content_[at + 4]) +
                            256 * static_cast<size_t>(static_cast<uint8_t>(content_[at + 5]));
      if (key < at + 7 + length) return at;
      at += 7 + length;
    }
  }

  void Write(const std::string& content) { ASSERT_TRUE(WriteFile(log_, content).ok()); }

  // How many of the rows an open store has, from the first.
  static int RowsOf(const Store& store) {
    int rows = 0;
    while (rows < kRows && store.Has(Family::kJobs, KeyOf(rows)).value_or(false)) ++rows;
    return rows;
  }

  TempFolder folder_;
  std::string log_;
  std::string content_;
};

TEST_F(LogCheckTest, AWholeLogIsReplayed) {
  const auto store = Open(folder_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(RowsOf(**store), kRows);
}

TEST_F(LogCheckTest, ARecordThatACrashCutOffWasNeverAcknowledged) {
  const size_t last = RecordOf(kRows - 1);
  for (size_t size = last; size < content_.size(); ++size) {
    EXPECT_TRUE(CheckLog("log", content_.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(CheckLog("log", content_ + std::string(99'999, '\0')).ok()) << "preallocated";
  SplitMix64 random(1);
  std::string noise(99'999, '\0');
  for (char& c : noise) c = static_cast<char>(random.Next());
  EXPECT_TRUE(CheckLog("log", content_ + noise).ok());
  Write(content_.substr(0, last + 20));
  const auto store = Open(folder_.path());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(RowsOf(**store), kRows - 1);
}

TEST_F(LogCheckTest, DamageBeforeTheEndIsRefusedAndOnlyDroppedWhenAsked) {
  const size_t record = RecordOf(9);
  const std::vector<std::pair<const char*, std::function<void(std::string&)>>> damages = {
      {"payload", [&](std::string& log) { log[record + 60] ^= 1; }},
      {"checksum", [&](std::string& log) { log[record] ^= 1; }},
      {"type", [&](std::string& log) { log[record + 6] ^= 2; }},
      {"shorter", [&](std::string& log) { log[record + 4] ^= 1; }},
      {"beyond the end", [&](std::string& log) { log[record + 5] ^= 0x40; }},
      {"zeros", [&](std::string& log) { log.replace(record, 64, 64, '\0'); }},
  };
  for (const auto& [name, damage] : damages) {
    SCOPED_TRACE(name);
    std::string damaged = content_;
    damage(damaged);
    ASSERT_NE(damaged, content_);
    Write(damaged);
    const auto store = Open(folder_.path());
    ASSERT_TRUE(absl::IsDataLoss(store.status())) << store.status();
    EXPECT_EQ(ErrorCodeOf(store.status()), "store_log_damaged");
    EXPECT_THAT(MessageOf(store.status()), HasSubstr("--restore"));
    EXPECT_THAT(MessageOf(store.status()), HasSubstr("--drop-damaged-log"));
    EXPECT_EQ(*ReadFile(log_), damaged) << "left as it is";
  }
  // In another block, whose first record is whole.
  std::string later = content_.substr(0, record) + std::string(64, 'x');
  later.resize(3 * 32768, '\0');
  EXPECT_TRUE(CheckLog("log", later).ok());
  EXPECT_TRUE(absl::IsDataLoss(CheckLog("log", later + content_)));

  const auto store = Open(folder_.path(), /*drop=*/true);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(RowsOf(**store), 9);
}

}  // namespace
}  // namespace helx::server
