#include "worker/engine/ops/int8_kernels.h"

#include <algorithm>

namespace helx::engine {

std::optional<Lowering> LowerForIsa(const Int8Convolution& c, const LowerContext& context) {
  if (context.board.isa == target::Isa::kMve) return LowerMveConvolution(c, context);
  return std::nullopt;
}

std::optional<Lowering> LowerForIsa(const Int8FullyConnected& f, const LowerContext& context) {
  if (context.board.isa == target::Isa::kMve) return LowerMveFullyConnected(f, context);
  return std::nullopt;
}

RowsShape MakeRowsShape(const Int8Convolution& c) {
  const Window& w = c.columns;
  const int32_t needed = (w.output - 1) * w.stride + (w.taps - 1) * w.dilation + 1;
  const int32_t in_use = std::clamp(needed - w.padding, 0, w.input);
  return {.in_h = c.rows.input,
          .row_bytes = in_use * c.in_c,
          .row_stride = w.input * c.in_c,
          .left_bytes = w.padding * c.in_c,
          .padded_bytes = needed * c.in_c,
          .count = (c.rows.taps - 1) * c.rows.dilation + 1,
          .zero_point = c.input_zero_point};
}

std::string RowsField(const RowsShape& shape) {
  std::string text = "{";
  text += Field("in_h", shape.in_h) + ", " + Field("row_bytes", shape.row_bytes) + ", ";
  text += Field("row_stride", shape.row_stride) + ", " + Field("left_bytes", shape.left_bytes) + ", ";
  text += Field("padded_bytes", shape.padded_bytes) + ", " + Field("count", shape.count) + ", ";
  text += Field("zero_point", shape.zero_point) + "}";
  return Field("rows", text);
}

bool RowsAllowInPlace(const Int8Convolution& c) {
  if (c.batches != 1) return false;
  const RowsShape shape = MakeRowsShape(c);
  const int64_t out_row = int64_t{c.columns.output} * c.filters.count;
  for (int32_t y = 0; y < c.rows.output; ++y) {
    const int64_t next = int64_t{y} * c.rows.stride - c.rows.padding + shape.count;
    if (next < c.rows.input && (y + 1) * out_row > std::max<int64_t>(next, 0) * shape.row_stride) {
      return false;
    }
  }
  return true;
}

void PackedStream::Half(int32_t value) {
  Byte(value & 0xff);
  Byte((value >> 8) & 0xff);
}

void PackedStream::Word(int32_t value) {
  Half(value & 0xffff);
  Half((value >> 16) & 0xffff);
}

}  // namespace helx::engine
