#include "worker/engine/reorder.h"

#include <algorithm>
#include <numeric>

#include "worker/engine/placer.h"
#include "worker/engine/schedule.h"

namespace helx::engine {
namespace {

int64_t Padded(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool CanFail(const Lowering& lowering) {
  const auto fails = [](const Call& call) { return call.may_fail; };
  return fails(lowering) || std::any_of(lowering.then.begin(), lowering.then.end(), fails);
}

// The first frame of a program as operators and blocks of memory. Tensors that are views of one
// another are one block.
class Abstraction {
 public:
  explicit Abstraction(const Program& program)
      : graph_(program.graph(program.frames[0])),
        root_(graph_.tensors.size()),
        producer_(graph_.tensors.size(), -1) {
    std::iota(root_.begin(), root_.end(), 0);
    const Frame& frame = program.frames[0];
    for (const Step& step : frame.steps) {
      for (const Alias& alias : step.lowering.aliases) {
        if (alias.kind == Alias::Kind::kView && HasBlock(alias.input)) {
          root_[Root(alias.output)] = Root(alias.input);
        }
      }
    }
    block_of_.assign(graph_.tensors.size(), -1);
    for (int32_t number : graph_.inputs) {
      if (HasBlock(number)) blocks_[Block(number)].given = true;
    }
    for (const Step& step : frame.steps) Add(program, step);
    for (int32_t number : graph_.outputs) {
      if (HasBlock(number)) blocks_[Block(number)].kept = true;
    }
  }

  std::vector<size_t> BetterOrder() const { return LowerPeakOrder(operators_, blocks_); }

 private:
  // Constants and variables lie elsewhere; handles have no bytes.
  bool HasBlock(int32_t number) const {
    if (number < 0) return false;
    const model::Tensor& tensor = graph_.tensors[number];
    return !tensor.is_constant && !tensor.is_variable && model::ElementBits(tensor.type);
  }

  int32_t Root(int32_t number) const {
    while (root_[number] != number) number = root_[number];
    return number;
  }

  int32_t Block(int32_t number) {
    int32_t& block = block_of_[Root(number)];
    if (block < 0) {
      block = static_cast<int32_t>(blocks_.size());
      blocks_.emplace_back();
    }
    blocks_[block].bytes =
        std::max(blocks_[block].bytes, Padded(model::ByteSize(graph_.tensors[number])));
    return block;
  }

  template <typename T>
  static void AddOnce(T value, std::vector<T>* values) {
    if (std::find(values->begin(), values->end(), value) == values->end()) values->push_back(value);
  }

  void Add(const Program& program, const Step& step) {
    const model::Operator& op = graph_.operators[step.op];
    ScheduledOperator scheduled;
    scheduled.scratch_bytes = Padded(step.lowering.scratch_bytes);
    scheduled.ordered = step.lowering.state_bytes > 0 || CanFail(step.lowering);
    for (int32_t number : op.inputs) {
      if (number < 0) continue;
      const model::Tensor& tensor = graph_.tensors[number];
      scheduled.ordered = scheduled.ordered || tensor.is_variable ||
                          program.resources.Find(0, number) != nullptr ||
                          !model::ElementBits(tensor.type);
      if (producer_[number] >= 0) {
        AddOnce(static_cast<size_t>(producer_[number]), &scheduled.after);
      }
      if (HasBlock(number)) AddOnce(Block(number), &scheduled.reads);
    }
    for (int32_t number : op.outputs) {
      const model::Tensor& tensor = graph_.tensors[number];
      scheduled.ordered =
          scheduled.ordered || tensor.is_variable || !model::ElementBits(tensor.type);
      producer_[number] = static_cast<int64_t>(operators_.size());
      if (!HasBlock(number)) continue;
      const int32_t block = Block(number);
      // A view's block is alive already, since the view reads it.
      if (std::find(scheduled.reads.begin(), scheduled.reads.end(), block) ==
          scheduled.reads.end()) {
        AddOnce(block, &scheduled.writes);
      }
    }
    for (const Alias& alias : step.lowering.aliases) {
      if (alias.kind == Alias::Kind::kInPlace && HasBlock(alias.output) && HasBlock(alias.input)) {
        scheduled.in_place.emplace_back(Block(alias.output), Block(alias.input));
      }
    }
    operators_.push_back(std::move(scheduled));
  }

  const model::Subgraph& graph_;
  std::vector<int32_t> root_;
  std::vector<int64_t> producer_;  // by tensor: the operator's position
  std::vector<int32_t> block_of_;
  std::vector<ScheduledBlock> blocks_;
  std::vector<ScheduledOperator> operators_;
};

Frame Reordered(const Frame& frame, const std::vector<size_t>& order) {
  Frame reordered = frame;
  for (size_t i = 0; i < order.size(); ++i) {
    reordered.steps[i] = frame.steps[order[i]];
    reordered.steps[i].start = frame.steps[i].start;
    reordered.steps[i].end = frame.steps[i].end;
  }
  return reordered;
}

}  // namespace

void PlaceInBestOrder(Program* program) {
  const Frame lowered = program->frames.front();
  const bool alone = program->frames.size() == 1;
  PlaceTensors(program);
  if (!alone) return;
  const std::vector<size_t> order = Abstraction(*program).BetterOrder();
  if (order.empty()) return;
  // The search does not see fragmentation: what counts is the plan.
  const Frame given_frame = std::move(program->frames.front());
  const MemoryPlan given = std::move(static_cast<MemoryPlan&>(*program));
  static_cast<MemoryPlan&>(*program) = {};
  program->frames.front() = Reordered(lowered, order);
  PlaceTensors(program);
  if (program->arena_bytes < given.arena_bytes) return;
  program->frames.front() = given_frame;
  static_cast<MemoryPlan&>(*program) = given;
}

}  // namespace helx::engine
