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
#include "core/bundle/image.h"
#include "worker/target/board.h"

namespace helx::target {

struct ImageFigures : ImageSizes {
  std::map<std::string, uint64_t>
      region_bytes;                    // used of each of the board's regions, padding included
  std::vector<ImageSection> sections;  // those that take memory, in the file's order, no content
};

// INVALID_ARGUMENT when it is no such ELF; OUT_OF_RANGE when a loaded segment leaves the board's
// memory map or enters the staging memory: an emulator would drop such bytes without a word.
absl::StatusOr<ImageFigures> InspectImage(std::string_view elf, const Board& board);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_IMAGE_H_
