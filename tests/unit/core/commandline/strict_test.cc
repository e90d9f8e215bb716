#include "core/commandline/strict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace helx::commandline {
namespace {

using ::testing::HasSubstr;

// A program with one option of each kind and a verb with one more number.
struct Program {
  Program() {
    app.add_option("--count", count);
    app.add_option("--size", size);
    app.add_option("--name", name);
    app.add_option("--names", names);
    app.add_option("--path", path)->transform(Path());
    app.add_option("--folder", folder)->transform(AbsolutePath());
    CLI::App* verb = app.add_subcommand("verb");
    verb->add_option("--count", verb_count);
    verb->add_option("word", word);
    BeStrict(app);
  }

  // What is wrong with the words; empty when they were taken.
  std::string Parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    try {
      app.parse(std::move(words));
      return "";
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
  }

  CLI::App app;
  int64_t count = -1;
  uint32_t size = 0;
  int verb_count = 0;
  std::string name, path, folder, word;
  std::vector<std::string> names;
};

TEST(StrictTest, IntegersAreDecimal) {
  for (const char* text : {"010", "0x10", "00", "-010", "1e3", "+1", " 1", "1 ", "", "-", "1.0"}) {
    EXPECT_NE(Program().Parse({"--count", text}), "") << text;
    EXPECT_NE(Program().Parse({"--size", text}), "") << text;
    EXPECT_NE(Program().Parse({"verb", "--count", text}), "") << text;
  }
  EXPECT_THAT(Program().Parse({"--count", "010"}), HasSubstr("--count: found \"010\""));
  Program program;
  EXPECT_EQ(program.Parse({"--count=-10", "--size", "0", "verb", "--count", "100"}), "");
  EXPECT_EQ(program.count, -10);
  EXPECT_EQ(program.size, 0u);
  EXPECT_EQ(program.verb_count, 100);
}

TEST(StrictTest, TextIsUtf8AndPathsAreBytes) {
  for (const char* text : {"\xff", "a\xc3", "\xed\xa0\x80"}) {
    EXPECT_THAT(Program().Parse({"--name", text}), HasSubstr("not UTF-8"));
    EXPECT_THAT(Program().Parse({"--names", "a", text}), HasSubstr("not UTF-8"));
    EXPECT_THAT(Program().Parse({"verb", text}), HasSubstr("not UTF-8"));
    Program program;
    EXPECT_EQ(program.Parse({"--path", text, "--folder", text}), "");
    EXPECT_EQ(program.path, text);
    EXPECT_EQ(program.folder, std::filesystem::current_path().string() + "/" + text);
  }
  Program program;
  EXPECT_EQ(program.Parse({"--name", "\u00fc\U0001f600"}), "");
}

TEST(StrictTest, WhatIsGivenHasAValue) {
  for (const char* option : {"--name", "--names", "--path", "--folder"}) {
    EXPECT_THAT(Program().Parse({option, ""}), HasSubstr("leave the option out")) << option;
  }
  EXPECT_EQ(Program().Parse({"verb", ""}), "") << "an empty argument is its verb's to judge";
}

TEST(StrictTest, FoldersBecomeAbsolute) {
  Program program;
  EXPECT_EQ(program.Parse({"--folder", "a/b", "--path", "a/b"}), "");
  EXPECT_EQ(program.folder, std::filesystem::current_path().string() + "/a/b");
  EXPECT_EQ(program.path, "a/b");
}

}  // namespace
}  // namespace helx::commandline
