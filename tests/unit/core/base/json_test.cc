#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace helx {
namespace {

using testing::HasSubstr;

// Expected text: Python 3.11,
// json.dumps({"ü": 1, "a": [True, None, -5], "Z": "\x1f\"\\\n\x7f"}, sort_keys=True,
// separators=(",", ":"), ensure_ascii=False)
TEST(CanonicalJson, WritesWhatPythonWrites) {
  const Json value{{"\u00fc", 1}, {"a", {true, nullptr, -5}}, {"Z", "\x1f\"\\\n\x7f"}};
  EXPECT_EQ(*CanonicalJson(value),
            "{\"Z\":\"\\u001f\\\"\\\\\\n\x7f\",\"a\":[true,null,-5],\"\u00fc\":1}");
}

TEST(CanonicalJson, KeepsIntegersOf64Bits) {
  EXPECT_EQ(*CanonicalJson(Json{INT64_MIN, UINT64_MAX}),
            "[-9223372036854775808,18446744073709551615]");
}

TEST(CanonicalJson, RefusesFloatsAndBrokenUtf8) {
  EXPECT_FALSE(CanonicalJson(Json{{"a", 0.5}}).ok());
  EXPECT_FALSE(CanonicalJson(Json{{"a", "\xff"}}).ok());
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_THAT(MessageOf(ParseJson(R"({"a":1,"a":2})").status()), HasSubstr("stands twice"));
  EXPECT_TRUE(ParseJson(R"({"a":{"a":2},"b":{"a":1}})").ok());
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "{} {}", "[1,]", "// x\n1", "NaN", "01", "\"\xff\"",
                           "18446744073709551616", "{\"a\":}", "'a'"}) {
    EXPECT_EQ(ParseJson(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseJson, LimitsDepth) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_THAT(MessageOf(ParseJson(std::string(100'000, '[')).status()), HasSubstr("nested deeper"));
}

TEST(IsUtf8, FollowsTable3_7OfUnicode) {
  EXPECT_TRUE(IsUtf8("a\u00e9\u20ac\U0001f600"));
  // Overlong, surrogate, beyond U+10FFFF, truncated, lone continuation, NUL.
  for (std::string_view text :
       {"\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
  EXPECT_FALSE(IsUtf8(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace helx
