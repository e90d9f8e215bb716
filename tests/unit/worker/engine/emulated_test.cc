// Linked images on the emulated boards against the same recorded outputs as golden_test.cc.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/engine/toolchain.h"
#include "worker/target/target.h"

namespace helx::engine {
namespace {

struct BoardAndModel {
  const char* platform;
  const char* model;
};

// One image per board and model: every case is an input set of one acquisition.
class EmulatedTest : public testing::TestWithParam<BoardAndModel> {};

const std::string& KernelsFolder(const Toolchain& toolchain, const target::Board& board) {
  static std::map<std::string_view, std::string> folders;
  std::string& folder = folders[board.platform];
  if (folder.empty()) {
    folder = FreshFolder("emulated_kernels_" + std::string(board.platform));
    const absl::Status status = toolchain.CompileKernels(board, folder, nullptr);
    EXPECT_TRUE(status.ok()) << status;
  }
  return folder;
}

TEST_P(EmulatedTest, EveryCaseEqualsTheReferenceKernels) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  const std::unique_ptr<target::Target> target = target::MakeTarget(GetParam().platform);
  ASSERT_NE(target, nullptr);
  if (!toolchain.ok() || !target->Identity().ok()) {
    const char* required = std::getenv("HELX_REQUIRE_QEMU");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1")
        << toolchain.status() << " " << target->Identity().status();
    GTEST_SKIP() << "no toolchain or no emulator";
  }
  const std::string name = GetParam().model;
  const std::string suffix = "_" + std::string(GetParam().platform) + "_" + name;
  const std::string bytes = *RealModel(name);
  const absl::StatusOr<GeneratedModel> model =
      FindEngine("builtin")->Generate(AsBytes(bytes), target->board());
  ASSERT_TRUE(model.ok()) << model.status();

  target::RunRequest request;
  request.request_digest.fill(7);
  std::vector<std::vector<Sha256Bytes>> digests;
  std::vector<std::vector<std::string>> goldens;
  for (int c = 0;; ++c) {
    const std::string folder = ModelsFolder() + "/" + name + "/case" + std::to_string(c);
    if (!std::filesystem::exists(folder)) break;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < model->interface.inputs.size(); ++i) {
      inputs.push_back(*ReadFile(folder + "/input-" + std::to_string(i) + ".bin"));
    }
    std::vector<Sha256Bytes> own;
    for (const std::string& input : inputs) own.push_back(Sha256Of(AsBytes(input)));
    digests.push_back(own);
    request.input_sets.push_back(std::move(inputs));
    goldens.emplace_back();
    for (size_t o = 0; o < model->interface.outputs.size(); ++o) {
      goldens.back().push_back(*ReadFile(folder + "/output-" + std::to_string(o) + ".bin"));
    }
  }
  for (const std::string& golden : goldens[0]) {
    request.output_bytes.push_back(static_cast<uint32_t>(golden.size()));
  }
  const std::string model_folder = FreshFolder("emulated_model" + suffix);
  const std::string image_folder = FreshFolder("emulated_image" + suffix);
  ASSERT_TRUE(toolchain->CompileModel(*model, target->board(), model_folder, nullptr).ok());
  const absl::StatusOr<LinkedImage> image = toolchain->LinkImage(
      *model, RequestConstants(request.request_digest, digests), target->board(),
      KernelsFolder(*toolchain, target->board()), model_folder, image_folder, nullptr);
  ASSERT_TRUE(image.ok()) << image.status();

  request.image = image->elf_path;
  request.acquisition = {0, static_cast<int64_t>(goldens.size()), "carry", true};
  request.work_folder = FreshFolder("emulated_run" + suffix);
  const absl::StatusOr<target::RunOutcome> outcome = target->Run(request);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  ASSERT_TRUE(outcome->evidence) << (outcome->failure ? outcome->failure->message : "cancelled")
                                 << "\n" << outcome->log;
  ASSERT_EQ(outcome->evidence->samples.size(), goldens.size());
  for (size_t c = 0; c < goldens.size(); ++c) {
    for (size_t o = 0; o < goldens[c].size(); ++o) {
      ExpectGolden(outcome->evidence->samples[c].outputs[o], goldens[c][o],
                   model->interface.outputs[o].dtype,
                   name + " case" + std::to_string(c) + " output " + std::to_string(o));
    }
  }
  RecordProperty("instructions",
                 static_cast<int>(outcome->evidence->samples[0].instructions));
  std::cout << GetParam().platform << " " << name << ": " << outcome->evidence->samples[0].instructions << " instructions, text "
            << image->figures.text_bytes << ", rodata " << image->figures.rodata_bytes
            << ", weights " << image->figures.weight_bytes << ", arena "
            << model->memory["arena_bytes"] << "\n";
}

// Every measured model on the default platform, two on each of the others.
std::vector<BoardAndModel> Cases() {
  std::vector<BoardAndModel> cases;
  for (const char* model : kMeasuredModels) cases.push_back({"corstone-300", model});
  for (const char* platform : {"mps2-m33", "mps2-m7", "mps2-m4", "mps2-m3"}) {
    cases.push_back({platform, "tflm_hello_world_int8"});
    cases.push_back({platform, "mlperf_kws_dscnn_int8"});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, EmulatedTest, testing::ValuesIn(Cases()),
                         [](const testing::TestParamInfo<BoardAndModel>& info) {
                           std::string name =
                               std::string(info.param.platform) + "_" + info.param.model;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace helx::engine
