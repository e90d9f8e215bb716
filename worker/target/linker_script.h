// Where the parts of an image go on a board, and the linker script that says so.
#ifndef HELX_WORKER_TARGET_LINKER_SCRIPT_H_
#define HELX_WORKER_TARGET_LINKER_SCRIPT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "worker/target/board.h"

namespace helx::target {

// Names of regions of a board.
struct Placement {
  std::string_view code;     // .text, .rodata and the request's constants
  std::string_view weights;  // .helx_weights*
  std::string_view arena;    // .helx_arena*, .helx_variables*

  friend bool operator==(const Placement&, const Placement&) = default;
};

// The placements worth linking with, best first: the board's own regions, then larger ones for whatever does not fit.
// Sizes in bytes; `arena_bytes` includes the variables. The size of the code is known only to the linker: a caller tries
// one placement after the other while the linker says that a region overflowed. Empty: weights or arena fit nowhere.
std::vector<Placement> Placements(const Board& board, uint64_t weight_bytes, uint64_t arena_bytes);

// A GNU ld script. Sections of the image: .vectors, .text, .rodata, .helx_request, .helx_weights, .data, .bss,
// .helx_noinit, .helx_stack, .helx_arena (NOBITS), .helx_variables (NOBITS).
std::string LinkerScript(const Board& board, const Placement& placement);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_LINKER_SCRIPT_H_
