#include "worker/engine/ops/move.h"

#include <cstring>
#include <iterator>

#include "worker/engine/ops/common.h"

namespace helx::engine {
namespace {

constexpr size_t kMoveMaxRank = 8;

}  // namespace

Move Merged(const Move& move) {
  Move merged;
  merged.input_offset = move.input_offset;
  merged.output_offset = move.output_offset;
  for (size_t d = 0; d < move.size.size(); ++d) {
    if (move.size[d] == 1) continue;
    if (!merged.size.empty() && merged.input_stride.back() == move.input_stride[d] * move.size[d] &&
        merged.output_stride.back() == move.output_stride[d] * move.size[d]) {
      merged.size.back() *= move.size[d];
      merged.input_stride.back() = move.input_stride[d];
      merged.output_stride.back() = move.output_stride[d];
      continue;
    }
    merged.size.push_back(move.size[d]);
    merged.input_stride.push_back(move.input_stride[d]);
    merged.output_stride.push_back(move.output_stride[d]);
  }
  return merged;
}

bool CheckMove(Preflight& preflight, const Move& move) {
  const size_t rank = Merged(move).size.size();
  if (rank <= kMoveMaxRank) return true;
  return preflight.Refuse("unsupported_shape", std::to_string(rank) +
                                                   " dimensions that cannot be merged; at most " +
                                                   std::to_string(kMoveMaxRank) + " are allowed");
}

Call MoveCall(const Move& move, int64_t element_bytes, Argument input, Argument output) {
  Move merged = Merged(move);
  int64_t run = element_bytes;
  if (!merged.size.empty() && merged.input_stride.back() == 1 && merged.output_stride.back() == 1) {
    run *= merged.size.back();
    merged.size.pop_back();
    merged.input_stride.pop_back();
    merged.output_stride.pop_back();
  }
  for (int64_t& stride : merged.input_stride) stride *= element_bytes;
  for (int64_t& stride : merged.output_stride) stride *= element_bytes;
  Call call;
  call.function = "helx_move";
  call.params_type = "helx_move_params";
  call.params = {
      Field("rank", static_cast<int64_t>(merged.size.size())),
      Field("run", run),
      Field("input_offset", merged.input_offset * element_bytes),
      Field("output_offset", merged.output_offset * element_bytes),
      ArrayField("size", merged.size),
      ArrayField("input_stride", merged.input_stride),
      ArrayField("output_stride", merged.output_stride),
  };
  call.arguments = {input, output};
  return call;
}

Call FillCall(const model::Tensor& tensor, int64_t value, Argument output) {
  const int64_t bytes = ElementBytes(tensor);
  uint64_t pattern = static_cast<uint64_t>(value);
  if (tensor.type == TensorType::FLOAT32) {
    const float real = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &real, sizeof bits);
    pattern = bits;
  }
  if (bytes < 8) pattern &= (uint64_t{1} << (8 * bytes)) - 1;
  Call call;
  call.function = "helx_fill";
  call.params_type = "helx_fill_params";
  call.params = {
      Field("count", model::ElementCount(tensor)),
      Field("bytes", bytes),
      Field("value", std::to_string(pattern) + "u" + (bytes == 8 ? "ll" : "")),
  };
  call.arguments = {output};
  return call;
}

Lowering InOrder(std::vector<Call> calls) {
  Lowering lowering;
  if (calls.empty()) return lowering;
  static_cast<Call&>(lowering) = std::move(calls.front());
  lowering.then.assign(std::make_move_iterator(calls.begin() + 1),
                       std::make_move_iterator(calls.end()));
  return lowering;
}

}  // namespace helx::engine
