#include "worker/engine/program.h"

#include <algorithm>

#include "core/model/reader.h"

namespace helx::engine {
namespace {

using model::Subgraph;
using model::Tensor;

std::string TensorSubject(const Subgraph& graph, int32_t number) {
  const std::string& name = graph.tensors[number].name;
  return "tensor " + std::to_string(number) + (name.empty() ? "" : " (" + name + ")");
}

// Inputs and outputs as the runner exchanges them.
void DescribeInterface(const Subgraph& graph, const std::vector<int32_t>& numbers,
                       const char* role, std::vector<TensorSpec>* specs,
                       std::vector<Violation>* violations) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Tensor& tensor = graph.tensors[numbers[i]];
    const std::string subject = std::string(role) + " " + std::to_string(i) + ", " +
                                TensorSubject(graph, numbers[i]);
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
      violations->push_back({"unsupported_shape", subject,
                             "is " + model::TensorText(tensor) +
                                 "; every dimension must be at least 1"});
    }
    specs->push_back(std::move(spec));
  }
}

// The steps between which each tensor must keep its content; -1 is before the first.
struct Lifetime {
  int32_t first = 0;
  int32_t last = -2;  // below `first`: never touched
};

std::vector<Lifetime> Lifetimes(const Subgraph& graph) {
  std::vector<Lifetime> lifetimes(graph.tensors.size());
  auto touch = [&](int32_t number, int32_t step) {
    Lifetime& l = lifetimes[number];
    if (l.last < l.first) l = {step, step};
    l.last = std::max(l.last, step);
  };
  for (int32_t number : graph.inputs) touch(number, -1);
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    for (int32_t number : graph.operators[i].outputs) touch(number, static_cast<int32_t>(i));
    for (int32_t number : graph.operators[i].inputs) {
      if (number >= 0) touch(number, static_cast<int32_t>(i));
    }
  }
  const int32_t end = static_cast<int32_t>(graph.operators.size());
  for (int32_t number : graph.outputs) touch(number, end);
  return lifetimes;
}

// Gives every tensor a place: constants in the pool, the others in buffers that views and in-place operators share.
class Placer {
 public:
  Placer(const Subgraph& graph, Program* program)
      : graph_(graph), program_(program), lifetimes_(Lifetimes(graph)) {}

  void Run() {
    program_->places.assign(graph_.tensors.size(), Place{});
    for (int32_t number : graph_.inputs) OwnBuffer(number);
    for (Step& step : program_->steps) PlaceOperator(step);
    for (int32_t number : graph_.outputs) PlaceConstant(number);
    std::vector<size_t> scratch_of(program_->steps.size(), SIZE_MAX);
    for (size_t i = 0; i < program_->steps.size(); ++i) {
      const Step& step = program_->steps[i];
      if (step.lowering.scratch_bytes == 0) continue;
      scratch_of[i] = program_->buffers.size();
      const int32_t at = static_cast<int32_t>(step.op);
      program_->buffers.push_back({step.lowering.scratch_bytes, at, at, 0});
      program_->scratch_bytes = std::max(program_->scratch_bytes, step.lowering.scratch_bytes);
    }
    program_->arena_bytes = PlanArena(&program_->buffers);
    for (Place& place : program_->places) {
      if (place.kind == Place::Kind::kArena) place.offset = program_->buffers[place.buffer].offset;
    }
    for (size_t i = 0; i < scratch_of.size(); ++i) {
      if (scratch_of[i] != SIZE_MAX) {
        program_->steps[i].scratch_offset = program_->buffers[scratch_of[i]].offset;
      }
    }
  }

 private:
  void OwnBuffer(int32_t number) {
    const Lifetime& life = lifetimes_[number];
    program_->places[number] = {Place::Kind::kArena, 0,
                                static_cast<int32_t>(program_->buffers.size())};
    program_->buffers.push_back(
        {model::ByteSize(graph_.tensors[number]), life.first, life.last, 0});
  }

  void PlaceConstant(int32_t number) {
    const Tensor& tensor = graph_.tensors[number];
    if (tensor.is_constant) {
      program_->places[number] = {Place::Kind::kConstant, program_->constants.Add(tensor.data), -1};
    }
  }

  void PlaceOperator(Step& step) {
    // Only constants that a call takes as a tensor; the others are inside parameter blocks.
    for (const Argument& argument : step.lowering.arguments) {
      if (argument.kind == Argument::Kind::kTensor) PlaceConstant(argument.tensor);
    }
    for (const Alias& alias : step.lowering.aliases) {
      if (TryShare(alias, static_cast<int32_t>(step.op)) && alias.kind == Alias::Kind::kView) {
        step.elided = true;
      }
    }
    for (int32_t number : graph_.operators[step.op].outputs) {
      if (program_->places[number].kind == Place::Kind::kNone) OwnBuffer(number);
    }
  }

  // Puts the output into the input's buffer if nothing is lost by it.
  bool TryShare(const Alias& alias, int32_t step) {
    const Place input = program_->places[alias.input];
    if (input.kind != Place::Kind::kArena ||
        program_->places[alias.output].kind != Place::Kind::kNone) {
      return false;
    }
    PlannedBuffer& buffer = program_->buffers[input.buffer];
    if (alias.kind == Alias::Kind::kInPlace && buffer.last > step) return false;
    buffer.last = std::max(buffer.last, lifetimes_[alias.output].last);
    buffer.bytes = std::max(buffer.bytes, model::ByteSize(graph_.tensors[alias.output]));
    program_->places[alias.output] = input;
    return true;
  }

  const Subgraph& graph_;
  Program* program_;
  const std::vector<Lifetime> lifetimes_;
};

void CheckFit(const Program& program, const target::Board& board,
              std::vector<Violation>* violations) {
  auto check = [&](const char* what, int64_t bytes, std::string_view region_name) {
    const target::MemoryRegion* region = target::FindRegion(board, region_name);
    if (region == nullptr || bytes <= static_cast<int64_t>(region->bytes)) return;
    violations->push_back({"does_not_fit", "region " + std::string(region_name),
                           std::string(what) + " take " + std::to_string(bytes) + " bytes, but " +
                               std::string(region_name) + " of " + std::string(board.platform) +
                               " has " + std::to_string(region->bytes) +
                               "; use a smaller model or another platform"});
  };
  check("activations and scratch memory", program.arena_bytes, board.arena_region);
  check("constants", static_cast<int64_t>(program.constants.bytes().size()), board.weights_region);
}

}  // namespace

std::optional<Program> BuildProgram(std::span<const uint8_t> bytes, const target::Board& board,
                                    std::vector<Violation>* violations) {
  model::ReadError error;
  absl::StatusOr<model::Model> read = model::ReadModel(bytes, &error);
  if (!read.ok()) {
    violations->push_back({"malformed_model", error.place, error.message});
    return std::nullopt;
  }
  Program program;
  program.model = *std::move(read);
  const Subgraph& graph = program.model.primary();
  if (graph.outputs.empty()) {
    violations->push_back({"malformed_model", "subgraph 0", "has no outputs; at least one is needed"});
  }
  DescribeInterface(graph, graph.inputs, "input", &program.interface.inputs, violations);
  DescribeInterface(graph, graph.outputs, "output", &program.interface.outputs, violations);
  for (size_t i = 0; i < graph.operators.size() && violations->size() < kMaxViolations; ++i) {
    CheckOperator(OperatorView(program.model, 0, i), violations);
  }
  if (violations->size() > kMaxViolations) violations->resize(kMaxViolations);
  if (!violations->empty()) return std::nullopt;

  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const OperatorView view(program.model, 0, i);
    program.steps.push_back(
        {i, FindOperator(view.op().code)->lower({view, board, &program.constants})});
  }
  Placer(graph, &program).Run();
  CheckFit(program, board, violations);
  if (!violations->empty()) return std::nullopt;
  return program;
}

}  // namespace helx::engine
