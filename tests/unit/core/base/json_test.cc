#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json_numbers.h"

namespace helx {
namespace {

using testing::HasSubstr;
using testing::Not;

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

// A refusal says where and what, in words of this program's own.
TEST(ParseJson, SaysWhatIsWrongWithoutNamingItsLibrary) {
  const auto said = [](const char* text) { return MessageOf(ParseJson(text).status()); };
  EXPECT_EQ(said("{\"a\": x}"), "not acceptable JSON: at byte 7: invalid literal");
  EXPECT_EQ(said("["), "not acceptable JSON: at byte 2: unexpected end of input");
  EXPECT_EQ(said("\"; ] - : \x01\""),
            "not acceptable JSON: at byte 10: invalid string: control character U+0001 (SOH) must "
            "be escaped to \\u0001");
  EXPECT_EQ(said("[1e400]"),
            "not acceptable JSON: at byte 6: the number 1e400 is larger than a double can hold");
  for (const char* text : {"", "{", "{} {}", "[1,]", "// x\n1", "NaN", "01", "\"\xff\"", "{\"a\":}",
                           "1e999", "[1 2]", "{1:2}", "\"\\q\"", "-"}) {
    EXPECT_THAT(said(text), Not(HasSubstr("exception"))) << text;
    EXPECT_THAT(said(text), Not(HasSubstr("parse error"))) << text;
  }
}

TEST(ParseJsonWithWideIntegers, KeepsTheirDigits) {
  const auto value = ParseJsonWithWideIntegers("[18446744073709551616, 18446744073709551615, 1e3]");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ((*value)[0], "18446744073709551616");
  EXPECT_EQ((*value)[1], UINT64_MAX);
  EXPECT_EQ((*value)[2], 1000.0);
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
