// Reading a linked image (ELF32, little-endian Arm) before it runs: does it fit the board, and what
// does it weigh.
#ifndef HELX_WORKER_TARGET_IMAGE_H_
#define HELX_WORKER_TARGET_IMAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "worker/target/board.h"

namespace helx::target {

struct ImageSection {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct ImageFigures {
  uint64_t text_bytes = 0;      // .vectors, .text, .ARM.exidx
  uint64_t rodata_bytes = 0;    // .rodata, .helx_request
  uint64_t weight_bytes = 0;    // .helx_weights
  uint64_t data_bytes = 0;      // .data: in ROM and in RAM
  uint64_t bss_bytes = 0;       // .bss, .helx_noinit: the runner's
  uint64_t stack_bytes = 0;     // .helx_stack: reserved
  uint64_t arena_bytes = 0;     // .helx_arena
  uint64_t variable_bytes = 0;  // .helx_variables
  std::map<std::string, uint64_t>
      region_bytes;                    // used of each of the board's regions, padding included
  std::vector<ImageSection> sections;  // those that take memory, in the file's order

  uint64_t rom_bytes() const { return text_bytes + rodata_bytes + weight_bytes + data_bytes; }
  uint64_t ram_bytes() const {
    return data_bytes + bss_bytes + stack_bytes + arena_bytes + variable_bytes;
  }
};

// INVALID_ARGUMENT when it is no such ELF; OUT_OF_RANGE when a loaded segment leaves the board's
// memory map or enters the staging memory: an emulator would drop such bytes without a word.
absl::StatusOr<ImageFigures> InspectImage(std::string_view elf, const Board& board);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_IMAGE_H_
