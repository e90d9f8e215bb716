#include "worker/engine/toolchain.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/unit/worker/engine/host_build.h"
#include "worker/sandbox/process.h"

namespace helx::engine {
namespace {

using ::testing::HasSubstr;

const target::Board& Corstone300() { return *target::FindBoard("corstone-300"); }

std::string Constants(uint8_t fill) {
  Sha256Bytes digest;
  digest.fill(fill);
  return RequestConstants(digest, {{digest}});
}

#define HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain)                                          \
  do {                                                                                  \
    if (!(toolchain).ok()) {                                                            \
      const char* required = std::getenv("HELX_REQUIRE_TOOLCHAIN");                     \
      if (required != nullptr && std::string(required) == "1") FAIL() << (toolchain).status(); \
      GTEST_SKIP() << (toolchain).status();                                             \
    }                                                                                   \
  } while (false)

// The archive, compiled once per test program.
const std::string& KernelsFolder(const Toolchain& toolchain) {
  static const std::string folder = [&] {
    const std::string fresh = FreshFolder("kernels");
    std::vector<RecordedCommand> commands;
    const absl::Status status = toolchain.CompileKernels(Corstone300(), fresh, &commands);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(commands.size(), 3u);  // kernels, runner, archive
    return fresh;
  }();
  return folder;
}

TEST(Toolchain, NamesItsExactVersion) {
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain);
  EXPECT_EQ(toolchain->identity().name, "arm-none-eabi-gcc");
  EXPECT_THAT(toolchain->identity().version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  EXPECT_FALSE(toolchain->identity().detail.empty());
}

TEST(Toolchain, LinksTheSameImageInAnyFolder) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain);
  const absl::StatusOr<GeneratedModel> model = FindEngine("builtin")->Generate(
      AsBytes(*RealModel("tflm_hello_world_int8")), Corstone300());
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> elfs, maps;
  for (const char* name : {"first", "a_second_and_longer_one"}) {
    const std::string model_folder = FreshFolder(std::string("model_") + name);
    const std::string image_folder = FreshFolder(std::string("image_") + name);
    std::vector<RecordedCommand> commands;
    ASSERT_TRUE(toolchain->CompileModel(*model, Corstone300(), model_folder, &commands).ok());
    const absl::StatusOr<LinkedImage> image =
        toolchain->LinkImage(*model, Constants(1), Corstone300(), KernelsFolder(*toolchain),
                             model_folder, image_folder, &commands);
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->figures.arena_bytes, 32u);
    EXPECT_GT(image->figures.text_bytes, 1000u);
    EXPECT_GE(image->figures.weight_bytes,
              static_cast<uint64_t>(model->memory["weight_bytes"].get<int64_t>()));
    elfs.push_back(*ReadFile(image->elf_path));
    maps.push_back(*ReadFile(image->map_path));
    EXPECT_EQ(CommandsToJson(commands).size(), 4u);  // code, weights, constants, link
  }
  EXPECT_TRUE(elfs[0] == elfs[1]);
  EXPECT_EQ(maps[0], maps[1]);
  EXPECT_THAT(maps[0], testing::Not(HasSubstr(HELX_BUILD_DIR)));
}

TEST(Toolchain, RequestConstantsChangeOnlyThemselves) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain);
  const absl::StatusOr<GeneratedModel> model = FindEngine("builtin")->Generate(
      AsBytes(*RealModel("tflm_hello_world_int8")), Corstone300());
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string model_folder = FreshFolder("constants_model");
  ASSERT_TRUE(toolchain->CompileModel(*model, Corstone300(), model_folder, nullptr).ok());
  std::vector<std::string> elfs;
  for (uint8_t fill : {1, 2}) {
    const std::string folder = FreshFolder("constants_" + std::to_string(fill));
    const absl::StatusOr<LinkedImage> image =
        toolchain->LinkImage(*model, Constants(fill), Corstone300(), KernelsFolder(*toolchain),
                             model_folder, folder, nullptr);
    ASSERT_TRUE(image.ok()) << image.status();
    elfs.push_back(*ReadFile(image->elf_path));
  }
  ASSERT_EQ(elfs[0].size(), elfs[1].size());
  size_t differences = 0;
  for (size_t i = 0; i < elfs[0].size(); ++i) differences += elfs[0][i] != elfs[1][i];
  EXPECT_EQ(differences, 64u);  // two digests of 32 bytes
}

// Addresses of the sections in the ELF file, for placements of the user's own on both kinds of memory protection.
TEST(Toolchain, PlacesPartsWhereTheUserWants) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain);
  for (const target::Placement& wish :
       {target::Placement{"BRAM", "ITCM", "DTCM"}, target::Placement{"ITCM", "DTCM", "DTCM"},
        target::Placement{"SRAM", "SRAM", "SRAM"}, target::Placement{"ITCM", "DDR", "DDR"}}) {
    const absl::StatusOr<GeneratedModel> model = FindEngine("builtin")->Generate(
        AsBytes(*RealModel("tflm_hello_world_int8")), Corstone300());
    ASSERT_TRUE(model.ok()) << model.status();
    const std::string folder = FreshFolder("placed");
    ASSERT_TRUE(toolchain->CompileModel(*model, Corstone300(), folder, nullptr).ok());
    const absl::StatusOr<LinkedImage> image = toolchain->LinkImage(
        *model, Constants(1), Corstone300(), KernelsFolder(*toolchain), folder, folder, nullptr,
        {std::string(wish.code), std::string(wish.weights), std::string(wish.arena)});
    ASSERT_TRUE(image.ok()) << image.status();
    EXPECT_EQ(image->placement, wish);
    for (const ImageSection& section : image->figures.sections) {
      const std::string_view expected = section.name == ".text"           ? wish.code
                                        : section.name == ".helx_weights" ? wish.weights
                                        : section.name == ".helx_arena"   ? wish.arena
                                                                          : "";
      if (expected.empty()) continue;
      const MemoryRegion& region = *target::FindRegion(Corstone300(), expected);
      EXPECT_GE(section.address, region.address) << section.name;
      EXPECT_LT(section.address, region.address + region.bytes) << section.name;
    }
    // The check of the linked file refuses any other placement of it.
    const target::Placement other{"ITCM", "BRAM", "BRAM"};
    EXPECT_FALSE(target::CheckPlaced(image->figures, Corstone300(), other).ok());
  }
}

TEST(Toolchain, NamesTheRegionThatIsTooSmall) {
  HELX_SKIP_WITHOUT_MODELS();
  const absl::StatusOr<Toolchain> toolchain = Toolchain::Find();
  HELX_SKIP_WITHOUT_TOOLCHAIN(toolchain);
  const absl::StatusOr<GeneratedModel> model = FindEngine("builtin")->Generate(
      AsBytes(*RealModel("mlperf_kws_dscnn_int8")), Corstone300());
  ASSERT_TRUE(model.ok()) << model.status();
  target::Board small = Corstone300();
  // 16,000 bytes of activations do not fit 8 KiB anywhere.
  for (MemoryRegion& region : small.regions) {
    if (region.name != small.code_region && region.name != small.data_region) region.bytes = 8192;
    if (region.name == small.code_region) region.bytes = 12288;
  }
  const absl::StatusOr<LinkedImage> image = toolchain->LinkImage(
      *model, Constants(1), small, KernelsFolder(*toolchain), "", FreshFolder("small"), nullptr);
  EXPECT_EQ(image.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("does_not_fit: the image needs"));
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("which has 8192"));
}

}  // namespace
}  // namespace helx::engine
