#include "core/tensor/input_identity.h"

#include <gtest/gtest.h>

namespace helx {
namespace {

// SHA-256 of the bytes 01 ff (Python hashlib).
constexpr char kDigest[] = "4b3a43f592f577fcfcb5b0e1f42bec5182c9edc414e1f667528f56e7cf0be11d";

TEST(InputIdentity, ExamplePreimage) {
  const auto identity = IdentifyInputs({{{{0, "input", DType::kInt8, {2}}, kDigest}}});
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(*identity->canonical_json,
            std::string(R"({"inputs":[{"dtype":"int8","index":0,"name":"input","sha256":")") +
                kDigest +
                R"(","shape":[2]}],"schema":"helx.inputs/v1","storage":"little-endian"})");
  // hashlib.sha256 of that text.
  EXPECT_EQ(
      *identity->value,
      "helx.inputs/v1:sha256:f899eb524597043536b085c7618c19b764fcefae7d9537c2d71d8f1b876b82fe");
  EXPECT_EQ(identity->unavailable_reason, "");
  EXPECT_FALSE(identity->sequence_value.has_value());
}

TEST(InputIdentity, KeepsNonAsciiText) {
  const auto identity = IdentifyInputs({{{{0, "gr\u00f6\u00dfe", DType::kFloat32, {}}, kDigest}}});
  ASSERT_TRUE(identity.ok()) << identity.status();
  // Python: json.dumps(..., ensure_ascii=False), hashlib.
  EXPECT_EQ(
      *identity->value,
      "helx.inputs/v1:sha256:98677701665391874281981471220eb74c97892084b27cec6e9179a07f73a831");
}

TEST(InputIdentity, SequenceHasItsOwn) {
  const std::vector<IdentifiedInput> set = {{{0, "input", DType::kInt8, {2}}, kDigest}};
  const auto identity = IdentifyInputs({set, set});
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_FALSE(identity->value.has_value());
  EXPECT_NE(identity->unavailable_reason, "");
  EXPECT_EQ(*identity->sequence_value,
            "helx.input-sequence/v1:sha256:"
            "72c9c54ce22ae010534833e9be3afb7fef57f41d6c0c8f7a1d2be2837538d794");
}

TEST(InputIdentity, NothingCapturedIsNullWithAReason) {
  const auto identity = IdentifyInputs({});
  ASSERT_TRUE(identity.ok());
  EXPECT_FALSE(identity->value.has_value());
  EXPECT_FALSE(identity->canonical_json.has_value());
  EXPECT_NE(identity->unavailable_reason, "");
}

TEST(InputIdentity, RefusesGapsAndBadDigests) {
  EXPECT_FALSE(IdentifyInputs({{{{1, "input", DType::kInt8, {2}}, kDigest}}}).ok());
  EXPECT_FALSE(IdentifyInputs({{{{0, "input", DType::kInt8, {2}}, "abc"}}}).ok());
  EXPECT_FALSE(IdentifyInputs({{{{0, "\xff", DType::kInt8, {2}}, kDigest}}}).ok());
}

}  // namespace
}  // namespace helx
