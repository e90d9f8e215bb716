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
#include "worker/engine/passes.h"
#include "worker/engine/planner.h"
#include "worker/engine/resources.h"
#include "worker/target/board.h"
#include "worker/target/linker_script.h"

namespace helx::engine {

// Where a tensor's bytes are.
struct Place {
  enum class Kind { kNone, kArena, kConstant, kVariable };
  Kind kind = Kind::kNone;  // kNone: nothing in the program touches the tensor
  int64_t offset = 0;       // in the arena, in the constants or among the variables
  int32_t buffer = -1;      // index into Program::buffers, for kArena
};

// Steps are counted over the whole program, the steps of a called subgraph within those of the
// operator that calls it.
struct Step {
  size_t op;  // index in the frame's subgraph
  Lowering lowering;
  int32_t start = 0;
  int32_t end = 0;              // `start`, unless the operator runs subgraphs
  std::vector<size_t> callees;  // frames
  bool elided = false;          // a view that shares its input's storage
  int64_t scratch_offset = 0;
  int64_t state_offset = 0;  // among the variables
};

// A subgraph at one place it is called from; a subgraph that is called twice has two frames.
struct Frame {
  size_t subgraph = 0;
  int32_t begin = 0;  // the step at which inputs are handed over
  int32_t end = 0;    // the step at which outputs are taken
  std::vector<Step> steps;
  std::vector<Place> places;  // by tensor number of the subgraph
};

// A stretch of variables that does not start as zeros.
struct InitialBytes {
  int64_t offset;
  int64_t bytes;
  uint8_t value;
};

// What PlaceTensors decides beside the places in the frames.
struct MemoryPlan {
  std::vector<PlannedBuffer> buffers;
  int64_t arena_bytes = 0;
  int64_t scratch_bytes = 0;  // of the operator that needs most; part of arena_bytes
  int64_t variable_bytes = 0;
  std::vector<InitialBytes> initial_bytes;
  std::vector<int64_t> resource_offsets;  // among the variables
};

struct Program : MemoryPlan {
  PreparedModel prepared;
  Resources resources;
  ModelInterface interface;
  std::vector<Frame> frames;  // the first is the primary subgraph
  ConstantPool constants;

  const model::Model& model() const { return prepared.model; }
  const model::Subgraph& graph(const Frame& frame) const {
    return prepared.model.subgraphs[frame.subgraph];
  }
};

// Reads, checks, lowers, plans and holds the plan against the regions that `wish` and the board
// give it. Empty when there are violations (in operator order, at most kMaxViolations).
inline constexpr size_t kMaxViolations = 64;
std::optional<Program> BuildProgram(std::span<const uint8_t> bytes, const target::Board& board,
                                    std::vector<Violation>* violations,
                                    Purpose purpose = Purpose::kMeasure,
                                    const target::PlacementWish& wish = {});

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_PROGRAM_H_
