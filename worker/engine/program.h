// A model on its way to C: lowered operators, constants and a memory plan.
#ifndef HELX_WORKER_ENGINE_PROGRAM_H_
#define HELX_WORKER_ENGINE_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "worker/engine/constants.h"
#include "worker/engine/engine.h"
#include "worker/engine/operator.h"
#include "worker/engine/planner.h"
#include "worker/target/board.h"

namespace helx::engine {

// Where a tensor's bytes are.
struct Place {
  enum class Kind { kNone, kArena, kConstant };
  Kind kind = Kind::kNone;  // kNone: nothing in the program touches the tensor
  int64_t offset = 0;       // in the arena or in the constants
  int32_t buffer = -1;      // index into Program::buffers, for kArena
};

struct Step {
  size_t op;  // index in the primary subgraph
  Lowering lowering;
  bool elided = false;  // a view that shares its input's storage
  int64_t scratch_offset = 0;
};

struct Program {
  model::Model model;
  ModelInterface interface;
  std::vector<Step> steps;
  ConstantPool constants;
  std::vector<Place> places;  // by tensor number of the primary subgraph
  std::vector<PlannedBuffer> buffers;
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // of the operator that needs most; part of arena_bytes
};

// Reads, checks, lowers and plans. Empty when there are violations (in operator order, at most kMaxViolations).
inline constexpr size_t kMaxViolations = 64;
std::optional<Program> BuildProgram(std::span<const uint8_t> bytes, const target::Board& board,
                                    std::vector<Violation>* violations);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_PROGRAM_H_
