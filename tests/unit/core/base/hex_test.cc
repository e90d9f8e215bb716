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

}  // namespace
}  // namespace helx
