// What the models of tests/bench/models/tflm_baseline.tsv may cost at most, on boards with a
// Cortex-M55 and a Cortex-M4: their outputs equal the recorded ones, and instructions, memory and
// code stay within the goals against TensorFlow Lite Micro.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/base/file.h"
#include "tests/unit/worker/engine/board_run.h"
#include "tests/unit/worker/engine/host_build.h"

namespace helx::engine {
namespace {

// RAM, relative to the smallest arena the interpreter runs in.
double RamGoal(const std::string& model) {
  static const std::map<std::string, double> goals = {{"mlperf_kws_dscnn_int8", 0.75},
                                                      {"mlperf_vww_mobilenetv1_025_96_int8", 0.75},
                                                      {"tflm_person_detect_int8", 0.75},
                                                      {"mlperf_ic_resnet8_int8", 0.90}};
  const auto it = goals.find(model);
  return it == goals.end() ? 1.0 : it->second;
}

constexpr uint64_t kCodeGoal = 20'000;  // .text and .rodata without weights, the runner included

class GoalsTest : public testing::TestWithParam<const char*> {};

TEST_P(GoalsTest, AreReached) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string platform = GetParam();
  const std::string core = platform == "corstone-300" ? "m55" : "m4";
  double logarithms = 0;
  int mlperf = 0;
  for (const auto& [name, known] : TflmBaseline()) {
    const absl::StatusOr<RecordedModel> model = RecordedRealModel(name);
    ASSERT_TRUE(model.ok()) << model.status();
    const absl::StatusOr<BoardRun> run = RunOnBoard(*model, platform);
    if (absl::IsNotFound(run.status())) {
      const char* required = std::getenv("HELX_REQUIRE_QEMU");
      ASSERT_FALSE(required != nullptr && std::string(required) == "1") << run.status();
      GTEST_SKIP() << run.status();
    }
    ASSERT_TRUE(run.ok()) << name << ": " << run.status();
    EXPECT_EQ(run->refusal, "") << name;
    EXPECT_EQ(run->difference, "") << name;
    const auto instructions = static_cast<double>(run->instructions);
    EXPECT_LE(instructions, known.at(core + "_instructions")) << name;
    EXPECT_LE(static_cast<double>(run->arena_bytes + run->variable_bytes),
              RamGoal(name) * known.at(core + "_arena"))
        << name;
    if (!name.starts_with("mlperf_")) continue;
    EXPECT_LE(run->figures.text_bytes + run->figures.rodata_bytes, kCodeGoal) << name;
    const auto clang = known.find(core + "_clang_instructions");
    logarithms += std::log(
        instructions / (clang == known.end() ? known.at(core + "_instructions") : clang->second));
    ++mlperf;
  }
  ASSERT_EQ(mlperf, 4);
  EXPECT_LE(std::exp(logarithms / mlperf), core == "m55" ? 0.55 : 0.60);
}

INSTANTIATE_TEST_SUITE_P(Boards, GoalsTest, testing::Values("corstone-300", "mps2-m4"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param) == "mps2-m4" ? "CortexM4" : "CortexM55";
                         });

}  // namespace
}  // namespace helx::engine
