#include "core/base/hex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace helx {
namespace {

TEST(Hex, EncodesLowerCase) {
  const std::vector<uint8_t> bytes = {0x00, 0x0f, 0xa5, 0xff};
  EXPECT_EQ(HexEncode(bytes), "000fa5ff");
}

TEST(Hex, DecodesWhatItEncodes) {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(*HexDecode(HexEncode(bytes)), bytes);
}

TEST(Hex, RefusesOddLength) {
  EXPECT_THAT(MessageOf(HexDecode("abc").status()), testing::HasSubstr("odd length"));
}

TEST(Hex, RefusesUpperCasePrefixAndSpace) {
  for (const char* text : {"AB", "0x", "0 ", "g0"}) {
    EXPECT_EQ(HexDecode(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

// Every character at every position: inside a word of eight and in the rest.
TEST(Hex, AcceptsExactlySixteenCharacters) {
  for (size_t position = 0; position < 10; ++position) {
    for (int c = 0; c < 256; ++c) {
      std::string text = "0123456789";
      text[position] = static_cast<char>(c);
      const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      const auto decoded = HexDecodeToString(text);
      ASSERT_EQ(decoded.ok(), digit) << position << " " << c;
      if (!digit) {
        EXPECT_THAT(MessageOf(decoded.status()),
                    testing::HasSubstr("character " + std::to_string(position) + " of"));
      }
    }
  }
}

}  // namespace
}  // namespace helx
