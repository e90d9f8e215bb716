#include "client/cpp/bundle_folder.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/unit/client/cpp/temporary_folder.h"

namespace helx::client {
namespace {

size_t Entries(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(CheckBundlePlace, KeepsWhatIsNotABundle) {
  TemporaryFolder folder;
  EXPECT_TRUE(CheckBundlePlace(folder.path() + "/new/deep").ok());
  std::filesystem::create_directory(folder.path() + "/empty");
  EXPECT_TRUE(CheckBundlePlace(folder.path() + "/empty").ok());
  folder.Write("old/manifest.json", "{}");
  EXPECT_TRUE(CheckBundlePlace(folder.path() + "/old").ok());
  EXPECT_FALSE(CheckBundlePlace(folder.path() + "/old/run").ok());  // would be an unlisted file
  folder.Write("mine/notes.txt", "precious");
  EXPECT_FALSE(CheckBundlePlace(folder.path() + "/mine").ok());
  EXPECT_FALSE(CheckBundlePlace(folder.path() + "/mine/notes.txt").ok());
}

TEST(StagedFolder, TakesItsPlaceAtOnce) {
  TemporaryFolder folder;
  const std::string destination = folder.path() + "/results/kws";
  for (const char* content : {"first", "second"}) {
    auto staged = StagedFolder::Create(destination);
    ASSERT_TRUE(staged.ok()) << staged.status();
    ASSERT_TRUE(WriteFile(staged->path() + "/manifest.json", content).ok());
    ASSERT_TRUE(staged->Commit().ok());
    EXPECT_EQ(*ReadFile(destination + "/manifest.json"), content);
  }
  EXPECT_EQ(Entries(folder.path() + "/results"), 1u);  // the older bundle is gone
}

TEST(StagedFolder, WhatIsNotCommittedIsRemoved) {
  TemporaryFolder folder;
  folder.Write("kws/manifest.json", "old");
  {
    auto staged = StagedFolder::Create(folder.path() + "/kws/");
    ASSERT_TRUE(staged.ok());
    ASSERT_TRUE(WriteFile(staged->path() + "/manifest.json", "new").ok());
  }
  EXPECT_EQ(Entries(folder.path()), 1u);
  EXPECT_EQ(*ReadFile(folder.path() + "/kws/manifest.json"), "old");
}

}  // namespace
}  // namespace helx::client
