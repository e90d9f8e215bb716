#include "core/bundle/manifest.h"

#include <gtest/gtest.h>

namespace helx {
namespace {

TEST(CheckBundlePath, StaysInside) {
  for (const char* path : {"a", "a/b.c", "tensors/ü.bin", "a b", "..a", "a.."}) {
    EXPECT_TRUE(CheckBundlePath(path).ok()) << path;
  }
  for (const std::string& path :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string("a/./b"), std::string(".."), std::string("a/../b"), std::string("a\\b"),
        std::string("a\nb"), std::string("a\0b", 3), std::string("\xff"), std::string(513, 'a'),
        std::string(256, 'a')}) {
    EXPECT_FALSE(CheckBundlePath(path).ok()) << path;
  }
}

TEST(Manifest, CanonicalText) {
  Manifest manifest;
  manifest.artifacts = {{"a.bin", "application/octet-stream", DigestOf(std::string_view("abc")),
                         ArtifactRole::kEvidence}};
  manifest.issues = {{"slow", "info", "took long", Json{{"ms", 5}}}};
  const std::string text = *manifest.Canonical();
  EXPECT_EQ(text,
            R"({"artifacts":[{"media_type":"application/octet-stream","path":"a.bin","role":)"
            R"("evidence","sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015)"
            R"(ad","size_bytes":3}],"issues":[{"code":"slow","context":{"ms":5},"message":)"
            R"("took long","severity":"info"}],"schema":"helx.manifest","schema_version":1,)"
            R"("status":"complete","validity":"valid"})");
  const auto again = Manifest::Parse(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again->Canonical(), text);
  EXPECT_NE(again->Find("a.bin"), nullptr);
  EXPECT_EQ(again->Find("b.bin"), nullptr);
}

}  // namespace
}  // namespace helx
