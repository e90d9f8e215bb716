// Operators that put elements elsewhere: TRANSPOSE, REVERSE_V2, SPACE_TO_DEPTH, DEPTH_TO_SPACE,
// BATCH_TO_SPACE_ND, BROADCAST_TO, TILE.
#include <algorithm>
#include <numeric>
#include <set>

#include "worker/engine/ops/common.h"
#include "worker/engine/ops/entries.h"
#include "worker/engine/ops/move.h"

namespace helx::engine {
namespace {

// A move that fills the whole output, with the shape that the output must then have.
struct Rearrangement {
  Move move;
  std::vector<int32_t> output;
};

using Plan = std::optional<Rearrangement> (*)(Preflight& preflight);

// Refuses unless the plan works out and gives the output's shape.
void CheckPlan(Preflight& preflight, Plan plan, size_t least, size_t most) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, least, most, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  const std::optional<Rearrangement> r = plan(preflight);
  if (r && CheckShape(preflight, "output", view.output(), r->output)) CheckMove(preflight, r->move);
}

Lowering LowerPlan(const LowerContext& context, Plan plan) {
  const OperatorView& view = context.view;
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  return InOrder(
      {MoveCall(plan(preflight)->move, ElementBytes(*view.input(0)),
                Argument::Tensor(view.input_number(0)), Argument::Tensor(view.output_number(0)))});
}

std::optional<Rearrangement> Transpose(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const auto order = ConstantIntegers(preflight, "permutation", preflight.view().input(1));
  if (!order) return std::nullopt;
  const size_t rank = input.shape.size();
  const std::vector<int64_t> strides = DenseStrides(input.shape);
  Rearrangement r;
  std::set<size_t> used;
  for (int64_t value : *order) {
    const std::optional<size_t> axis = ResolveAxis(value, rank);
    if (!axis || !used.insert(*axis).second) break;
    r.output.push_back(input.shape[*axis]);
    r.move.input_stride.push_back(strides[*axis]);
  }
  if (used.size() != rank || order->size() != rank) {
    preflight.Refuse("malformed_model", "the permutation must name each of the " +
                                            std::to_string(rank) + " dimensions once");
    return std::nullopt;
  }
  r.move.size = Widen(r.output);
  r.move.output_stride = DenseStrides(r.output);
  return r;
}

std::optional<Rearrangement> Reverse(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const auto axes = ConstantIntegers(preflight, "axes", preflight.view().input(1));
  if (!axes) return std::nullopt;
  Rearrangement r;
  r.output = input.shape;
  r.move.size = Widen(input.shape);
  r.move.input_stride = r.move.output_stride = DenseStrides(input.shape);
  std::set<size_t> seen;
  for (int64_t value : *axes) {
    const std::optional<size_t> axis = ResolveAxis(value, input.shape.size());
    if (!axis || !seen.insert(*axis).second) {
      preflight.Refuse("malformed_model", "axis " + std::to_string(value) +
                                              " is named twice or lies outside the rank " +
                                              std::to_string(input.shape.size()));
      return std::nullopt;
    }
    r.move.input_offset += r.move.input_stride[*axis] * (input.shape[*axis] - 1);
    r.move.input_stride[*axis] = -r.move.input_stride[*axis];
  }
  return r;
}

// The block size when it divides `size` evenly, else a refusal.
bool CheckBlock(Preflight& preflight, int64_t block, int64_t size, const char* what) {
  if (block >= 1 && size % block == 0) return true;
  return preflight.Refuse("malformed_model", "block size " + std::to_string(block) +
                                                 " does not divide " + what + " of " +
                                                 std::to_string(size));
}

std::optional<Rearrangement> SpaceToDepth(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const auto* options =
      CheckOptions(preflight, preflight.view().op().options.AsSpaceToDepthOptions());
  if (options == nullptr || !CheckRank(preflight, "input", input, 4) ||
      !CheckBlock(preflight, options->block_size, input.shape[1], "the height") ||
      !CheckBlock(preflight, options->block_size, input.shape[2], "the width")) {
    return std::nullopt;
  }
  const int64_t block = options->block_size;
  const int64_t h = input.shape[1] / block, w = input.shape[2] / block, c = input.shape[3];
  Rearrangement r;
  r.output = {input.shape[0], static_cast<int32_t>(h), static_cast<int32_t>(w),
              static_cast<int32_t>(c * block * block)};
  // Output positions b, y, x, then within a pixel: row and column of the block, channel.
  r.move.size = {input.shape[0], h, w, block, block, c};
  const int64_t row = input.shape[2] * c;
  r.move.input_stride = {input.shape[1] * row, block * row, block * c, row, c, 1};
  const int64_t pixel = c * block * block;
  r.move.output_stride = {h * w * pixel, w * pixel, pixel, block * c, c, 1};
  return r;
}

std::optional<Rearrangement> DepthToSpace(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const auto* options =
      CheckOptions(preflight, preflight.view().op().options.AsDepthToSpaceOptions());
  if (options == nullptr || !CheckRank(preflight, "input", input, 4)) return std::nullopt;
  const int64_t block = options->block_size;
  if (block > 32768 || !CheckBlock(preflight, block, input.shape[3], "the channels") ||
      !CheckBlock(preflight, block * block, input.shape[3], "the channels")) {
    return std::nullopt;
  }
  const int64_t h = input.shape[1], w = input.shape[2], c = input.shape[3] / (block * block);
  if (h * block > INT32_MAX || w * block > INT32_MAX) {
    preflight.Refuse("malformed_model", "the output would not fit 31 bits");
    return std::nullopt;
  }
  Rearrangement r;
  r.output = {input.shape[0], static_cast<int32_t>(h * block), static_cast<int32_t>(w * block),
              static_cast<int32_t>(c)};
  r.move.size = {input.shape[0], h, w, block, block, c};
  const int64_t pixel = input.shape[3];
  r.move.input_stride = {h * w * pixel, w * pixel, pixel, block * c, c, 1};
  const int64_t row = w * block * c;
  r.move.output_stride = {h * block * row, block * row, block * c, row, c, 1};
  return r;
}

// Both operands broadcast as NumPy does; the input's dimensions are aligned to the right.
Rearrangement Broadcasted(const Tensor& input, const std::vector<int32_t>& shape) {
  Rearrangement r;
  r.output = shape;
  r.move.size = Widen(shape);
  r.move.output_stride = DenseStrides(shape);
  const std::vector<int64_t> strides = DenseStrides(input.shape);
  const size_t lead = shape.size() - input.shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    r.move.input_stride.push_back(d < lead || input.shape[d - lead] == 1 ? 0 : strides[d - lead]);
  }
  return r;
}

std::optional<Rearrangement> BroadcastTo(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const std::vector<int32_t>& shape = preflight.view().output().shape;
  // The shape operand has become the output's shape, which is checked against the input here.
  if (shape.size() >= input.shape.size()) {
    const size_t lead = shape.size() - input.shape.size();
    size_t d = 0;
    while (d < input.shape.size() && (input.shape[d] == 1 || input.shape[d] == shape[d + lead])) {
      ++d;
    }
    if (d == input.shape.size()) return Broadcasted(input, shape);
  }
  preflight.Refuse("malformed_model", model::TensorText(input) + " does not broadcast to " +
                                          model::TensorText(preflight.view().output()));
  return std::nullopt;
}

std::optional<Rearrangement> Tile(Preflight& preflight) {
  const Tensor& input = *preflight.view().input(0);
  const Tensor& output = preflight.view().output();
  const size_t rank = input.shape.size();
  const std::vector<int64_t> in = DenseStrides(input.shape);
  const std::vector<int64_t> out = DenseStrides(output.shape);
  Rearrangement r;
  r.output = output.shape;
  // The multiples are the ratios of the shapes, whether or not the operand that says so is a
  // constant.
  for (size_t d = 0; d < rank && output.shape.size() == rank; ++d) {
    if (output.shape[d] % input.shape[d] != 0) break;
    r.move.size.insert(r.move.size.end(), {output.shape[d] / input.shape[d], input.shape[d]});
    r.move.input_stride.insert(r.move.input_stride.end(), {0, in[d]});
    r.move.output_stride.insert(r.move.output_stride.end(), {out[d] * input.shape[d], out[d]});
  }
  const Tensor& multiples = *preflight.view().input(1);
  bool agrees = r.move.size.size() == 2 * rank &&
                model::ElementCount(multiples) == static_cast<int64_t>(rank);
  if (agrees && multiples.is_constant) {
    const std::vector<int64_t> values = IntegerValues(multiples);
    for (size_t d = 0; d < rank; ++d) agrees = agrees && values[d] == r.move.size[2 * d];
  }
  if (!agrees) {
    preflight.Refuse("malformed_model", model::TensorText(input) + " is not repeated into " +
                                            model::TensorText(output));
    return std::nullopt;
  }
  return r;
}

// RearrangeBlocks of spatial dimensions: block sizes and the two edges (crops or paddings) of each.
struct RearrangeBlocks {
  std::vector<int64_t> block;
  std::vector<int64_t> before;
  std::vector<int64_t> after;
};

std::optional<RearrangeBlocks> ReadBlocks(Preflight& preflight, const char* edges_role) {
  const OperatorView& view = preflight.view();
  const auto block = ConstantIntegers(preflight, "block shape", view.input(1));
  const auto edges = ConstantIntegers(preflight, edges_role, view.input(2));
  if (!block || !edges) return std::nullopt;
  const size_t rank = view.input(0)->shape.size();
  bool good = edges->size() == 2 * block->size() && rank > block->size();
  RearrangeBlocks blocks;
  for (size_t i = 0; good && i < block->size(); ++i) {
    good = (*block)[i] >= 1 && (*block)[i] <= INT32_MAX && (*edges)[2 * i] >= 0 &&
           (*edges)[2 * i] <= INT32_MAX && (*edges)[2 * i + 1] >= 0 &&
           (*edges)[2 * i + 1] <= INT32_MAX;
    blocks.block.push_back((*block)[i]);
    blocks.before.push_back((*edges)[2 * i]);
    blocks.after.push_back((*edges)[2 * i + 1]);
  }
  if (!good) {
    preflight.Refuse("malformed_model", std::string("block sizes must be at least 1, and ") +
                                            edges_role + " pairs of numbers from 0, one per block");
    return std::nullopt;
  }
  return blocks;
}

// The positions of a block dimension that survive: for offset `o` within the block, grid positions
// [first, last).
struct GridRange {
  int64_t first;
  int64_t last;
};

GridRange Surviving(int64_t grid, int64_t block, int64_t offset, int64_t before, int64_t size) {
  // before <= g * block + offset < before + size
  const int64_t first = std::max<int64_t>(0, (before - offset + block - 1) / block);
  const int64_t limit = before + size - offset;
  const int64_t last = std::min(grid, limit <= 0 ? 0 : (limit + block - 1) / block);
  return {std::min(first, last), last};
}

// One move for every offset within the blocks: at most so many.
constexpr int64_t kMaxBlockMoves = 1024;

// Moves between a tensor of batches of blocks and a spatial tensor that holds positions [before,
// before + size) of it.
std::vector<Move> BlockMoves(const Tensor& batches, const Tensor& space,
                             const RearrangeBlocks& blocks, bool to_space) {
  const std::vector<int64_t> batch_strides = DenseStrides(batches.shape);
  const std::vector<int64_t> space_strides = DenseStrides(space.shape);
  const size_t m = blocks.block.size();
  const int64_t offsets =
      std::accumulate(blocks.block.begin(), blocks.block.end(), int64_t{1}, std::multiplies<>());
  std::vector<Move> moves;
  for (int64_t o = 0; o < offsets; ++o) {
    Move move;
    int64_t in_offset = o * space.shape[0] * batch_strides[0];
    int64_t out_offset = 0;
    std::vector<int64_t> from = {batch_strides[0]}, to = {space_strides[0]};
    move.size = {space.shape[0]};
    int64_t rest = o;
    std::vector<int64_t> offset(m);
    for (size_t i = m; i-- > 0;) {
      offset[i] = rest % blocks.block[i];
      rest /= blocks.block[i];
    }
    for (size_t i = 0; i < m; ++i) {
      const GridRange range = Surviving(batches.shape[i + 1], blocks.block[i], offset[i],
                                        blocks.before[i], space.shape[i + 1]);
      move.size.push_back(range.last - range.first);
      in_offset += range.first * batch_strides[i + 1];
      out_offset +=
          (range.first * blocks.block[i] + offset[i] - blocks.before[i]) * space_strides[i + 1];
      from.push_back(batch_strides[i + 1]);
      to.push_back(blocks.block[i] * space_strides[i + 1]);
    }
    move.size.push_back(Product(space.shape, m + 1, space.shape.size()));
    from.push_back(1);
    to.push_back(1);
    if (std::find(move.size.begin(), move.size.end(), 0) != move.size.end()) continue;
    move.input_stride = to_space ? from : to;
    move.output_stride = to_space ? to : from;
    move.input_offset = to_space ? in_offset : out_offset;
    move.output_offset = to_space ? out_offset : in_offset;
    moves.push_back(std::move(move));
  }
  return moves;
}

// `batches` holds prod(block) times the batches of `space`, whose dimensions are blocks of it less
// the edges.
bool CheckBlocks(Preflight& preflight, const Tensor& batches, const Tensor& space,
                 const RearrangeBlocks& blocks, bool padded) {
  int64_t offsets = 1;
  for (int64_t block : blocks.block) {
    offsets *= block;
    if (offsets > kMaxBlockMoves) {
      return preflight.Refuse(
          "unsupported_shape",
          "blocks of more than " + std::to_string(kMaxBlockMoves) + " positions");
    }
  }
  bool good =
      batches.shape.size() == space.shape.size() && batches.shape[0] == offsets * space.shape[0];
  for (size_t i = 0; good && i < blocks.block.size(); ++i) {
    const int64_t edges = blocks.before[i] + blocks.after[i];
    good = batches.shape[i + 1] * blocks.block[i] == space.shape[i + 1] + edges;
  }
  for (size_t d = blocks.block.size() + 1; good && d < space.shape.size(); ++d) {
    good = batches.shape[d] == space.shape[d];
  }
  if (good) return true;
  return preflight.Refuse("malformed_model", model::TensorText(padded ? space : batches) + " and " +
                                                 model::TensorText(padded ? batches : space) +
                                                 " do not agree with the blocks");
}

void CheckBatchToSpace(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  const std::optional<RearrangeBlocks> blocks = ReadBlocks(preflight, "crops");
  if (blocks) CheckBlocks(preflight, *view.input(0), view.output(), *blocks, false);
}

Lowering LowerBatchToSpace(const LowerContext& context) {
  const OperatorView& view = context.view;
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  std::vector<Call> calls;
  for (const Move& move :
       BlockMoves(*view.input(0), view.output(), *ReadBlocks(preflight, "crops"), true)) {
    calls.push_back(MoveCall(move, ElementBytes(view.output()),
                             Argument::Tensor(view.input_number(0)),
                             Argument::Tensor(view.output_number(0))));
  }
  return InOrder(std::move(calls));
}

void CheckSpaceToBatch(Preflight& preflight) {
  const OperatorView& view = preflight.view();
  if (!CheckArity(preflight, 3, 3, 1) ||
      !CheckType(preflight, "output", view.output(), {view.input(0)->type})) {
    return;
  }
  const std::optional<RearrangeBlocks> blocks = ReadBlocks(preflight, "paddings");
  if (blocks) CheckBlocks(preflight, view.output(), *view.input(0), *blocks, true);
}

Lowering LowerSpaceToBatch(const LowerContext& context) {
  const OperatorView& view = context.view;
  std::vector<Violation> none;
  Preflight preflight(view, &none);
  const Tensor& output = view.output();
  // Padding is the zero point, as the input's padding would be.
  const int64_t zero = IsQuantized(output) ? output.quantization.zero_point[0] : 0;
  std::vector<Call> calls = {FillCall(output, zero, Argument::Tensor(view.output_number(0)))};
  for (const Move& move :
       BlockMoves(output, *view.input(0), *ReadBlocks(preflight, "paddings"), false)) {
    calls.push_back(MoveCall(move, ElementBytes(output), Argument::Tensor(view.input_number(0)),
                             Argument::Tensor(view.output_number(0))));
  }
  return InOrder(std::move(calls));
}

}  // namespace

#define HELX_REARRANGEMENT(ENTRY, CODE, VERSION, LEAST, MOST, PLAN, SUPPORT) \
  const OperatorEntry ENTRY = {                                              \
      model::BuiltinOperator::CODE, VERSION, SUPPORT,                        \
      [](Preflight& preflight) { CheckPlan(preflight, PLAN, LEAST, MOST); }, \
      [](const LowerContext& context) { return LowerPlan(context, PLAN); }};

HELX_REARRANGEMENT(kTranspose, TRANSPOSE, 7, 2, 2, Transpose,
                   "any type of whole bytes, constant permutation")
HELX_REARRANGEMENT(kReverse, REVERSE_V2, 4, 2, 2, Reverse, "any type of whole bytes, constant axes")
HELX_REARRANGEMENT(kSpaceToDepth, SPACE_TO_DEPTH, 3, 1, 1, SpaceToDepth, "any type of whole bytes")
HELX_REARRANGEMENT(kDepthToSpace, DEPTH_TO_SPACE, 3, 1, 1, DepthToSpace, "any type of whole bytes")
HELX_REARRANGEMENT(kBroadcastTo, BROADCAST_TO, 4, 2, 2, BroadcastTo,
                   "any type of whole bytes, output shape known")
HELX_REARRANGEMENT(kTile, TILE, 4, 2, 2, Tile, "any type of whole bytes, output shape known")
#undef HELX_REARRANGEMENT

const OperatorEntry kBatchToSpace = {model::BuiltinOperator::BATCH_TO_SPACE_ND, 4,
                                     "any type of whole bytes, constant blocks and crops",
                                     CheckBatchToSpace, LowerBatchToSpace};
const OperatorEntry kSpaceToBatch = {model::BuiltinOperator::SPACE_TO_BATCH_ND, 4,
                                     "any type of whole bytes, constant blocks and paddings",
                                     CheckSpaceToBatch, LowerSpaceToBatch};

}  // namespace helx::engine
