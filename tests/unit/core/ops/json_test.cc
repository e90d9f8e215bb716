#include "core/ops/json.h"

#include <gtest/gtest.h>

#include "core/ops/base64.h"

namespace helx::ops {
namespace {

bool Accepts(std::string_view text) {
  std::string error;
  const auto json = ParseJson(text, &error);
  EXPECT_EQ(json.has_value(), error.empty());
  return json.has_value();
}

TEST(Json, KeepsCanonicalTextExactly) {
  for (const std::string text :
       {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775809",
        "85070591730234615865843651857942052864", "\"\"", "[]", "{}", "[1,[2,{}],\"a\"]",
        "{\"a\":1,\"b\":[true,false,null]}", "\"\\\"\\\\\\u0000\\u001f/\x7f\"",
        "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", "{\"A\":1,\"a\":2,\"\xC3\xA9\":3}"}) {
    const auto json = ParseJson(text, nullptr);
    ASSERT_TRUE(json.has_value()) << text;
    EXPECT_EQ(json->Text(), text);
  }
}

TEST(Json, RefusesEveryOtherForm) {
  for (const std::string_view text : {"",
                                      " 1",
                                      "1 ",
                                      "[1, 2]",
                                      "{\"a\": 1}",
                                      "-0",
                                      "00",
                                      "01",
                                      "+1",
                                      "1.0",
                                      "1e3",
                                      "-",
                                      "nul",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "'a'",
                                      "\"",
                                      "\"\\n\"",
                                      "\"\\/\"",
                                      "\"\\u0020\"",
                                      "\"\\u001F\"",
                                      "\"\\u00e9\"",
                                      "\"\\u000\"",
                                      "\"\n\"",
                                      "[1,]",
                                      "[,1]",
                                      "[1",
                                      "{\"a\":1,}",
                                      "{\"a\"}",
                                      "{a:1}",
                                      "{\"b\":1,\"a\":2}",
                                      "{\"a\":1,\"a\":2}",
                                      "1 2",
                                      "[]]",
                                      "\xEF\xBB\xBF"
                                      "1",
                                      "{\"a\":1}x",
                                      "truefalse"}) {
    EXPECT_FALSE(Accepts(text)) << text;
  }
}

TEST(Json, RefusesWhatIsNotUtf8) {
  // Overlong, surrogate, above U+10FFFF, truncated, stray.
  for (const std::string_view body :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x80\x80\x80", "\xC3",
        "\xE2\x82", "\x80", "\xFF", "\xF5\x80\x80\x80", "\xC3\x41", "\xE2\x41\x82"}) {
    EXPECT_FALSE(Accepts("\"" + std::string(body) + "\""));
  }
}

TEST(Json, RefusesDeepNestingWithoutOverflow) {
  const std::string deep = std::string(1000000, '[');
  EXPECT_FALSE(Accepts(deep));
  EXPECT_TRUE(Accepts(std::string(100, '[') + std::string(100, ']')));
  EXPECT_FALSE(Accepts(std::string(102, '[') + std::string(102, ']')));
}

TEST(Json, ReadsIntegersInRange) {
  const auto json = ParseJson(
      "[-5,9223372036854775807,18446744073709551615,18446744073709551616,"
      "-9223372036854775809]",
      nullptr);
  ASSERT_TRUE(json.has_value());
  EXPECT_TRUE(json->is_integers());
  const auto& items = json->items();
  EXPECT_EQ(items[0].IntegerIn(-5, 0), -5);
  EXPECT_FALSE(items[0].IntegerIn(-4, 0).has_value());
  EXPECT_FALSE(items[0].IntegerIn(-9, -6).has_value());
  EXPECT_EQ(items[1].IntegerIn(kI64Min, kI64Max), kI64Max);
  EXPECT_FALSE(items[2].IntegerIn(kI64Min, kI64Max).has_value());
  EXPECT_EQ(items[2].Unsigned64(), UINT64_MAX);
  EXPECT_FALSE(items[3].Unsigned64().has_value());
  EXPECT_FALSE(items[4].Unsigned64().has_value());
  EXPECT_FALSE(items[0].Unsigned64().has_value());
}

TEST(Json, FindsMembers) {
  const auto json = ParseJson("{\"a\":1,\"c\":2}", nullptr);
  ASSERT_TRUE(json.has_value());
  EXPECT_NE(json->Find("c"), nullptr);
  EXPECT_EQ(json->Find("b"), nullptr);
  EXPECT_TRUE(json->HasExactly({"a", "c"}));
  EXPECT_FALSE(json->HasExactly({"a"}));
  EXPECT_FALSE(json->HasExactly({"a", "b"}));
  EXPECT_EQ(json->Find("a")->Find("x"), nullptr);
}

TEST(Json, ALineEndsWithOneLineFeed) {
  std::string error;
  EXPECT_TRUE(ParseJsonLine("1\n", &error).has_value());
  EXPECT_FALSE(ParseJsonLine("1", &error).has_value());
  EXPECT_FALSE(ParseJsonLine("1\n\n", &error).has_value());
  EXPECT_FALSE(ParseJsonLine("1\r\n", &error).has_value());
}

TEST(JsonObject, SortsItsMembers) {
  EXPECT_EQ(JsonObject().Integer("b", -1).Text("a", "x\ty").Raw("B", "[]").Str(),
            "{\"B\":[],\"a\":\"x\\u0009y\",\"b\":-1}");
}

// RFC 4648 section 10.
TEST(Base64, Rfc4648Vectors) {
  const char* const rows[][2] = {{"", ""},
                                 {"f", "Zg=="},
                                 {"fo", "Zm8="},
                                 {"foo", "Zm9v"},
                                 {"foob", "Zm9vYg=="},
                                 {"fooba", "Zm9vYmE="},
                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& row : rows) {
    EXPECT_EQ(Base64Encode(row[0]), row[1]);
    EXPECT_EQ(Base64Decode(row[1]), row[0]);
  }
  EXPECT_EQ(Base64Decode("+/+/"), std::string("\xFB\xFF\xBF"));
}

TEST(Base64, RefusesEveryOtherForm) {
  for (const std::string_view text : {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v\n",
                                      "Z g=", "=", "====", "Zg==Zg==", "-_-_"}) {
    EXPECT_FALSE(Base64Decode(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace helx::ops
