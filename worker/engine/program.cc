#include "worker/engine/program.h"

#include <algorithm>

#include "core/model/reader.h"
#include "worker/engine/dead_channels.h"
#include "worker/engine/placer.h"
#include "worker/engine/reorder.h"
#include "worker/target/linker_script.h"

namespace helx::engine {
namespace {

using model::Subgraph;
using model::Tensor;

// Calls of subgraphs within one another, and steps in total: beyond what any real model holds, and
// small enough to end.
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxSteps = 100'000;

// Inputs and outputs as the runner exchanges them.
void DescribeInterface(const Subgraph& graph, const std::vector<int32_t>& numbers, const char* role,
                       std::vector<TensorSpec>* specs, std::vector<Violation>* violations) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Tensor& tensor = graph.tensors[numbers[i]];
    const std::string subject =
        std::string(role) + " " + std::to_string(i) + ", " + TensorSubject(graph, numbers[i]);
    const std::optional<DType> dtype = model::StorageType(tensor.type);
    if (!dtype) {
      violations->push_back({"unsupported_dtype", subject,
                             "is " + std::string(model::TensorTypeName(tensor.type)) +
                                 "; allowed are " + std::string(kDTypeNames)});
      continue;
    }
    TensorSpec spec{static_cast<int32_t>(i), tensor.name, *dtype, {}};
    spec.shape.assign(tensor.shape.begin(), tensor.shape.end());
    if (model::ElementCount(tensor) < 1) {
      violations->push_back(
          {"unsupported_shape", subject,
           "is " + model::TensorText(tensor) + "; every dimension must be at least 1"});
    }
    specs->push_back(std::move(spec));
  }
}

// The subgraphs an operator runs; numbers are as stored, not yet checked.
std::vector<int32_t> CalleesOf(const model::Operator& op) {
  if (const auto* branch = op.options.AsIfOptions(); branch != nullptr) {
    return {branch->then_subgraph_index, branch->else_subgraph_index};
  }
  if (const auto* loop = op.options.AsWhileOptions(); loop != nullptr) {
    return {loop->cond_subgraph_index, loop->body_subgraph_index};
  }
  if (const auto* once = op.options.AsCallOnceOptions(); once != nullptr) {
    return {once->init_subgraph_index};
  }
  return {};
}

// Checks the operators of a subgraph and, at their first call, those of the subgraphs it runs.
class Checker {
 public:
  Checker(const Program& program, std::vector<Violation>* violations)
      : program_(program),
        violations_(violations),
        state_(program.model().subgraphs.size(), State::kUnseen) {}

  void Run(size_t subgraph, size_t depth) {
    state_[subgraph] = State::kOpen;
    const Subgraph& graph = program_.model().subgraphs[subgraph];
    for (size_t i = 0; i < graph.operators.size() && violations_->size() < kMaxViolations; ++i) {
      if (program_.prepared.folded[subgraph][i]) continue;
      CheckOperator(OperatorView(program_.model(), subgraph, i, &program_.resources), violations_);
      for (int32_t callee : CalleesOf(graph.operators[i])) Follow(subgraph, i, callee, depth);
    }
    state_[subgraph] = State::kDone;
  }

 private:
  enum class State { kUnseen, kOpen, kDone };

  void Follow(size_t subgraph, size_t op, int32_t callee, size_t depth) {
    // CheckOperator has refused numbers that are out of range.
    if (callee < 0 || static_cast<size_t>(callee) >= state_.size()) return;
    if (state_[callee] == State::kOpen || depth == kMaxDepth) {
      violations_->push_back(
          {"unsupported_operator", OperatorSubject(OperatorView(program_.model(), subgraph, op)),
           "subgraph " + std::to_string(callee) +
               (depth == kMaxDepth ? " would be nested too deeply; at most " +
                                         std::to_string(kMaxDepth) + " levels are allowed"
                                   : " calls itself; recursion is not supported")});
    } else if (state_[callee] == State::kUnseen) {
      Run(static_cast<size_t>(callee), depth + 1);
    }
  }

  const Program& program_;
  std::vector<Violation>* violations_;
  std::vector<State> state_;
};

// Lowers the primary subgraph and a copy of every subgraph for each place it is called from.
class Lowerer {
 public:
  Lowerer(Program* program, const target::Board& board) : program_(program), board_(board) {}

  // Whether the steps were few enough.
  bool Run() {
    AddFrame(0);
    return steps_ <= kMaxSteps;
  }

 private:
  size_t AddFrame(size_t subgraph) {
    const size_t number = program_->frames.size();
    program_->frames.emplace_back();
    Frame frame;
    frame.subgraph = subgraph;
    frame.begin = time_++;
    const Subgraph& graph = program_->model().subgraphs[subgraph];
    for (size_t i = 0; i < graph.operators.size() && steps_ <= kMaxSteps; ++i) {
      if (program_->prepared.folded[subgraph][i]) continue;
      ++steps_;
      const OperatorView view(program_->model(), subgraph, i, &program_->resources);
      Step step;
      step.op = i;
      step.lowering = FindOperator(view)->lower({view, board_, &program_->constants});
      step.start = time_++;
      for (size_t callee : step.lowering.callees) step.callees.push_back(AddFrame(callee));
      step.end = step.callees.empty() ? step.start : time_++;
      frame.steps.push_back(std::move(step));
    }
    frame.end = time_++;
    program_->frames[number] = std::move(frame);
    return number;
  }

  Program* program_;
  const target::Board& board_;
  int32_t time_ = -1;  // so that the primary subgraph's operators count from 0
  size_t steps_ = 0;
};

// A part of the image whose size the plan knows.
struct Part {
  const char* key;   // in a document's `placement`
  const char* what;  // what it holds
  int64_t bytes;
  std::string_view preferred;  // region of the board
  const std::string& wished;   // region of the document, or empty
};

// The region that a refusal names: the wished one, or the largest that the planner may take.
const MemoryRegion& RefusingRegion(const target::Board& board, const Part& part) {
  if (!part.wished.empty()) return *target::FindRegion(board, part.wished);
  const MemoryRegion* largest = target::FindRegion(board, part.preferred);
  for (const MemoryRegion& region : board.regions) {
    if (region.name != board.data_region && region.bytes > largest->bytes) largest = &region;
  }
  return *largest;
}

Violation DoesNotFit(const target::Board& board, const Part& part) {
  const MemoryRegion& region = RefusingRegion(board, part);
  const std::string name(region.name), size = std::to_string(region.bytes);
  const std::string needs =
      std::string(part.what) + " take " + std::to_string(part.bytes) + " bytes, but " + name;
  if (part.wished.empty()) {
    return {"does_not_fit", "region " + name,
            needs + ", the largest memory of " + std::string(board.platform) + " for them, has " +
                size + "; use a smaller model or another platform"};
  }
  const std::string stack = name == board.data_region ? ", " + std::to_string(board.stack_bytes) +
                                                            " of which are the stack's"
                                                      : "";
  return {"does_not_fit", std::string("placement.") + part.key,
          needs + " of " + std::string(board.platform) + ", where the document places them, has " +
              size + stack + "; name a larger region, or leave the part to the planner"};
}

// The size of the code is not known yet: a region that only the code overflows is found by the
// linker.
void CheckFit(const Program& program, const target::Board& board, const target::PlacementWish& wish,
              std::vector<Violation>* violations) {
  const Part arena{"arena", "activations, scratch memory and variables",
                   program.arena_bytes + program.variable_bytes, board.arena_region, wish.arena};
  const Part weights{"weights", "constants", static_cast<int64_t>(program.constants.bytes().size()),
                     board.weights_region, wish.weights};
  auto fits = [&](int64_t weight_bytes, int64_t arena_bytes, const target::PlacementWish& by) {
    return !target::Placements(board, static_cast<uint64_t>(weight_bytes),
                               static_cast<uint64_t>(arena_bytes), by)
                .empty();
  };
  const size_t before = violations->size();
  if (!fits(0, arena.bytes, {{}, {}, wish.arena})) violations->push_back(DoesNotFit(board, arena));
  if (!fits(weights.bytes, 0, {{}, wish.weights, {}})) {
    violations->push_back(DoesNotFit(board, weights));
  }
  if (violations->size() > before || fits(weights.bytes, arena.bytes, wish)) return;
  violations->push_back(
      {"does_not_fit", "placement",
       "code, " + std::to_string(weights.bytes) + " bytes of constants and " +
           std::to_string(arena.bytes) + " bytes of activations, scratch memory and variables do " +
           "not find room side by side in the regions of " + std::string(board.platform) +
           " that may hold them; place fewer parts in one region, or use a smaller model or " +
           "another platform"});
}

}  // namespace

std::optional<Program> BuildProgram(std::span<const uint8_t> bytes, const target::Board& board,
                                    std::vector<Violation>* violations, Purpose purpose,
                                    const target::PlacementWish& wish) {
  model::ReadError error;
  absl::StatusOr<model::Model> read = model::ReadModel(bytes, &error);
  if (!read.ok()) {
    violations->push_back({"malformed_model", error.place, error.message});
    return std::nullopt;
  }
  Program program;
  program.prepared = PrepareModel(*std::move(read));
  program.resources = Resources::Of(program.model());
  const Subgraph& graph = program.model().primary();
  if (graph.outputs.empty()) {
    violations->push_back(
        {"malformed_model", "subgraph 0", "has no outputs; at least one is needed"});
  }
  DescribeInterface(graph, graph.inputs, "input", &program.interface.inputs, violations);
  DescribeInterface(graph, graph.outputs, "output", &program.interface.outputs, violations);
  Checker(program, violations).Run(0, 0);
  if (violations->size() > kMaxViolations) violations->resize(kMaxViolations);
  if (!violations->empty()) return std::nullopt;

  if (purpose == Purpose::kMeasure) {
    // Helium and DSP kernels compute four channels at once.
    RemoveDeadChannels(program.prepared.model, 0, program.prepared.folded[0],
                       board.isa == target::Isa::kPortable ? 1 : 4, &program.prepared.storage);
  }
  if (!Lowerer(&program, board).Run()) {
    violations->push_back({"does_not_fit", "subgraph 0",
                           "more than " + std::to_string(kMaxSteps) +
                               " operators, those of called subgraphs counted at every call"});
    return std::nullopt;
  }
  // A diagnostic image reports operators in the model's order.
  if (purpose == Purpose::kMeasure) {
    PlaceInBestOrder(&program);
  } else {
    PlaceTensors(&program);
  }
  CheckFit(program, board, wish, violations);
  if (!violations->empty()) return std::nullopt;
  return program;
}

}  // namespace helx::engine
