#include "core/base/strict_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace helx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

absl::Status Refusal(std::string_view text, const YamlLimits& limits = {}) {
  return ParseYaml(text, "e.yaml", limits).status();
}

TEST(StrictYaml, BuildsTheTree) {
  const auto document = ParseYaml("a: [1, 'two']\nb: {c: true}\n", "e.yaml");
  ASSERT_TRUE(document.ok()) << document.status();
  const YamlNode& root = (*document)->root();
  ASSERT_EQ(root.members().size(), 2u);
  EXPECT_EQ(*root.Find("a")->items()[0]->Integer(0, 9), 1);
  EXPECT_EQ(*root.Find("a")->items()[1]->Text(), "two");
  const YamlNode& c = *root.Find("b")->Find("c");
  EXPECT_TRUE(*c.Boolean());
  EXPECT_EQ(c.Path(), "b.c");
  EXPECT_EQ(c.line(), 2);
  EXPECT_EQ(root.Find("a")->items()[1]->Path(), "a[1]");
  EXPECT_EQ(&root.Nearest("b.c"), &c);
  EXPECT_EQ(&root.Nearest("a[1]"), root.Find("a")->items()[1]);
  EXPECT_EQ(&root.Nearest("b.x[3]"), root.Find("b"));
}

TEST(StrictYaml, ReadsJsonToo) {
  const auto document = ParseYaml("{\"a\":{\"b\":[\"x\",2]}}", "e.json");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(*(*document)->root().Find("a")->Find("b")->items()[1]->Integer(0, 9), 2);
}

struct Case {
  const char* name;
  std::string text;
  const char* code;
  const char* place;
};

class StrictYamlRefuses : public testing::TestWithParam<Case> {};

TEST_P(StrictYamlRefuses, WithCodeAndPlace) {
  const absl::Status status = Refusal(GetParam().text);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorCodeOf(status), GetParam().code) << status;
  EXPECT_THAT(MessageOf(status), StartsWith(GetParam().place));
}

// The traps of yaml-cpp: duplicate keys (the first wins), a second document (dropped), aliases
// (expanded), bytes that are not UTF-8 (passed through).
INSTANTIATE_TEST_SUITE_P(
    Traps, StrictYamlRefuses,
    testing::Values(
        Case{"DuplicateKey", "a:\n  b: 1\n  b: 2\n", "duplicate_key", "e.yaml:3: a: the key \"b\""},
        Case{"DuplicateQuotedKey", "a: 1\n\"a\": 2\n", "duplicate_key", "e.yaml:2: document"},
        Case{"SecondDocument", "a: 1\n---\nb: 2\n", "second_document", "e.yaml:"},
        Case{"SecondEmptyDocument", "a: 1\n---\n", "second_document", "e.yaml:"},
        Case{"Anchor", "a: &x 1\n", "anchor", "e.yaml:1: a"},
        Case{"Cycle", "&a [*a]", "anchor", "e.yaml:1"},
        Case{"Alias", "a: *x\n", "yaml_syntax", "e.yaml:1: a"},
        Case{"MergeKey", "a: &b {c: 1}\nd: {<<: *b}\n", "anchor", "e.yaml:1"},
        Case{"Tag", "a: !!int '3'\n", "explicit_tag", "e.yaml:1"},
        Case{"LocalTag", "a: !x {b: 1}\n", "explicit_tag", "e.yaml:1"},
        Case{"TagOfNoName", "a: ! b\n", "explicit_tag", "e.yaml:1"},
        Case{"TagOfNoNameAfterText", "\u00fc: \"\u00e4!\"\nb: ! 'c'\n", "explicit_tag", "e.yaml:2"},
        Case{"TagOfNoNameAfterAByteOrderMark",
             "\xef\xbb\xbf"
             "a: ! b\n",
             "explicit_tag", "e.yaml:1"},
        Case{"TagOfNoNameOfNothing", "a: !\n", "explicit_tag", "e.yaml:1"},
        Case{"TagOfNoNameOfASequence", "a: ! [b]\n", "explicit_tag", "e.yaml:1"},
        Case{"TagOfNoNameOfAKey", "! a: b\n", "explicit_tag", "e.yaml:1"},
        Case{"NotUtf8", "a: 1\nb: \xff\xfe\n", "not_utf8", "e.yaml:2"},
        Case{"Nul", std::string("a: 1\nb: x\0y\n", 12), "control_character", "e.yaml:2"},
        Case{"EscapedNul", "a: \"x\\0y\"\n", "nul_character", "e.yaml:1: a"},
        Case{"Escape", "a: \x1b[2J\n", "control_character", "e.yaml:1"},
        Case{"SequenceAsKey", "? [a]\n: 1\n", "wrong_key", "e.yaml:1"},
        Case{"MapAsKey", "{{a: 1}: 2}", "wrong_key", "e.yaml:1"},
        Case{"NullAsKey", "~: 1\n", "wrong_key", "e.yaml:1"},
        Case{"LongKey", std::string(257, 'k') + ": 1\n", "wrong_key", "e.yaml:1"},
        Case{"Empty", "", "empty_document", "e.yaml:1"},
        Case{"OnlyComment", "# nothing\n", "empty_document", "e.yaml:1"},
        Case{"Syntax", "a: [1, 2\nb: 3\n", "yaml_syntax", "e.yaml:"},
        Case{"Tab", "a:\n\tb: 1\n", "yaml_syntax", "e.yaml:2"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(StrictYaml, SaysDepth) {
  const absl::Status status = Refusal(std::string(100'000, '['));
  EXPECT_EQ(ErrorCodeOf(status), "too_deep");
  EXPECT_THAT(MessageOf(status), HasSubstr("nested deeper than 32 levels"));
  EXPECT_TRUE(ParseYaml(std::string(32, '[') + std::string(32, ']'), "e.yaml").ok());
}

TEST(StrictYaml, LimitsNodesAndBytes) {
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i) many += "1,";
  EXPECT_EQ(ErrorCodeOf(Refusal(many + "]")), "too_many_nodes");
  EXPECT_EQ(ErrorCodeOf(Refusal("a: 12345", {.bytes = 7})), "document_too_large");
}

// `no`, `y`, quoted 'no', `010`, quoted '010': yaml-cpp's own conversions take them for booleans
// and for 8.
TEST(StrictYaml, FalseFriends) {
  const auto document = ParseYaml(
      "no: no\ny: y\nquoted_no: 'no'\noctal: 010\nquoted: '10'\nplus: +1\nhex: 0x10\nfloat: 1.0\n"
      "empty:\nword: word\nbig: 9223372036854775808\nupper: True\n",
      "e.yaml");
  ASSERT_TRUE(document.ok()) << document.status();
  const YamlNode& root = (*document)->root();
  for (const char* key : {"no", "y", "quoted_no", "empty", "word", "upper"}) {
    EXPECT_FALSE(root.Find(key)->Boolean().ok()) << key;
  }
  for (const char* key : {"octal", "quoted", "plus", "hex", "float", "empty", "big"}) {
    EXPECT_FALSE(root.Find(key)->Integer(0, 100).ok()) << key;
  }
  for (const char* key : {"no", "y", "octal", "plus", "hex", "float", "empty", "upper"}) {
    EXPECT_FALSE(root.Find(key)->Text().ok()) << key;
  }
  EXPECT_EQ(*root.Find("quoted_no")->Text(), "no");
  EXPECT_EQ(*root.Find("quoted")->Text(), "10");
  EXPECT_EQ(*root.Find("word")->Text(), "word");
  EXPECT_THAT(MessageOf(root.Find("octal")->Integer(0, 100).status()), HasSubstr("octal"));
  EXPECT_EQ(MessageOf(root.Find("no")->Text().status()),
            "e.yaml:1: no: found \"no\", which some YAML readers take for a boolean; put text like "
            "this in quotes [ambiguous_text]");
}

TEST(StrictYaml, UnknownKeyNamesTheNearest) {
  const auto document = ParseYaml("a:\n  smaples: 1\n", "e.yaml");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(MessageOf((*document)->root().Find("a")->CheckKeys({"warmup", "samples"})),
            "e.yaml:2: a.smaples: unknown key \"smaples\"; did you mean samples? Allowed: warmup, "
            "samples [unknown_key]");
}

}  // namespace
}  // namespace helx
