#include "worker/runner/runner_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/digest.h"

namespace helx::runner {
namespace {

TEST(RunnerSourcesTest, EveryBoardHasItsFiles) {
  for (const target::Board& board : target::AllBoards()) {
    const auto sources = Sources(board);
    EXPECT_GT(sources.size(), 6u) << board.platform;
    for (const std::string& source : sources) {
      EXPECT_TRUE(std::filesystem::exists(SourceDirectory() + "/" + source)) << source;
    }
  }
}

// An image depends on every header: whoever adds one must add it to the digest, which is part of the build key.
TEST(RunnerSourcesTest, TheDigestCoversEveryHeaderAndSource) {
  const target::Board& board = target::AllBoards()[0];
  const auto before = SourceDigest(board);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_TRUE(IsSha256Hex(*before));
  const std::filesystem::path copy = ::testing::TempDir() + "/helx-data-" + std::to_string(getpid());
  std::filesystem::create_directories(copy);
  std::filesystem::copy(SourceDirectory(), copy / "runner");
  ASSERT_EQ(setenv("HELX_DATA_DIR", copy.c_str(), 1), 0);
  EXPECT_EQ(*SourceDigest(board), *before);
  const auto sources = Sources(board);
  std::set<std::string> used(sources.begin(), sources.end());
  for (const auto& entry : std::filesystem::directory_iterator(copy / "runner")) {
    const std::string name = entry.path().filename();
    const bool header = entry.path().extension() == ".h" && name != "runner_sources.h";
    if (!header && used.count(name) == 0) continue;
    const auto size = std::filesystem::file_size(entry.path());
    std::ofstream(entry.path(), std::ios::app) << "\n";
    EXPECT_NE(*SourceDigest(board), *before) << name;
    std::filesystem::resize_file(entry.path(), size);
  }
  EXPECT_EQ(*SourceDigest(board), *before);
  std::filesystem::remove(copy / "runner" / "runner.c");
  EXPECT_EQ(SourceDigest(board).status().code(), absl::StatusCode::kNotFound);
  unsetenv("HELX_DATA_DIR");
  std::filesystem::remove_all(copy);
}

}  // namespace
}  // namespace helx::runner
