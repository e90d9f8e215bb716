// Where an image's parts go, what the loader writes, what an ELF file may claim.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/splitmix64.h"
#include "worker/collect/wire.h"
#include "worker/runner/loader_block.h"
#include "worker/target/image.h"
#include "worker/target/linker_script.h"
#include "worker/target/loader_image.h"

namespace helx::target {
namespace {

using ::testing::HasSubstr;

const Board& Corstone() { return *FindBoard("corstone-300"); }

TEST(PlacementTest, PrefersTheBoardsRegionsAndFallsBackToLargerOnes) {
  const auto small = Placements(Corstone(), 1000, 1000);
  ASSERT_FALSE(small.empty());
  EXPECT_EQ(small[0], (Placement{"ITCM", "DDR", "SRAM"}));
  // Code that overflows the 512 KiB of ITCM is tried elsewhere, never in the data region.
  ASSERT_GT(small.size(), 1u);
  EXPECT_EQ(small[1].code, "BRAM");
  for (const Placement& placement : small) EXPECT_NE(placement.code, "DTCM");
  // 3 MiB do not fit the 2 MiB of SRAM.
  EXPECT_EQ(Placements(Corstone(), 1000, 3u << 20)[0].arena, "DDR");
  EXPECT_TRUE(Placements(Corstone(), 1000, uint64_t{1} << 30).empty());
  EXPECT_TRUE(Placements(Corstone(), uint64_t{1} << 30, 1000).empty());
}

TEST(PlacementTest, TakesTheWishedRegionOrNone) {
  const auto wished = Placements(Corstone(), 1000, 1000, {"BRAM", "ITCM", "DTCM"});
  ASSERT_EQ(wished.size(), 1u);
  EXPECT_EQ(wished[0], (Placement{"BRAM", "ITCM", "DTCM"}));
  // What is not wished for stays the planner's.
  EXPECT_EQ(Placements(Corstone(), 1000, 1000, {"", "", "DDR"})[0],
            (Placement{"ITCM", "DDR", "DDR"}));
  // No other region is taken instead of one that is too small; the stack keeps its 64 KiB of the
  // DTCM's 512, and the runner's data at least 5.
  EXPECT_TRUE(Placements(Corstone(), 1000, 3u << 20, {"", "", "SRAM"}).empty());
  EXPECT_FALSE(Placements(Corstone(), 1000, 442u << 10, {"", "", "DTCM"}).empty());
  EXPECT_TRUE(Placements(Corstone(), 1000, 443u << 10, {"", "", "DTCM"}).empty());
}

TEST(PlacementTest, HoldsPartsOfOneRegionAgainstItTogether) {
  // 2 MiB of SRAM for 1,000 KiB of constants and activations of either 1,000 or 1,100 KiB.
  EXPECT_FALSE(Placements(Corstone(), 1000u << 10, 1000u << 10, {"", "SRAM", "SRAM"}).empty());
  EXPECT_TRUE(Placements(Corstone(), 1000u << 10, 1100u << 10, {"", "SRAM", "SRAM"}).empty());
  // What is not wished for makes way: 500 KiB of constants leave no room for code in ITCM, ...
  EXPECT_EQ(Placements(Corstone(), 510u << 10, 1000, {"", "ITCM", ""})[0],
            (Placement{"BRAM", "ITCM", "SRAM"}));
  EXPECT_TRUE(Placements(Corstone(), 510u << 10, 1000, {"ITCM", "ITCM", ""}).empty());
  // ... and 2,000 KiB of them none for activations in SRAM.
  EXPECT_EQ(Placements(Corstone(), 2000u << 10, 100u << 10, {"", "SRAM", ""})[0],
            (Placement{"ITCM", "SRAM", "ITCM"}));
  // Armv7-M protects eighths: of the 4 MiB of SSRAM1 code takes one; constants begin with the next.
  const Board& m4 = *FindBoard("mps2-m4");
  EXPECT_FALSE(Placements(m4, (3584u << 10) - 16, 1000, {"SSRAM1", "SSRAM1", ""}).empty());
  EXPECT_TRUE(Placements(m4, 3584u << 10, 1000, {"SSRAM1", "SSRAM1", ""}).empty());
}

TEST(PlacementTest, RefusesRegionsTheBoardDoesNotHave) {
  EXPECT_TRUE(CheckWish(Corstone(), {}).ok());
  EXPECT_TRUE(CheckWish(Corstone(), {"SRAM", "DTCM", "ITCM"}).ok());
  EXPECT_EQ(CheckWish(Corstone(), {"", "FLASH", ""}).message(),
            "placement.weights: found \"FLASH\"; corstone-300 has: ITCM, BRAM, DTCM, SRAM, DDR");
  EXPECT_EQ(CheckWish(Corstone(), {"DTCM", "", ""}).message(),
            "placement.code: found \"DTCM\", from which nothing can be executed; corstone-300 has: "
            "ITCM, BRAM, SRAM, DDR");
  EXPECT_FALSE(CheckWish(*FindBoard("mps2-m4"), {"", "", "DTCM"}).ok());
}

TEST(BoardTest, RegionsDoNotOverlapAndStagingIsOutsideThem) {
  for (const Board& board : AllBoards()) {
    for (const std::string_view name :
         {board.code_region, board.weights_region, board.arena_region, board.data_region}) {
      EXPECT_NE(FindRegion(board, name), nullptr) << board.platform << " " << name;
    }
    for (const MemoryRegion& a : board.regions) {
      const bool apart = a.address + uint64_t{a.bytes} <= board.staging_address ||
                         board.staging_address + uint64_t{board.staging_bytes} <= a.address;
      EXPECT_TRUE(apart) << board.platform << " " << a.name;
      for (const MemoryRegion& b : board.regions) {
        if (&a != &b) {
          EXPECT_TRUE(a.address + uint64_t{a.bytes} <= b.address ||
                      b.address + uint64_t{b.bytes} <= a.address);
        }
      }
    }
  }
}

TEST(LoaderImageTest, LaysOutBlockAndInputs) {
  LoaderSettings settings{3, 5, HELX_STATE_CARRY, true, 0x11223344, 0x1'0000'0002};
  const auto image = LoaderImage(Corstone(), settings, {{"abc", std::string(17, 'z')}});
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->size(), 64u + 16 + 32);
  const uint32_t fields[] = {0x4c584c48, 1, 3, 5, 1, 1, 0x11223344, 1, 48, 0, 2, 1};
  for (size_t i = 0; i < std::size(fields); ++i)
    EXPECT_EQ(collect::LoadU32(*image, 4 * i), fields[i]);
  EXPECT_EQ(collect::LoadU32(*image, 48), collect::Crc32(image->substr(0, 48)));
  EXPECT_EQ(image->substr(64, 4), std::string("abc\0", 4));
  EXPECT_EQ(image->substr(80, 18), std::string(17, 'z') + std::string(1, '\0'));
}

TEST(LoaderImageTest, RefusesWhatTheRunnerWould) {
  EXPECT_FALSE(LoaderImage(Corstone(), {.samples = 0}, {{}}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {.samples = 1001}, {{}}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {.warmup = 1001}, {{}}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {}, {}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {.samples = 3}, {{"a"}, {"b"}}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {.samples = 2}, {{"a"}, {"bb"}}).ok());
  EXPECT_FALSE(LoaderImage(Corstone(), {.warmup = 1, .samples = 2}, {{"a"}, {"b"}}).ok());
  const auto large = LoaderImage(Corstone(), {}, {{std::string(49u << 20, 'x')}});
  EXPECT_EQ(large.status().code(), absl::StatusCode::kResourceExhausted);
}

// An ELF file with one segment, one section (".text") and the section of names.
std::string TinyElf(uint32_t address, uint32_t bytes) {
  const std::string names("\0.text\0.shstrtab\0", 17);
  Elf32_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = EM_ARM;
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf32_Phdr);
  header.e_phnum = 1;
  header.e_shoff = sizeof(header) + sizeof(Elf32_Phdr);
  header.e_shentsize = sizeof(Elf32_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  const uint32_t data = header.e_shoff + 3 * sizeof(Elf32_Shdr);
  Elf32_Phdr segment{PT_LOAD, data, address, address, 0, bytes, PF_R, 4};
  Elf32_Shdr sections[3]{};
  sections[1] = {1, SHT_NOBITS, SHF_ALLOC, address, data, bytes, 0, 0, 4, 0};
  sections[2] = {7, SHT_STRTAB, 0, 0, data, static_cast<uint32_t>(names.size()), 0, 0, 1, 0};
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  out.append(reinterpret_cast<const char*>(&segment), sizeof(segment));
  out.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return out + names;
}

TEST(ImageTest, WeighsSections) {
  const auto figures = InspectImage(TinyElf(0x400, 1000), Corstone());
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(figures->text_bytes, 1000u);
  EXPECT_EQ(figures->rom_bytes(), 1000u);
  EXPECT_EQ(figures->region_bytes.at("ITCM"), 1000u);
}

TEST(ImageTest, SectionsAreHeldToThePlacement) {
  const auto image = InspectImage(TinyElf(0x400, 1000), Corstone());
  ASSERT_TRUE(image.ok()) << image.status();
  EXPECT_TRUE(CheckPlaced(*image, Corstone(), {"ITCM", "DDR", "SRAM"}).ok());
  const absl::Status elsewhere = CheckPlaced(*image, Corstone(), {"BRAM", "DDR", "SRAM"});
  EXPECT_EQ(elsewhere.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(elsewhere.message(),
            "the linker put .text (1000 bytes) at 0x00000400, outside of BRAM");
  ImageFigures unknown;
  unknown.sections = {{".surprise", 0x400, 4}};
  EXPECT_THAT(std::string(CheckPlaced(unknown, Corstone(), {"ITCM", "DDR", "SRAM"}).message()),
              HasSubstr("section .surprise, which no part of the placement names"));
}

TEST(ImageTest, SegmentsStayInsideTheMap) {
  EXPECT_TRUE(InspectImage(TinyElf(0, 512 * 1024), Corstone()).ok());
  for (const auto& [address, bytes] : std::initializer_list<std::pair<uint32_t, uint32_t>>{
           {0, 512 * 1024 + 1},  // past the end of ITCM
           {0x60000000, 16},     // nothing there
           {0x7c000000, 16},     // staging
           {0xfffffff0, 0xffffffff}}) {
    EXPECT_EQ(InspectImage(TinyElf(address, bytes), Corstone()).status().code(),
              absl::StatusCode::kOutOfRange)
        << address;
  }
}

TEST(ImageTest, EveryTruncationAndMutationIsAnAnswer) {
  const std::string elf = TinyElf(0x400, 1000);
  for (size_t size = 0; size < elf.size(); ++size) {
    EXPECT_FALSE(InspectImage(elf.substr(0, size), Corstone()).ok()) << size;
  }
  SplitMix64 random(5);
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = elf;
    for (int k = 0; k < 3; ++k) {
      bytes[random.Next() % bytes.size()] = static_cast<char>(random.Next());
    }
    refused += !InspectImage(bytes, Corstone()).ok();
  }
  EXPECT_GT(refused, 10'000);
}

}  // namespace
}  // namespace helx::target
