// Generated code against the recorded outputs of TensorFlow Lite Micro's reference kernels (the real models' case folders).
#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/engine/engine.h"

namespace helx::engine {
namespace {

std::vector<std::string> CaseFolders(const std::string& model) {
  std::vector<std::string> folders;
  for (int i = 0;; ++i) {
    const std::string folder = ModelsFolder() + "/" + model + "/case" + std::to_string(i);
    if (!std::filesystem::exists(folder)) return folders;
    folders.push_back(folder);
  }
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, EveryCaseEqualsTheReferenceKernels) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string name = GetParam();
  const absl::StatusOr<std::string> bytes = RealModel(name);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<GeneratedModel> model =
      FindEngine("builtin")->Generate(AsBytes(*bytes), *target::FindBoard("corstone-300"));
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<std::string> program = BuildForHost(*model, FreshFolder("golden_" + name));
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<std::string> cases = CaseFolders(name);
  ASSERT_FALSE(cases.empty());
  const size_t outputs = model->interface.outputs.size();
  const auto results = RunOnHost(*program, cases, outputs);
  ASSERT_TRUE(results.ok()) << results.status();
  for (size_t c = 0; c < cases.size(); ++c) {
    for (size_t o = 0; o < outputs; ++o) {
      const absl::StatusOr<std::string> golden =
          ReadFile(cases[c] + "/output-" + std::to_string(o) + ".bin");
      ASSERT_TRUE(golden.ok()) << golden.status();
      ExpectGolden((*results)[c][o], *golden, model->interface.outputs[o].dtype,
                   name + " case" + std::to_string(c) + " output " + std::to_string(o));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenTest, testing::ValuesIn(kMeasuredModels),
    [](const testing::TestParamInfo<const char*>& info) { return std::string(info.param); });

}  // namespace
}  // namespace helx::engine
