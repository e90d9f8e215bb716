// Import, lowering and run of real models against the outputs of TensorFlow Lite Micro's reference
// kernels, operator by operator (layers.json beside each model).
#include "client/ops/import_tflite.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "client/ops/files.h"
#include "client/ops/sha256.h"
#include "core/model/reader.h"
#include "core/ops/certificate.h"
#include "core/ops/load.h"
#include "core/ops/lower/lowering.h"
#include "core/ops/lower/tfq.h"
#include "core/ops/run.h"
#include "core/ops/whg1.h"

namespace helx::ops {
namespace {

// The folder of the real models, or empty; missing models fail only where they are required.
std::string ModelsFolder() {
  const char* folder = std::getenv("HELX_MODELS");
  const char* required = std::getenv("HELX_REQUIRE_MODELS");
  if (folder == nullptr && required != nullptr && std::string(required) == "1") {
    ADD_FAILURE() << "HELX_REQUIRE_MODELS is 1 and HELX_MODELS is not set";
  }
  return folder == nullptr ? "" : folder;
}

std::string Bytes(const std::string& path) {
  std::string error;
  const auto bytes = ReadFile(path, &error);
  EXPECT_TRUE(bytes.has_value()) << error;
  return bytes.value_or("");
}

model::Model ReadModelFile(const std::string& path) {
  const std::string bytes = Bytes(path);
  auto model = model::ReadModel({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

// int8 bytes of an NHWC (or [1,N]) tensor as a planar one.
Tensor Planar(const std::string& bytes, const Shape& shape) {
  Tensor tensor{shape, Elements(shape.elements())};
  for (int64_t c = 0; c < shape.c; ++c) {
    for (int64_t at = 0; at < shape.h * shape.w; ++at) {
      tensor.data[c * shape.h * shape.w + at] = static_cast<int8_t>(bytes[at * shape.c + c]);
    }
  }
  return tensor;
}

std::string Interleaved(const Tensor& tensor) {
  const Shape& shape = tensor.shape;
  std::string bytes(shape.elements(), '\0');
  for (int64_t c = 0; c < shape.c; ++c) {
    for (int64_t at = 0; at < shape.h * shape.w; ++at) {
      bytes[at * shape.c + c] = static_cast<char>(tensor.data[c * shape.h * shape.w + at]);
    }
  }
  return bytes;
}

struct ModelCase {
  const char* name;
  // Operators checked, from the first: all up to the softmax.
  int operators;
};

class RealModels : public testing::TestWithParam<ModelCase> {};

TEST_P(RealModels, EveryOperatorEqualsTheReferenceKernels) {
  const std::string models = ModelsFolder();
  if (models.empty()) GTEST_SKIP() << "HELX_MODELS is not set";
  const std::string folder = models + "/" + GetParam().name;
  const model::Model model = ReadModelFile(folder + "/model.tflite");
  const model::Subgraph& graph = model.primary();
  ASSERT_GE(graph.operators.size(), static_cast<size_t>(GetParam().operators));
  ImportOptions options;
  options.out = graph.operators[GetParam().operators - 1].outputs[0];
  const auto tfq = ImportTfq(model, options);
  ASSERT_TRUE(tfq.ok()) << tfq.status();
  const Result<LoweredTfq> lowered = LowerTfqValues(*tfq);
  ASSERT_TRUE(lowered.ok()) << lowered.refusal().Text();
  const Result<PlannedGraph> loaded = LoadWhg1(WriteWhg1(lowered.value().graph));
  ASSERT_TRUE(loaded.ok()) << loaded.refusal().Text();

  const TfqValue in = lowered.value().values.at(graph.inputs[0]);
  std::vector<uint32_t> ids;
  for (int i = 0; i < GetParam().operators; ++i) {
    ids.push_back(lowered.value().values.at(graph.operators[i].outputs[0]).id);
  }
  Instance instance(&loaded.value());
  const auto values =
      instance.DecodeValues({Planar(Bytes(folder + "/case0/input-0.bin"), in.shape)}, ids);
  ASSERT_TRUE(values.ok()) << values.refusal().Text();
  const auto layers = nlohmann::json::parse(Bytes(folder + "/layers.json"))["layers"];
  for (int i = 0; i < GetParam().operators; ++i) {
    ASSERT_EQ(layers[i]["op_index"], i);
    EXPECT_EQ(HexDigest(Sha256(Interleaved(values.value()[i]))),
              layers[i]["sha256"].get<std::string>())
        << "operator " << i << " (" << layers[i]["op"] << ")";
  }
}

INSTANTIATE_TEST_SUITE_P(Tflm, RealModels,
                         testing::Values(ModelCase{"mlperf_kws_dscnn_int8", 12},
                                         ModelCase{"mlperf_ad_autoencoder_int8", 10},
                                         ModelCase{"mlperf_ic_resnet8_int8", 15},
                                         ModelCase{"mlperf_vww_mobilenetv1_025_96_int8", 30},
                                         ModelCase{"tflm_hello_world_int8", 3}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Import, RefusesWhatTfqCannotWrite) {
  const std::string models = ModelsFolder();
  if (models.empty()) GTEST_SKIP() << "HELX_MODELS is not set";
  const model::Model kws = ReadModelFile(models + "/mlperf_kws_dscnn_int8/model.tflite");
  const auto message = [&](const ImportOptions& options) {
    return std::string(ImportTfq(kws, options).status().message());
  };
  EXPECT_NE(message({}).find("SOFTMAX"), std::string::npos);
  EXPECT_NE(message({}).find("--output"), std::string::npos);
  EXPECT_NE(message({"triple", {}, {}}).find("rounding"), std::string::npos);
  EXPECT_NE(message({"double", {}, 100000}).find("no tensor 100000"), std::string::npos);
  EXPECT_NE(message({"double", {}, kws.primary().inputs[0]}).find("no operator"),
            std::string::npos);
  const model::Model floats = ReadModelFile(models + "/js_add_10x10/model.tflite");
  EXPECT_FALSE(ImportTfq(floats, {}).ok());
}

TEST(Import, CommandStatuses) {
  const std::string models = ModelsFolder();
  if (models.empty()) GTEST_SKIP() << "HELX_MODELS is not set";
  const std::string out = testing::TempDir() + "helx_import_test.tfq";
  const std::string hello = models + "/tflm_hello_world_int8/model.tflite";
  EXPECT_EQ(ImportCommand({hello, "--rounding", "double", "--out", out}), kMet);
  EXPECT_EQ(ImportCommand({hello, "--out", out}), kUsage);
  EXPECT_EQ(ImportCommand({hello, "--rounding", "double", "--output", "x", "--out", out}), kUsage);
  EXPECT_EQ(ImportCommand({out, "--rounding", "double", "--out", out}), kMalformed);
  EXPECT_EQ(ImportCommand({models + "/mlperf_kws_dscnn_int8/model.tflite", "--rounding", "double",
                           "--out", out}),
            kLoweringRefuses);
  std::filesystem::remove(out);
}

}  // namespace
}  // namespace helx::ops
