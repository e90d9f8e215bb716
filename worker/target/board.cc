#include "worker/target/board.h"

#include <array>

namespace helx::target {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr uint32_t kMiB = 1024 * 1024;

// Addresses: Arm's "Corstone SSE-300 FVP" and AN547 memory maps; sizes as QEMU's mps3-an547 implements them.
const std::array<Board, 1>& Boards() {
  static const std::array<Board, 1> boards = {Board{
      .platform = "corstone-300",
      .machine = "mps3-an547",
      .core = "cortex-m55",
      .isa = Isa::kMve,
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
      .icount_shift = 5,
  }};
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
