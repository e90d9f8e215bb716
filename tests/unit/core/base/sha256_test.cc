#include "core/base/sha256.h"

#include <gtest/gtest.h>

#include "core/base/digest.h"

namespace helx {
namespace {

// FIPS 180-4 example values (NIST, "SHA256.pdf") and the empty message.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(Sha256Hex(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string_view("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, IncrementalEqualsWhole) {
  Sha256 hash;
  hash.Update(std::string_view("a"));
  hash.Update(std::string_view("bc"));
  EXPECT_EQ(hash.FinishHex(), Sha256Hex(std::string_view("abc")));
}

TEST(Digest, ParsesItsText) {
  const Digest digest = DigestOf(std::string_view("abc"));
  EXPECT_EQ(*ParseDigest(digest.ToString()), digest);
  for (const char* text : {"", "abc", "abc/3", "/3"}) EXPECT_FALSE(ParseDigest(text).ok()) << text;
  EXPECT_FALSE(ParseDigest(digest.hash + "/-1").ok());
  EXPECT_FALSE(ParseDigest(digest.hash + "/3x").ok());
}

}  // namespace
}  // namespace helx
