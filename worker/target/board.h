// The boards: what the planner, the linker, the loader and the emulator must agree on.
#ifndef HELX_WORKER_TARGET_BOARD_H_
#define HELX_WORKER_TARGET_BOARD_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/experiment/platform.h"

namespace helx::target {

// Instruction-set features a kernel may be chosen by.
enum class Isa : uint8_t { kPortable, kDsp, kMve };

// The core's memory protection: Armv8-M's regions begin and end anywhere, Armv7-M's are powers of two in eighths.
enum class MemoryProtection : uint8_t { kPmsav7, kPmsav8 };

struct Board {
  std::string_view platform;      // "corstone-300"
  std::string_view machine;       // QEMU's -M
  std::string_view core;          // "cortex-m55"
  Isa isa;
  MemoryProtection protection;
  std::string_view board_source;  // the board's file in worker/runner
  std::vector<std::string_view> compile_flags;  // -mcpu=... -mfloat-abi=...
  std::vector<MemoryRegion> regions;
  // Where the image's parts go, as names of regions.
  std::string_view code_region;
  std::string_view weights_region;
  std::string_view arena_region;
  std::string_view data_region;  // the stack at its start, the runner's own data after it; never holds the model
  uint32_t stack_bytes;
  // Loader block, then input sets: written by the emulator's loader, outside the image.
  uint32_t staging_address;
  uint32_t staging_bytes;
  int icount_shift;
};

// The board of a platform name, or nullptr.
const Board* FindBoard(std::string_view platform);
std::span<const Board> AllBoards();

const MemoryRegion* FindRegion(const Board& board, std::string_view name);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_BOARD_H_
