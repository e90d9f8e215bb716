#include "core/bundle/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/bundle/verify.h"
#include "core/bundle/writer.h"
#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

TEST(LoadBundle, AcceptsACompleteRun) {
  const auto bundle = LoadBundle(WriteFolder(ExampleParts()));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->result.Assessment(), "mismatch");
  EXPECT_EQ(*bundle->Output(1, 0), "\x05\x06\x07\x08");
  EXPECT_EQ(bundle->Output(2, 0).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(bundle->request_tensors.size(), 4u);
}

TEST(LoadBundle, AcceptsADefaultRun) {
  const auto bundle = LoadBundle(WriteFolder(PlainParts()));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->result.Assessment(), "not_compared");
  const auto identity = BundleInputIdentity(*bundle);
  EXPECT_FALSE(identity->value.has_value());
  EXPECT_NE(identity->unavailable_reason, "");
}

TEST(LoadBundle, AcceptsABuildWithoutARun) {
  BundleParts parts = ExampleParts();
  parts.result.executed = false;
  parts.result.samples.clear();
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 2; ++k) {
      parts.files.erase("tensors/sample-" + std::to_string(i) + "-output-" + std::to_string(k) +
                        ".bin");
    }
  }
  const auto bundle = LoadBundle(WriteFolder(parts));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->result.inputs[0].size(), 2u) << "a build's result carries the inputs";
}

TEST(LoadBundle, AcceptsAnInputSequence) {
  BundleParts parts = ExampleParts();
  auto& sets = parts.request.tensors.input_sets;
  sets.push_back(sets[0]);
  parts.request.acquisition = {0, 2, "carry", true};
  parts.result.acquisition = parts.request.acquisition;
  parts.result.inputs.push_back(parts.result.inputs[0]);
  parts.Rebind();
  const auto bundle = LoadBundle(WriteFolder(parts));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_FALSE(BundleInputIdentity(*bundle)->value.has_value());
  EXPECT_TRUE(BundleInputIdentity(*bundle)->sequence_value.has_value());
}

TEST(LoadBundle, ContentDigestIgnoresDiagnostics) {
  BundleParts parts = ExampleParts();
  const auto first = LoadBundle(WriteFolder(parts));
  parts.files["timing.json"] = "{\"wall_us\":2}";
  const auto second = LoadBundle(WriteFolder(parts));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->content_digest, second->content_digest);
  EXPECT_NE(first->manifest_text, second->manifest_text);
}

TEST(LoadBundle, SaysWhenThereIsNoBundle) {
  EXPECT_EQ(ErrorCodeOf(LoadBundle("/nonexistent/bundle").status()), "bundle_missing");
  const std::string folder = WriteFolder({}, "");
  std::filesystem::remove(folder + "/manifest.json");
  EXPECT_EQ(ErrorCodeOf(LoadBundle(folder).status()), "manifest_missing");
}

TEST(BundleWriter, LeavesALoadableBundle) {
  const BundleParts parts = ExampleParts();
  const std::string folder = WriteFolder({}, "");
  std::filesystem::remove(folder + "/manifest.json");
  BundleWriter writer(folder);
  for (const auto& [path, content] : BundleFiles(parts)) {
    const bool diagnostic = path == "timing.json" || path == "logs/run.log";
    ASSERT_TRUE(writer
                    .Add(path, content, "application/octet-stream",
                         diagnostic ? ArtifactRole::kDiagnostic : ArtifactRole::kCore)
                    .ok());
  }
  EXPECT_FALSE(writer.Add("result.json", "x", "", ArtifactRole::kCore).ok());
  EXPECT_FALSE(writer.Add("../x", "x", "", ArtifactRole::kCore).ok());
  EXPECT_FALSE(writer.Add("manifest.json", "x", "", ArtifactRole::kCore).ok());
  EXPECT_EQ(ErrorCodeOf(LoadBundle(folder).status()), "manifest_missing") << "it comes last";
  ASSERT_TRUE(writer.Finish().ok());
  const auto bundle = LoadBundle(folder);
  EXPECT_TRUE(bundle.ok()) << bundle.status();
}

// By hand: |5 - 5|, |6 - 6|, |7 - 7|, |8 - 9| = 1 > 0.
TEST(VerifyOutputs, SaysWhereAndHowMuch) {
  const std::vector<TensorSpec> outputs = {{0, "out", DType::kInt8, {2, 2}}};
  const auto verification =
      VerifyOutputs(outputs, {"\x05\x06\x07\x08"}, 3, outputs, {"\x05\x06\x07\x09"}, {});
  ASSERT_TRUE(verification.ok()) << verification.status();
  EXPECT_FALSE(verification->matched);
  EXPECT_EQ(*CanonicalJson(VerificationToJson(*verification)),
            R"({"matched":false,"reference_index":3,"tensors":[{"elements":4,"first_difference":)"
            R"({"actual":"8","position":[1,1],"reference":"9"},"max_abs_error":"1","mismatches":1,)"
            R"("nonfinite_pairs":0,"output":0}]})");
}

TEST(VerifyOutputs, RefusesAnotherInterface) {
  const std::vector<TensorSpec> outputs = {{0, "out", DType::kInt8, {2}}};
  const auto code = [&outputs](TensorSpec reference, std::string_view bytes) {
    return ErrorCodeOf(
        VerifyOutputs(outputs, {"ab"}, 0, {std::move(reference)}, {bytes}, {}).status());
  };
  EXPECT_EQ(code({0, "out", DType::kInt8, {2}}, "ab"), "");
  EXPECT_EQ(code({1, "out", DType::kInt8, {2}}, "ab"), "wrong_order");
  EXPECT_EQ(code({0, "oút", DType::kInt8, {2}}, "ab"), "wrong_name");
  EXPECT_EQ(code({0, "out", DType::kUint8, {2}}, "ab"), "wrong_dtype");
  EXPECT_EQ(code({0, "out", DType::kInt8, {1, 2}}, "ab"), "wrong_shape");
  EXPECT_EQ(code({0, "out", DType::kInt8, {2}}, "a"), "wrong_length");
  EXPECT_EQ(ErrorCodeOf(VerifyOutputs(outputs, {"ab"}, 0, {}, {}, {}).status()), "output_count");
  ComparisonEntry policy;
  policy.per_tensor = {{1, {}}};
  EXPECT_EQ(ErrorCodeOf(VerifyOutputs(outputs, {"ab"}, 0, outputs, {"ab"}, policy).status()),
            "unknown_output");
}

}  // namespace
}  // namespace helx
