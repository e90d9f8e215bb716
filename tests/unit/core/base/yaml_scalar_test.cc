#include "core/base/yaml_scalar.h"

#include <gtest/gtest.h>

namespace helx {
namespace {

// The implicit types of YAML 1.1 (yaml.org/type) and of YAML 1.2.2's core schema.
TEST(PlainScalarAmbiguity, NamesWhatOtherReadersSee) {
  for (const char* text : {"", "~", "null", "NULL"}) EXPECT_EQ(PlainScalarAmbiguity(text), "null");
  for (const char* text : {"y", "N", "no", "Yes", "ON", "off", "true", "False"}) {
    EXPECT_EQ(PlainScalarAmbiguity(text), "a boolean") << text;
  }
  for (const char* text : {"0", "010", "+12", "-1", "1_000", "0x1F", "0o17", "0b101", "1e3", "1.5",
                           ".5", "-.inf", ".NaN", "190:20:30", "2001-12-14", "00", "12e03"}) {
    EXPECT_EQ(PlainScalarAmbiguity(text), "a number") << text;
  }
  for (const char* text :
       {"input_1", "00ff", "1.0.2", "1.0-draft", "a1", "e5", "nope", "-", ".", "x-1", "1a"}) {
    EXPECT_EQ(PlainScalarAmbiguity(text), "") << text;
  }
}

TEST(ParsePlainInteger, OneSpellingOnly) {
  EXPECT_EQ(ParsePlainInteger("0"), 0);
  EXPECT_EQ(ParsePlainInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParsePlainInteger("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"", "-", "-0", "+1", "01", "1_0", "0x1", "1.0", "1e3", " 1", "9223372036854775808"}) {
    EXPECT_EQ(ParsePlainInteger(text), std::nullopt) << text;
  }
}

TEST(ShortestNonNegative, ReadsBackAsTheSameDouble) {
  EXPECT_EQ(*ShortestNonNegative("0.1000"), "0.1");
  EXPECT_EQ(*ShortestNonNegative("1"), "1");
  EXPECT_EQ(*ShortestNonNegative("-0"), "0");
  // 2^-1074, the least positive double, has the shortest text 5e-324.
  EXPECT_EQ(*ShortestNonNegative("4.940656458412465e-324"), "5e-324");
}

TEST(ShortestNonNegative, RefusesWithACode) {
  const auto code = [](const char* text) {
    return ErrorCodeOf(ShortestNonNegative(text).status());
  };
  EXPECT_EQ(code(".nan"), "not_finite");
  EXPECT_EQ(code(".inf"), "not_finite");
  EXPECT_EQ(code("1e400"), "not_finite");
  EXPECT_EQ(code("1e-400"), "not_finite");
  EXPECT_EQ(code("-1"), "negative_number");
  for (const char* text : {"", "01", ".5", "1.", "0x1", "1_0", "1e", "abc", "+1"}) {
    EXPECT_EQ(code(text), "not_a_number") << text;
  }
}

TEST(NearestName, LeastEditDistance) {
  EXPECT_EQ(NearestName("warmups", {"samples", "warmup", "state"}), "warmup");
  EXPECT_EQ(NearestName("tensorio", {"enabled", "tensor_io"}), "tensor_io");
  EXPECT_EQ(NearestName("corstone300", {"corstone-300", "mps2-m4"}), "corstone-300");
  EXPECT_EQ(NearestName("mps2-m5", {"corstone-300", "mps2-m4"}), "mps2-m4");
  EXPECT_EQ(NearestName("raspberry", {"corstone-300", "mps2-m4"}), "");  // nothing is near
}

TEST(ShownText, ShortensWithoutCuttingCharacters) {
  EXPECT_EQ(ShownText("a\x01z"), "\"a?z\"");
  // 59 letters and a character of two bytes: 60 would cut it.
  EXPECT_EQ(ShownText(std::string(59, 'a') + "\u00e9z"), "\"" + std::string(59, 'a') + "…\"");
}

}  // namespace
}  // namespace helx
