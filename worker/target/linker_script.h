// Where the parts of an image go on a board, and the linker script that says so.
#ifndef HELX_WORKER_TARGET_LINKER_SCRIPT_H_
#define HELX_WORKER_TARGET_LINKER_SCRIPT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "worker/target/board.h"
#include "worker/target/image.h"

namespace helx::target {

// Names of regions of a board.
struct Placement {
  std::string_view code;     // .text, .rodata and the request's constants
  std::string_view weights;  // .helx_weights*
  std::string_view arena;    // .helx_arena*, .helx_variables*

  friend bool operator==(const Placement&, const Placement&) = default;
};

// What a user asks for, as region names of the document; a part that is left empty is the
// planner's.
struct PlacementWish {
  std::string code, weights, arena;
};

// INVALID_ARGUMENT, naming part, region and what is allowed, unless every region exists and may
// hold the part: code needs one that is executable.
absl::Status CheckWish(const Board& board, const PlacementWish& wish);

// The placements worth linking with, best first: the board's own regions, then larger ones for
// whatever does not fit; of a part that is wished for, only that region. Sizes in bytes;
// `arena_bytes` includes the variables. The size of the code is known only to the linker: a caller
// tries one placement after the other while the linker says that a region overflowed. Parts that
// share a region are held against it together, with the stack, the vectors and the alignment that
// memory protection asks for. Empty: weights or arena fit nowhere. REQUIRES: CheckWish.
std::vector<Placement> Placements(const Board& board, uint64_t weight_bytes, uint64_t arena_bytes,
                                  const PlacementWish& wish = {});

// Whether every section of a linked image lies in the region that `placement` and the board give
// it, by the addresses in the ELF file. INTERNAL names the section, its address and the region.
absl::Status CheckPlaced(const ImageFigures& image, const Board& board, const Placement& placement);

// A GNU ld script. Sections of the image: .vectors, .text, .rodata, .helx_request, .helx_weights,
// .data, .bss, .helx_noinit, .helx_stack, .helx_arena (NOBITS), .helx_variables (NOBITS).
std::string LinkerScript(const Board& board, const Placement& placement);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_LINKER_SCRIPT_H_
