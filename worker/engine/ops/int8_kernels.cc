#include "worker/engine/ops/int8_kernels.h"

#include <algorithm>

namespace helx::engine {

namespace {

// The output of a filter whose sum is always `sum`, less the output's zero point.
int32_t ConstantOutput(const Int8Filters& filters, int32_t sum, const FixedMultiplier& scale) {
  const int32_t left = WrapToInt32(int64_t{sum} * (int64_t{1} << std::max(scale.shift, 0)));
  const int32_t y = RoundShift(HighMul(left, scale.multiplier), std::max(-scale.shift, 0));
  const int64_t shifted = int64_t{y} + filters.output_zero_point;
  return static_cast<int32_t>(
      std::clamp<int64_t>(shifted, filters.range.lowest, filters.range.highest) -
      filters.output_zero_point);
}

// Filters without weights, which training leaves behind, have scales and biases of any size; kernels would refuse them. Their
// outputs are constant: c = 4 c / 2 / 2.
void TameConstantFilters(Int8Filters* filters) {
  for (int32_t filter = 0; filter < filters->count; ++filter) {
    const int8_t* w = filters->weights.data() + int64_t{filter} * filters->depth;
    if (std::any_of(w, w + filters->depth, [](int8_t weight) { return weight != 0; })) continue;
    filters->bias[filter] =
        4 * ConstantOutput(*filters, filters->bias[filter], filters->scales[filter]);
    filters->scales[filter] = {1 << 30, -1};
  }
}

}  // namespace

std::optional<Lowering> LowerForIsa(const Int8Convolution& c, const LowerContext& context) {
  Int8Convolution tame = c;
  TameConstantFilters(&tame.filters);
  if (context.board.isa == target::Isa::kMve) return LowerMveConvolution(tame, context);
  if (context.board.isa == target::Isa::kDsp) return LowerDspConvolution(tame, context);
  return std::nullopt;
}

std::optional<Lowering> LowerForIsa(const Int8FullyConnected& f, const LowerContext& context) {
  Int8FullyConnected tame = f;
  TameConstantFilters(&tame.filters);
  if (context.board.isa == target::Isa::kMve) return LowerMveFullyConnected(tame, context);
  if (context.board.isa == target::Isa::kDsp) return LowerDspFullyConnected(tame, context);
  return std::nullopt;
}

Int8Convolution AsConvolution(const Int8Convolution& c) {
  Int8Convolution conv = c;
  conv.depthwise = false;
  return conv;
}

bool IsFullyConnected(const Int8Convolution& c) {
  return c.rows.output == 1 && c.columns.output == 1 && c.groups == 1 && c.rows.padding == 0 &&
         c.columns.padding == 0 && c.columns.dilation == 1 && c.rows.dilation == 1 &&
         (c.rows.taps == 1 || c.columns.taps == c.columns.input) &&
         (c.batches == 1 || (c.rows.taps == c.rows.input && c.columns.taps == c.columns.input));
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

std::vector<Alias> RowsAliases(const Int8Convolution& c, const LowerContext& context) {
  if (!RowsAllowInPlace(c)) return {};
  return {{Alias::Kind::kInPlace, context.view.output_number(0), context.view.input_number(0)}};
}

std::vector<std::string> GatherFields(const Int8Convolution& c, const RowsShape& rows) {
  const bool joined = c.columns.dilation == 1;
  return {
      Field("batches", c.batches),
      Field("in_bytes", int64_t{c.rows.input} * rows.row_stride),
      Field("out_h", c.rows.output),
      Field("out_w", c.columns.output),
      Field("out_c", c.filters.count),
      Field("stride_h", c.rows.stride),
      Field("column_bytes", c.columns.stride * c.in_c),
      Field("runs", joined ? 1 : c.columns.taps),
      Field("run_bytes", (joined ? c.columns.taps : 1) * c.in_c),
      Field("run_step", c.columns.dilation * c.in_c),
      Field("filter_h", c.rows.taps),
      Field("dilation_h", c.rows.dilation),
      Field("pad_h", c.rows.padding),
  };
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
