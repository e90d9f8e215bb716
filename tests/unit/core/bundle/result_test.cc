#include "core/bundle/result.h"

#include <gtest/gtest.h>

#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

TEST(ResultDocument, ReadsBack) {
  for (const BundleParts& parts : {ExampleParts(), PlainParts()}) {
    const std::string text = *parts.result.Canonical();
    const auto again = ResultDocument::Parse(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again->Canonical(), text);
  }
}

TEST(ResultDocument, MembersOfTheContract) {
  const Json value = ExampleParts().result.ToJson();
  EXPECT_EQ(value["schema"], "helx.result/4");
  EXPECT_EQ(value["tensors"]["input_intent"], "explicit");
  EXPECT_EQ(value["tensors"]["inputs"][0]["path"], "tensors/inputs/0/input-0.bin");
  EXPECT_EQ(value["tensors"]["policy"]["per_tensor"][0]["absolute"], "1");
  const Json& sample = value["measurements"]["samples"][1];
  EXPECT_EQ(sample["instructions"]["value"], 123456);
  EXPECT_EQ(sample["output_tensors"][0], "tensors/outputs/1/output-0.bin");
  EXPECT_EQ(sample["verification"]["matched"], false);
  EXPECT_EQ(sample["verification"]["tensors"][1]["first_difference"]["actual"], "0.75");
  const Json plain = PlainParts().result.ToJson();
  EXPECT_TRUE(plain["tensors"]["inputs"].is_null()) << "nothing was captured";
  EXPECT_TRUE(plain["measurements"]["samples"][0]["verification"].is_null());
  EXPECT_TRUE(plain["measurements"]["samples"][0]["instructions"]["value"].is_null());
}

TEST(ResultDocument, AMetricHasAValueOrAReason) {
  BundleParts parts = PlainParts();
  parts.result.samples[0].instructions.reason = "";
  EXPECT_FALSE(ResultDocument::Parse(*parts.result.Canonical()).ok());
}

TEST(ResultDocument, Assessment) {
  BundleParts parts = ExampleParts();
  EXPECT_EQ(parts.result.Assessment(), "mismatch");
  parts.result.samples.pop_back();
  EXPECT_EQ(parts.result.Assessment(), "match");
  EXPECT_EQ(PlainParts().result.Assessment(), "not_compared");
}

}  // namespace
}  // namespace helx
