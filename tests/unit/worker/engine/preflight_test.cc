// What the builtin engine refuses, and how it says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/engine/engine.h"

namespace helx::engine {
namespace {

using ::testing::HasSubstr;

const target::Board& Corstone300() { return *target::FindBoard("corstone-300"); }

std::vector<Violation> Refusals(std::string_view bytes) {
  std::vector<Violation> violations;
  const bool ok = FindEngine("builtin")->Preflight(AsBytes(bytes), Corstone300(), &violations).ok();
  EXPECT_EQ(ok, violations.empty());
  return violations;
}

TEST(Preflight, DescribesTheInterface) {
  HELX_SKIP_WITHOUT_MODELS();
  std::vector<Violation> violations;
  const absl::StatusOr<ModelInterface> interface = FindEngine("builtin")->Preflight(
      AsBytes(*RealModel("mlperf_kws_dscnn_int8")), Corstone300(), &violations);
  ASSERT_TRUE(interface.ok()) << interface.status();
  ASSERT_EQ(interface->inputs.size(), 1u);
  EXPECT_EQ(interface->inputs[0].name, "input_1");
  EXPECT_EQ(SpecText(interface->inputs[0]), "int8[1, 49, 10, 1]");
  ASSERT_EQ(interface->outputs.size(), 1u);
  EXPECT_EQ(interface->outputs[0].name, "Identity");
  EXPECT_EQ(SpecText(interface->outputs[0]), "int8[1, 12]");
}

TEST(Preflight, NamesOperatorIndexAndReason) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::vector<Violation> fake = Refusals(*RealModel("coral_invalid_invoking_error"));
  ASSERT_FALSE(fake.empty());
  EXPECT_EQ(fake[0].code, "unsupported_operator");
  EXPECT_EQ(fake[0].subject, "operator 0 (CUSTOM fake-op-double)");
}

// 55 KB of constants and the 32 KiB that the two largest tensors of ic, 32x32x16 each, take at once
// in a board whose regions are made too small for them.
TEST(Preflight, RefusesAPlacementThatHasNoRoom) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string bytes = *RealModel("mlperf_ic_resnet8_int8");
  target::Board board = Corstone300();
  for (MemoryRegion& region : board.regions) {
    if (region.name == "BRAM") region.bytes = 24 * 1024;
    if (region.name == "SRAM") region.bytes = 100 * 1024;
    if (region.name == "DTCM") region.bytes = 80 * 1024;
  }
  const auto refusals = [&](const target::PlacementWish& wish) {
    std::vector<Violation> violations;
    const bool ok = FindEngine("builtin")->Preflight(AsBytes(bytes), board, &violations, wish).ok();
    EXPECT_EQ(ok, violations.empty());
    return violations;
  };
  EXPECT_TRUE(refusals({}).empty());
  EXPECT_TRUE(refusals({"ITCM", "DDR", "SRAM"}).empty());
  EXPECT_TRUE(refusals({"SRAM", "SRAM", "ITCM"}).empty());

  const std::vector<Violation> arena = refusals({"", "", "BRAM"});
  ASSERT_EQ(arena.size(), 1u);
  EXPECT_EQ(arena[0].code, "does_not_fit");
  EXPECT_EQ(arena[0].subject, "placement.arena");
  EXPECT_THAT(arena[0].message,
              HasSubstr("but BRAM of corstone-300, where the document places them, has 24576; name "
                        "a larger region, or leave the part to the planner"));

  const std::vector<Violation> both = refusals({"", "BRAM", "DTCM"});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].subject, "placement.arena");
  EXPECT_THAT(both[0].message, HasSubstr("has 81920, 65536 of which are the stack's;"));
  EXPECT_EQ(both[1].subject, "placement.weights");
  EXPECT_THAT(both[1].message, HasSubstr("constants take "));

  const std::vector<Violation> together = refusals({"SRAM", "SRAM", "SRAM"});
  ASSERT_EQ(together.size(), 1u);
  EXPECT_EQ(together[0].subject, "placement");
  EXPECT_THAT(together[0].message, HasSubstr("do not find room side by side"));
}

TEST(Preflight, SaysWhatIsNoModel) {
  const std::vector<Violation> text = Refusals("this is not a model");
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0].code, "malformed_model");
  EXPECT_THAT(text[0].message, HasSubstr("TFL3"));
}

TEST(Preflight, RefusesMalformedFilesWithinTime) {
  HELX_SKIP_WITHOUT_MODELS();
  // Files whose damage leaves a model that can be built: other weights, or another scale of the
  // output.
  const std::set<std::string> runs = {"trained_lstm_int8__flip4_0", "trained_lstm_int8__flip4_3",
                                      "trained_lstm_int8__flip4_4",
                                      "trained_lstm_int8__out_scale_tiny"};
  for (const auto& entry : std::filesystem::directory_iterator(ModelsFolder() + "/_malformed")) {
    if (entry.path().extension() != ".tflite") continue;
    const absl::StatusOr<std::string> bytes = ReadFile(entry.path().string());
    ASSERT_TRUE(bytes.ok());
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Violation> violations = Refusals(*bytes);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2)) << entry.path();
    EXPECT_EQ(violations.empty(), runs.contains(entry.path().stem().string())) << entry.path();
    for (const Violation& v : violations) {
      EXPECT_FALSE(v.code.empty() || v.subject.empty() || v.message.empty()) << entry.path();
    }
  }
}

// Processor time of the verdict on every real model and every damaged file; its median has 200 ms.
TEST(Preflight, IsQuick) {
  HELX_SKIP_WITHOUT_MODELS();
  std::vector<double> seconds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ModelsFolder())) {
    if (entry.path().extension() != ".tflite") continue;
    const std::string bytes = *ReadFile(entry.path().string());
    const std::clock_t start = std::clock();
    Refusals(bytes);
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  ASSERT_GT(seconds.size(), 200u);
  std::sort(seconds.begin(), seconds.end());
  EXPECT_LT(seconds[seconds.size() / 2], 0.2);
  std::cout << "median " << seconds[seconds.size() / 2] * 1e3 << " ms, longest "
            << seconds.back() * 1e3 << " ms\n";
}

TEST(Preflight, EndsOnEveryRealModel) {
  HELX_SKIP_WITHOUT_MODELS();
  for (const auto& entry : std::filesystem::directory_iterator(ModelsFolder())) {
    const absl::StatusOr<std::string> bytes = ReadFile((entry.path() / "model.tflite").string());
    if (!bytes.ok()) continue;
    EXPECT_LE(Refusals(*bytes).size(), 64u) << entry.path();
  }
}

TEST(Generate, IsDeterministic) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string bytes = *RealModel("mlperf_ic_resnet8_int8");
  const absl::StatusOr<GeneratedModel> a =
      FindEngine("builtin")->Generate(AsBytes(bytes), Corstone300());
  const absl::StatusOr<GeneratedModel> b =
      FindEngine("builtin")->Generate(AsBytes(std::string(bytes)), Corstone300());
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->files, b->files);
  EXPECT_EQ(a->memory, b->memory);
}

int64_t Macs(const GeneratedModel& model) {
  int64_t macs = 0;
  for (const Json& op : model.memory["operators"]) macs += op["macs"].get<int64_t>();
  return macs;
}

// Forward constants and backward liveness, calculated independently, leave 3,733,073 of 7,489,664.
// At most 3 % more remain where kernels compute four channels at once.
TEST(Generate, LeavesOutTheDeadChannelsOfVisualWakeWords) {
  HELX_SKIP_WITHOUT_MODELS();
  const std::string bytes = *RealModel("mlperf_vww_mobilenetv1_025_96_int8");
  const auto macs = [&](const target::Board& board, Purpose purpose) {
    const absl::StatusOr<GeneratedModel> model =
        FindEngine("builtin")->Generate(AsBytes(bytes), board, purpose);
    EXPECT_TRUE(model.ok()) << model.status();
    return Macs(*model);
  };
  EXPECT_EQ(macs(Corstone300(), Purpose::kProbe), 7489664);
  EXPECT_EQ(macs(*target::FindBoard("mps2-m3"), Purpose::kMeasure), 3733073);
  EXPECT_LE(macs(Corstone300(), Purpose::kMeasure), 3733073 * 1.03);
}

// The smallest arenas of TensorFlow Lite Micro with CMSIS-NN on Cortex-M4 (design goals: 0.75 and
// 0.90 times those).
TEST(Generate, ArenasStayBelowTheInterpreters) {
  HELX_SKIP_WITHOUT_MODELS();
  struct Case {
    const char* model;
    double limit;
  };
  for (const Case& c :
       {Case{"mlperf_kws_dscnn_int8", 0.75 * 22832},
        Case{"mlperf_vww_mobilenetv1_025_96_int8", 0.75 * 100720},
        Case{"tflm_person_detect_int8", 0.75 * 82320}, Case{"mlperf_ic_resnet8_int8", 0.90 * 55008},
        Case{"mlperf_ad_autoencoder_int8", 3028.0}, Case{"arduino_magic_wand_int8", 9328.0}}) {
    const absl::StatusOr<GeneratedModel> model =
        FindEngine("builtin")->Generate(AsBytes(*RealModel(c.model)), Corstone300());
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_LE(model->memory["arena_bytes"].get<int64_t>(), c.limit) << c.model;
  }
}

}  // namespace
}  // namespace helx::engine
