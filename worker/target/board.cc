#include "worker/target/board.h"

#include <array>

namespace helx::target {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr uint32_t kMiB = 1024 * 1024;

// The board of a platform, with what the platform says of it.
Board BoardOf(std::string_view platform) {
  const Platform& known = *FindPlatform(platform);
  Board board{};
  board.platform = known.name;
  board.core = known.core;
  board.regions = known.regions;
  return board;
}

Board Corstone300() {
  Board board = BoardOf("corstone-300");
  board.machine = "mps3-an547";
  board.isa = Isa::kMve;
  board.protection = MemoryProtection::kPmsav8;
  board.board_source = "board_corstone300.c";
  board.compile_flags = {"-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"};
  board.code_region = "ITCM";
  board.weights_region = "DDR";
  board.arena_region = "SRAM";
  board.data_region = "DTCM";
  board.stack_bytes = 64 * kKiB;
  board.staging_address = 0x7c000000;
  board.staging_bytes = 48 * kMiB;
  board.icount_shift = 5;
  return board;
}

// What the MPS2+ board's FPGA images have in common. The staging memory is the upper half of the
// PSRAM.
Board Mps2(std::string_view platform, std::string_view machine) {
  Board board = BoardOf(platform);
  board.machine = machine;
  board.isa = Isa::kDsp;
  board.protection = MemoryProtection::kPmsav7;
  board.board_source = "board_mps2.c";
  board.code_region = "SSRAM1";
  board.weights_region = "PSRAM";
  board.arena_region = "SSRAM3";
  board.data_region = "SSRAM2";
  board.stack_bytes = 64 * kKiB;
  board.staging_address = board.regions.front().address + board.regions.front().bytes;
  board.staging_bytes = 8 * kMiB;
  board.icount_shift = 7;
  return board;
}

Board Mps2M33() {
  Board board = Mps2("mps2-m33", "mps2-an505");
  board.protection = MemoryProtection::kPmsav8;
  board.compile_flags = {"-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"};
  return board;
}

Board Mps2M7() {
  Board board = Mps2("mps2-m7", "mps2-an500");
  board.compile_flags = {"-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"};
  return board;
}

Board Mps2M4() {
  Board board = Mps2("mps2-m4", "mps2-an386");
  board.compile_flags = {"-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"};
  return board;
}

Board Mps2M3() {
  Board board = Mps2("mps2-m3", "mps2-an385");
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
  return helx::FindRegion(board.regions, name);
}

}  // namespace helx::target
