#include "core/bundle/export.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/bundle/observations.h"
#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

LoadedBundle Load(const BundleParts& parts) {
  auto bundle = LoadBundle(WriteFolder(parts));
  EXPECT_TRUE(bundle.ok()) << bundle.status();
  return *std::move(bundle);
}

const Json& Binding(const Json& view) {
  return view.at("extensions").at("helia-estimator").at("tensor_binding");
}

// A NaN in sample 1's second output.
BundleParts NonFiniteParts() {
  BundleParts parts = ExampleParts();
  const std::string nan("\x00\x00\xc0\x7f", 4);
  parts.files["tensors/outputs/1/output-1.bin"] = nan;
  parts.result.samples[1].signatures[1] = Sha256Hex(nan);
  TensorVerdict& verdict = parts.result.samples[1].verification->tensors[1];
  verdict.nonfinite_pairs = 1;
  verdict.max_abs_error.reset();
  verdict.first_difference->actual = "0000c07f";
  return parts;
}

TEST(Observations, BindsInputsOutputsAndVerdicts) {
  const auto view = Observations(Load(ExampleParts()));
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->at("schema_version"), "1.0-draft");
  EXPECT_EQ(view->at("mapping"), "helx-schema4-draft4");
  const Json& binding = Binding(*view);
  EXPECT_EQ(binding.at("input_intent"), "explicit");
  EXPECT_EQ(binding.at("comparison_units"), "stored_values");
  EXPECT_EQ(binding.at("quantization_metadata").at("status"), "unavailable");
  ASSERT_EQ(binding.at("inputs").size(), 2u);
  const Json& flag = binding.at("inputs").at(1);
  EXPECT_EQ(flag.at("artifact_id"), "tensors/inputs/0/input-1.bin");
  EXPECT_EQ(flag.at("dtype"), "bool");
  EXPECT_EQ(flag.at("shape"), Json::array());
  EXPECT_EQ(flag.at("size_bytes"), 1);
  // sha256sum of the byte 01.
  EXPECT_EQ(flag.at("sha256"), "4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a");
  EXPECT_EQ(flag.at("quantization").at("scale"), nullptr);
  EXPECT_EQ(binding.at("references").at(1).at("origin"), "files");
  EXPECT_EQ(binding.at("references").at(1).at("description"), "calculated by hand");
  EXPECT_EQ(binding.at("comparison_policy").at("per_tensor").at(0).at("absolute"), "1");
  EXPECT_EQ(binding.at("comparison_policy").at("nan"), "never_match");
  ASSERT_EQ(binding.at("samples").size(), 2u);
  const Json& match = binding.at("samples").at(0);
  EXPECT_EQ(match.at("status"), "match");
  EXPECT_EQ(match.at("reference_index"), 0);
  EXPECT_EQ(match.at("outputs").at(0).at("artifact_id"), "tensors/outputs/0/output-0.bin");
  const Json& mismatch = binding.at("samples").at(1);
  EXPECT_EQ(mismatch.at("status"), "mismatch");
  EXPECT_EQ(mismatch.at("comparison").at("tensors").at(1).at("max_abs_error"), "0.25");
}

TEST(Observations, MismatchLeavesTheOutcome) {
  const auto view = Observations(Load(ExampleParts()));
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(Binding(*view).at("assessment"), "mismatch");
  EXPECT_EQ(view->at("outcome").at("execution"), "succeeded");
  EXPECT_EQ(view->at("outcome").at("validity"), "valid");
}

// The preimage written out by hand, as tensor evidence v1 spells it.
TEST(Observations, WorkloadNamesTheInputs) {
  const LoadedBundle bundle = Load(ExampleParts());
  const std::string preimage =
      R"({"inputs":[{"dtype":"int8","index":0,"name":"in","sha256":")" +
      Sha256Hex(std::string_view("\x01\x02\x03\xff")) +
      R"(","shape":[1,4]},{"dtype":"bool","index":1,"name":"flag","sha256":)"
      R"("4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a","shape":[]}],)"
      R"("schema":"helx.inputs/v1","storage":"little-endian"})";
  const auto view = Observations(bundle);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->at("workload").at("input_identity"),
            "helx.inputs/v1:sha256:" + Sha256Hex(preimage));
  EXPECT_EQ(view->at("workload").at("input_identity_unavailable_reason"), nullptr);
}

TEST(Observations, WithoutCaptureNothingIsCompared) {
  const auto view = Observations(Load(PlainParts()));
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->at("workload").at("input_identity"), nullptr);
  EXPECT_TRUE(view->at("workload").at("input_identity_unavailable_reason").is_string());
  const Json& binding = Binding(*view);
  EXPECT_EQ(binding.at("captured"), false);
  EXPECT_EQ(binding.at("inputs"), nullptr);
  for (const Json& sample : binding.at("samples")) {
    EXPECT_EQ(sample.at("status"), "not_compared");
    EXPECT_EQ(sample.at("reference_index"), nullptr);
    EXPECT_EQ(sample.at("comparison"), nullptr);
    EXPECT_EQ(sample.at("outputs").at(0).at("artifact_id"), nullptr);
  }
  const Json& instructions = view->at("observations").at(0);
  EXPECT_EQ(instructions.at("value"), nullptr);
  EXPECT_EQ(instructions.at("unavailable_reason"), "it reports between operators");
}

TEST(Export, HoldsNoFloatingPointNumber) {
  const auto text = RenderExport(Load(NonFiniteParts()));
  ASSERT_TRUE(text.ok()) << text.status();
  const auto view = ParseJson(*text);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_TRUE(CanonicalJson(*view).ok()) << "no floating-point number";
  const Json& verdict = Binding(*view).at("samples").at(1).at("comparison").at("tensors").at(1);
  EXPECT_EQ(verdict.at("max_abs_error"), nullptr);
  EXPECT_EQ(verdict.at("first_difference").at("actual"), "0000c07f");
}

class ExportSchema : public testing::Test {
 protected:
  // The checker's exit status.
  static int Check(const std::string& export_path) {
    const std::string source = HELX_SOURCE_DIR;
    const std::string command =
        "python3 '" + source + "/tests/unit/core/bundle/check_export.py' '" + source +
        "/docs/schema/helx-export-1.0-draft.schema.json' '" + export_path + "'";
    return WEXITSTATUS(std::system(command.c_str()));
  }
};

TEST_F(ExportSchema, DescribesEveryExport) {
  const std::string path = testing::TempDir() + "helx_export_view.json";
  for (const BundleParts& parts :
       {ExampleParts(), PlainParts(), NonFiniteParts(), SequenceParts()}) {
    ASSERT_TRUE(ExportResult(Load(parts), path).ok());
    const int status = Check(path);
    if (status == 77 && std::getenv("HELX_REQUIRE_JSONSCHEMA") == nullptr) {
      GTEST_SKIP() << "python3-jsonschema is not installed";
    }
    EXPECT_EQ(status, 0);
  }
  // The checker does refuse: a verdict that contradicts its status.
  Json view = *ParseJson(*ReadFile(path));
  view["extensions"]["helia-estimator"]["tensor_binding"]["samples"][0]["status"] = "not_compared";
  ASSERT_TRUE(WriteFile(path, PrettyJson(view)).ok());
  EXPECT_EQ(Check(path), 1);
}

}  // namespace
}  // namespace helx
