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
  parts.result.memory.stack_high_water_bytes = {std::nullopt, "runner", "exact",
                                                "the image was not executed"};
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 2; ++k) {
      parts.files.erase("tensors/outputs/" + std::to_string(i) + "/output-" + std::to_string(k) +
                        ".bin");
    }
  }
  const auto bundle = LoadBundle(WriteFolder(parts));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->result.inputs[0].size(), 2u) << "a build's result carries the inputs";
}

// A model whose call touches no stack, as one that only returns does on Armv7-M.
TEST(LoadBundle, AcceptsACallWithoutStack) {
  BundleParts parts = ExampleParts();
  parts.result.memory.stack_high_water_bytes.value = 0;
  const auto bundle = LoadBundle(WriteFolder(parts));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  EXPECT_EQ(bundle->result.memory.stack_high_water_bytes.value, 0);
}

TEST(LoadBundle, AcceptsADiagnosticRun) {
  BundleParts parts = ExampleParts();
  parts.request.probe = true;
  for (Sample& sample : parts.result.samples) {
    sample.instructions = {std::nullopt, "qemu-icount", "exact", "it reports between operators"};
  }
  parts.files["layers/op000-out0.bin"] = "\x05\x06\x07\x08";
  parts.Rebind();
  const auto bundle = LoadBundle(WriteFolder(parts));
  EXPECT_TRUE(bundle.ok()) << bundle.status();
}

// A warning degrades a bundle, which can still be read; whoever made it says why.
TEST(LoadBundle, AcceptsADegradedRun) {
  const auto files = BundleFiles(ExampleParts());
  Manifest manifest = ManifestOf(files);
  manifest.issues = {{"slow_disk", "warning", "writing took 40 s", Json::object()}};
  manifest.validity = "degraded";
  const auto bundle = LoadBundle(WriteFolder(files, *manifest.Canonical()));
  EXPECT_TRUE(bundle.ok()) << bundle.status();
}

TEST(LoadBundle, AcceptsAnInputSequence) {
  const auto bundle = LoadBundle(WriteFolder(SequenceParts()));
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
  for (const char* inside : {"", "/file"}) {
    std::filesystem::create_directories(folder + "/manifest.json" + inside);
    const absl::Status status = LoadBundle(folder).status();
    EXPECT_EQ(ErrorCodeOf(status), "special_file");
    EXPECT_THAT(MessageOf(status), testing::HasSubstr("manifest.json is a folder"));
  }
}

TEST(BundleWriter, LeavesALoadableBundle) {
  const BundleParts parts = ExampleParts();
  const std::string folder = WriteFolder({}, "");
  std::filesystem::remove(folder + "/manifest.json");
  BundleWriter writer(folder);
  for (const auto& [path, content] : BundleFiles(parts)) {
    ASSERT_TRUE(writer.Add(path, content).ok()) << path;
  }
  EXPECT_FALSE(writer.Add("result.json", "x").ok());
  EXPECT_FALSE(writer.Add("../x", "x").ok());
  EXPECT_FALSE(writer.Add("manifest.json", "x").ok());
  EXPECT_FALSE(writer.Add("notes.txt", "x").ok());
  EXPECT_EQ(writer.ResultFiles(), parts.result.files);
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
