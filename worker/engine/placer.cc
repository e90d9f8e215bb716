#include "worker/engine/placer.h"

#include <algorithm>
#include <map>

namespace helx::engine {
namespace {

using model::Subgraph;
using model::Tensor;

constexpr int64_t kVariableAlignment = 16;

// The steps between which a tensor must keep its content.
struct Lifetime {
  int32_t first = 0;
  int32_t last = -2;  // below `first`: never touched
};

std::vector<Lifetime> Lifetimes(const Subgraph& graph, const Frame& frame) {
  std::vector<Lifetime> lifetimes(graph.tensors.size());
  auto touch = [&](int32_t number, int32_t step) {
    Lifetime& l = lifetimes[number];
    if (l.last < l.first) l = {step, step};
    l.last = std::max(l.last, step);
  };
  for (int32_t number : graph.inputs) touch(number, frame.begin);
  for (const Step& step : frame.steps) {
    const model::Operator& op = graph.operators[step.op];
    for (int32_t number : op.outputs) {
      touch(number, step.start);
      touch(number, step.end);
    }
    // A loop takes over its inputs before it begins; a branch hands them to whichever subgraph runs.
    const int32_t needed =
        step.lowering.control == Control::kWhile ? step.start : step.end;
    for (int32_t number : op.inputs) {
      if (number >= 0) touch(number, needed);
    }
  }
  for (int32_t number : graph.outputs) touch(number, frame.end);
  return lifetimes;
}

class Placer {
 public:
  explicit Placer(Program* program) : program_(program) {}

  void Run() {
    for (const Resource& resource : program_->resources.all()) {
      program_->resource_offsets.push_back(AddVariable(resource.bytes));
    }
    for (Frame& frame : program_->frames) PlaceFrame(frame);
    std::vector<std::pair<Step*, size_t>> scratch;
    for (Frame& frame : program_->frames) {
      for (Step& step : frame.steps) {
        if (step.lowering.scratch_bytes == 0) continue;
        scratch.emplace_back(&step, program_->buffers.size());
        program_->buffers.push_back({step.lowering.scratch_bytes, step.start, step.end, 0});
        program_->scratch_bytes = std::max(program_->scratch_bytes, step.lowering.scratch_bytes);
      }
    }
    program_->arena_bytes = PlanArena(&program_->buffers);
    for (Frame& frame : program_->frames) {
      for (Place& place : frame.places) {
        if (place.kind == Place::Kind::kArena) {
          place.offset = program_->buffers[place.buffer].offset;
        }
      }
    }
    for (const auto& [step, buffer] : scratch) {
      step->scratch_offset = program_->buffers[buffer].offset;
    }
  }

 private:
  // The place of something that belongs to a subgraph, whichever frame runs it.
  int64_t SharedVariable(std::map<std::pair<size_t, size_t>, int64_t>* places, size_t number,
                         int64_t bytes) {
    const auto [it, inserted] = places->try_emplace({frame_->subgraph, number}, 0);
    if (inserted) it->second = AddVariable(bytes);
    return it->second;
  }

  int64_t AddVariable(int64_t bytes) {
    const int64_t offset = program_->variable_bytes;
    program_->variable_bytes +=
        (bytes + kVariableAlignment - 1) / kVariableAlignment * kVariableAlignment;
    return offset;
  }

  void PlaceFrame(Frame& frame) {
    frame_ = &frame;
    graph_ = &program_->graph(frame);
    lifetimes_ = Lifetimes(*graph_, frame);
    frame.places.assign(graph_->tensors.size(), Place{});
    for (int32_t number : graph_->inputs) OwnBuffer(number);
    PlaceVariables();
    for (Step& step : frame.steps) PlaceOperator(step);
    for (int32_t number : graph_->outputs) PlaceConstant(number);
  }

  // Variables that are inputs of the primary subgraph are written before every invocation, as inputs are.
  void PlaceVariables() {
    for (size_t number = 0; number < graph_->tensors.size(); ++number) {
      const Tensor& tensor = graph_->tensors[number];
      Place& place = frame_->places[number];
      if (!tensor.is_variable || place.kind != Place::Kind::kNone ||
          lifetimes_[number].last < lifetimes_[number].first) {
        continue;
      }
      const int64_t bytes = model::ByteSize(tensor);
      place = {Place::Kind::kVariable, SharedVariable(&variables_, number, bytes), -1};
      // TFLite Micro resets int8 variables to their zero point, all others to zero bytes.
      if (tensor.type == model::TensorType::INT8 && tensor.quantization.present() &&
          tensor.quantization.zero_point[0] != 0) {
        program_->initial_bytes.push_back(
            {place.offset, bytes, static_cast<uint8_t>(tensor.quantization.zero_point[0])});
      }
    }
  }

  void OwnBuffer(int32_t number) {
    const Tensor& tensor = graph_->tensors[number];
    if (!model::ElementBits(tensor.type)) return;  // handles of resources have no bytes
    const Lifetime& life = lifetimes_[number];
    frame_->places[number] = {Place::Kind::kArena, 0,
                              static_cast<int32_t>(program_->buffers.size())};
    program_->buffers.push_back({model::ByteSize(tensor), life.first, life.last, 0});
  }

  void PlaceConstant(int32_t number) {
    const Tensor& tensor = graph_->tensors[number];
    if (tensor.is_constant) {
      frame_->places[number] = {Place::Kind::kConstant, program_->constants.Add(tensor.data), -1};
    }
  }

  // Only constants that a call takes as a tensor; the others are inside parameter blocks.
  void PlaceConstants(const Call& call) {
    for (const Argument& argument : call.arguments) {
      if (argument.kind == Argument::Kind::kTensor) PlaceConstant(argument.tensor);
    }
  }

  void PlaceOperator(Step& step) {
    PlaceConstants(step.lowering);
    for (const Call& call : step.lowering.then) PlaceConstants(call);
    if (step.lowering.state_bytes > 0) {
      step.state_offset = SharedVariable(&states_, step.op, step.lowering.state_bytes);
    }
    for (const Alias& alias : step.lowering.aliases) {
      if (TryShare(alias, step.start) && alias.kind == Alias::Kind::kView) step.elided = true;
    }
    for (int32_t number : graph_->operators[step.op].outputs) {
      if (frame_->places[number].kind == Place::Kind::kNone) OwnBuffer(number);
    }
  }

  // Puts the output into the input's buffer if nothing is lost by it.
  bool TryShare(const Alias& alias, int32_t step) {
    const Place input = frame_->places[alias.input];
    if (input.kind != Place::Kind::kArena ||
        frame_->places[alias.output].kind != Place::Kind::kNone) {
      return false;
    }
    PlannedBuffer& buffer = program_->buffers[input.buffer];
    if (alias.kind == Alias::Kind::kInPlace && buffer.last > step) return false;
    buffer.last = std::max(buffer.last, lifetimes_[alias.output].last);
    buffer.bytes = std::max(buffer.bytes, model::ByteSize(graph_->tensors[alias.output]));
    frame_->places[alias.output] = input;
    return true;
  }

  Program* program_;
  Frame* frame_ = nullptr;
  const Subgraph* graph_ = nullptr;
  std::vector<Lifetime> lifetimes_;
  std::map<std::pair<size_t, size_t>, int64_t> variables_;  // by subgraph and tensor
  std::map<std::pair<size_t, size_t>, int64_t> states_;     // by subgraph and operator
};

}  // namespace

void PlaceTensors(Program* program) { Placer(program).Run(); }

}  // namespace helx::engine
