#include "worker/target/board.h"

#include <array>

namespace helx::target {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr uint32_t kMiB = 1024 * 1024;

// Addresses: Arm's "Corstone SSE-300 FVP" and AN547 memory maps; sizes as QEMU's mps3-an547 implements them.
Board Corstone300() {
  return {.platform = "corstone-300",
          .machine = "mps3-an547",
          .core = "cortex-m55",
          .isa = Isa::kMve,
          .protection = MemoryProtection::kPmsav8,
          .board_source = "board_corstone300.c",
          .compile_flags = {"-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"},
          .regions = {{"ITCM", 0x00000000, 512 * kKiB, true},
                      {"BRAM", 0x11000000, 1 * kMiB, true},
                      {"DTCM", 0x20000000, 512 * kKiB, false},
                      {"SRAM", 0x31000000, 2 * kMiB, true},
                      {"DDR", 0x70000000, 192 * kMiB, true}},
          .code_region = "ITCM",
          .weights_region = "DDR",
          .arena_region = "SRAM",
          .data_region = "DTCM",
          .stack_bytes = 64 * kKiB,
          .staging_address = 0x7c000000,
          .staging_bytes = 48 * kMiB,
          .icount_shift = 5};
}

// What the MPS2+ board's FPGA images have in common: 4 MiB of ZBT SSRAM1, 2 MiB each of SSRAM2 and SSRAM3 in a row, 16 MiB of
// PSRAM, whose upper half is the staging memory. The PSRAM comes first: what is too large for its own region goes there, not
// between the code. Addresses: Arm DAI0385, DAI0386, DAI0500, DAI0505.
Board Mps2(std::string_view platform, std::string_view machine, std::string_view core) {
  return {.platform = platform,
          .machine = machine,
          .core = core,
          .isa = Isa::kDsp,
          .protection = MemoryProtection::kPmsav7,
          .board_source = "board_mps2.c",
          .compile_flags = {},
          .regions = {{"PSRAM", 0x21000000, 8 * kMiB, false},
                      {"SSRAM1", 0x00000000, 4 * kMiB, true},
                      {"SSRAM2", 0x20000000, 2 * kMiB, false},
                      {"SSRAM3", 0x20200000, 2 * kMiB, false}},
          .code_region = "SSRAM1",
          .weights_region = "PSRAM",
          .arena_region = "SSRAM3",
          .data_region = "SSRAM2",
          .stack_bytes = 64 * kKiB,
          .staging_address = 0x21800000,
          .staging_bytes = 8 * kMiB,
          .icount_shift = 7};
}

Board Mps2M33() {
  Board board = Mps2("mps2-m33", "mps2-an505", "cortex-m33");
  board.protection = MemoryProtection::kPmsav8;
  board.compile_flags = {"-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"};
  // Secure addresses: the processor starts in Secure state and stays there.
  board.regions = {{"PSRAM", 0x80000000, 8 * kMiB, false},
                   {"SSRAM1", 0x10000000, 4 * kMiB, true},
                   {"SSRAM2", 0x38000000, 2 * kMiB, false},
                   {"SSRAM3", 0x38200000, 2 * kMiB, false}};
  board.staging_address = 0x80800000;
  return board;
}

Board Mps2M7() {
  Board board = Mps2("mps2-m7", "mps2-an500", "cortex-m7");
  board.compile_flags = {"-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"};
  board.regions.front().address = 0x60000000;
  board.staging_address = 0x60800000;
  return board;
}

Board Mps2M4() {
  Board board = Mps2("mps2-m4", "mps2-an386", "cortex-m4");
  board.compile_flags = {"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"};
  return board;
}

Board Mps2M3() {
  Board board = Mps2("mps2-m3", "mps2-an385", "cortex-m3");
  board.isa = Isa::kPortable;
  board.compile_flags = {"-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft"};
  return board;
}

const std::array<Board, 5>& Boards() {
  static const std::array<Board, 5> boards = {Corstone300(), Mps2M33(), Mps2M7(), Mps2M4(),
                                              Mps2M3()};
  return boards;
}

}  // namespace

std::span<const Board> AllBoards() { return Boards(); }

const Board* FindBoard(std::string_view platform) {
  for (const Board& board : Boards()) {
    if (board.platform == platform) return &board;
  }
  return nullptr;
}

const MemoryRegion* FindRegion(const Board& board, std::string_view name) {
  for (const MemoryRegion& region : board.regions) {
    if (region.name == name) return &region;
  }
  return nullptr;
}

}  // namespace helx::target
