#include "core/bundle/request_file.h"

#include <gtest/gtest.h>

#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

TEST(RequestFile, HoldsItsOwnTensors) {
  const BundleParts parts = ExampleParts();
  const auto content = ParseRequestFile(*RequestFile(parts.request, parts.tensor_contents));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content->request.Canonical(), *parts.request.Canonical());
  EXPECT_EQ(*content->Tensor(DigestOf(std::string_view("\x01\x02\x03\xff"))), "\x01\x02\x03\xff");
  EXPECT_FALSE(content->Tensor(ZeroDigest(4)).ok());
}

TEST(RequestFile, LeavesImplicitZerosOut) {
  const auto text = RequestFile(PlainParts().request, {});
  ASSERT_TRUE(text.ok()) << text.status();
  const auto content = ParseRequestFile(*text);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_TRUE(content->tensors.empty());
  EXPECT_EQ(*content->Tensor(ZeroDigest(4)), std::string(4, '\0'));
}

TEST(RequestFile, NeedsEveryTensor) {
  BundleParts parts = ExampleParts();
  parts.tensor_contents.pop_back();
  EXPECT_EQ(RequestFile(parts.request, parts.tensor_contents).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace helx
