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

void CheckFit(const Program& program, const target::Board& board,
              std::vector<Violation>* violations) {
  auto fits = [&](int64_t weights, int64_t arena) {
    return !target::Placements(board, static_cast<uint64_t>(weights), static_cast<uint64_t>(arena))
                .empty();
  };
  auto refuse = [&](const char* what, int64_t bytes, std::string_view preferred) {
    const MemoryRegion* largest = target::FindRegion(board, preferred);
    for (const MemoryRegion& region : board.regions) {
      if (region.name != board.data_region && region.bytes > largest->bytes) largest = &region;
    }
    const std::string name(largest->name);
    violations->push_back({"does_not_fit", "region " + name,
                           std::string(what) + " take " + std::to_string(bytes) + " bytes, but " +
                               name + ", the largest memory of " + std::string(board.platform) +
                               " for them, has " + std::to_string(largest->bytes) +
                               "; use a smaller model or another platform"});
  };
  const int64_t arena = program.arena_bytes + program.variable_bytes;
  const auto weights = static_cast<int64_t>(program.constants.bytes().size());
  if (!fits(0, arena)) {
    refuse("activations, scratch memory and variables", arena, board.arena_region);
  }
  if (!fits(weights, 0)) refuse("constants", weights, board.weights_region);
}

}  // namespace

std::optional<Program> BuildProgram(std::span<const uint8_t> bytes, const target::Board& board,
                                    std::vector<Violation>* violations, Purpose purpose) {
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
  CheckFit(program, board, violations);
  if (!violations->empty()) return std::nullopt;
  return program;
}

}  // namespace helx::engine
