// Linked images on the emulated boards against the same recorded outputs as golden_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "tests/unit/worker/engine/board_run.h"
#include "tests/unit/worker/engine/host_build.h"

namespace helx::engine {
namespace {

struct BoardAndModel {
  const char* platform;
  const char* model;
};

class EmulatedTest : public testing::TestWithParam<BoardAndModel> {};

TEST_P(EmulatedTest, EveryCaseAndSequenceEqualsTheReference) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<RecordedModel> model = RecordedRealModel(GetParam().model);
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<BoardRun> run = RunOnBoard(*model, GetParam().platform);
  if (absl::IsNotFound(run.status())) {
    const char* required = std::getenv("HELX_REQUIRE_QEMU");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1") << run.status();
    GTEST_SKIP() << run.status();
  }
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->refusal, "");
  EXPECT_EQ(run->difference, "");
  std::cout << GetParam().platform << " " << GetParam().model << ": " << run->instructions
            << " instructions, text " << run->figures.text_bytes << ", rodata "
            << run->figures.rodata_bytes << ", weights " << run->figures.weight_bytes << ", arena "
            << run->arena_bytes << "\n";
}

// Models of every kind of kernel: int8, int16, uint8, float, hybrid, state, control flow, signal
// processing.
std::vector<BoardAndModel> Cases() {
  std::vector<BoardAndModel> cases;
  // goals_test.cc runs fourteen more on the first board and on the Cortex-M4.
  for (const char* model : {"tflm_simple_add_int8", "tinyengine_lenet_300_100_ptq",
                            "coral_mobilenet_v1_025_128_uint8"}) {
    cases.push_back({"corstone-300", model});
  }
  for (const char* platform : {"mps2-m33", "mps2-m7", "mps2-m3"}) {
    cases.push_back({platform, "tflm_hello_world_int8"});
    cases.push_back({platform, "mlperf_kws_dscnn_int8"});
    cases.push_back({platform, "mlperf_ic_resnet8_int8"});
    cases.push_back({platform, "mww_v2_okay_nabu"});
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

// Where a part of the image must lie: addresses of the boards' memory maps (Arm AN547, DAI0386).
struct Range {
  uint64_t begin, end;
};

struct PlacedCase {
  const char* name;
  const char* platform;
  target::PlacementWish wish;
  Range code, weights, arena;
};

class PlacedTest : public testing::TestWithParam<PlacedCase> {};

TEST_P(PlacedTest, RunsFromWhereTheUserPlacesIt) {
  HELX_SKIP_WITHOUT_MODELS();
  absl::StatusOr<RecordedModel> model = RecordedRealModel("mlperf_kws_dscnn_int8");
  ASSERT_TRUE(model.ok()) << model.status();
  model->name += std::string("_placed_") + GetParam().name;
  model->cases.resize(1);
  const absl::StatusOr<BoardRun> run = RunOnBoard(*model, GetParam().platform, GetParam().wish);
  if (absl::IsNotFound(run.status())) {
    const char* required = std::getenv("HELX_REQUIRE_QEMU");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1") << run.status();
    GTEST_SKIP() << run.status();
  }
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->refusal, "");
  EXPECT_EQ(run->difference, "");
  int seen = 0;
  for (const ImageSection& section : run->figures.sections) {
    const Range* range = section.name == ".text" || section.name == ".rodata" ? &GetParam().code
                         : section.name == ".helx_weights"                    ? &GetParam().weights
                         : section.name == ".helx_arena"                      ? &GetParam().arena
                                                                              : nullptr;
    if (range == nullptr) continue;
    ++seen;
    EXPECT_GE(section.address, range->begin) << section.name;
    EXPECT_LE(section.address + section.bytes, range->end) << section.name;
  }
  EXPECT_EQ(seen, 4);
}

INSTANTIATE_TEST_SUITE_P(Placements, PlacedTest,
                         testing::Values(PlacedCase{"corstone_tightly_coupled",
                                                    "corstone-300",
                                                    {"BRAM", "ITCM", "DTCM"},
                                                    {0x11000000, 0x11100000},
                                                    {0x400, 0x80000},
                                                    {0x20010000, 0x20080000}},
                                         PlacedCase{"corstone_one_memory",
                                                    "corstone-300",
                                                    {"SRAM", "SRAM", "SRAM"},
                                                    {0x31000000, 0x31200000},
                                                    {0x31000000, 0x31200000},
                                                    {0x31000000, 0x31200000}},
                                         PlacedCase{"mps2_m4_swapped",
                                                    "mps2-m4",
                                                    {"SSRAM1", "SSRAM1", "SSRAM2"},
                                                    {0x400, 0x400000},
                                                    {0x400, 0x400000},
                                                    {0x20010000, 0x20200000}},
                                         PlacedCase{"mps2_m4_external",
                                                    "mps2-m4",
                                                    {"", "SSRAM3", "PSRAM"},
                                                    {0x400, 0x400000},
                                                    {0x20200000, 0x20400000},
                                                    {0x21000000, 0x21800000}}),
                         [](const testing::TestParamInfo<PlacedCase>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace helx::engine
