// The bytes that an emulator's loader puts at a board's staging address (worker/runner/loader_block.h).
#ifndef HELX_WORKER_TARGET_LOADER_IMAGE_H_
#define HELX_WORKER_TARGET_LOADER_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "worker/target/board.h"

namespace helx::target {

struct LoaderSettings {
  uint32_t warmup = 0;              // <= HELX_WARMUP_MAX
  uint32_t samples = 1;             // 1..HELX_SAMPLES_MAX
  uint32_t state = 0;               // HELX_STATE_*
  bool capture = false;
  uint32_t poison = 0;
  uint64_t instruction_limit = 0;   // of one invocation; 0: none
};

// INVALID_ARGUMENT when counts are out of range, when sets differ in their inputs' sizes or when there are several and not
// one per sample; RESOURCE_EXHAUSTED when it passes the board's staging memory.
absl::StatusOr<std::string> LoaderImage(const Board& board, const LoaderSettings& settings,
                                        const std::vector<std::vector<std::string>>& input_sets);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_LOADER_IMAGE_H_
