// Packing and parameters for worker/kernels/dsp_*.
#include <algorithm>
#include <cstdlib>

#include "worker/engine/ops/int8_kernels.h"

namespace helx::engine {
namespace {

constexpr int32_t kDspSlack = 16;                // HELX_ROWS_SLACK
constexpr int32_t kDspMaxConvFilterRows = 64;    // HELX_DSP_CONV_MAX_FILTER_H
constexpr int32_t kMaxDepthwiseFilterRows = 32;  // HELX_DSP_DEPTHWISE_MAX_FILTER_H

// The largest magnitude that a sum with its bias can have.
int64_t Bound(const Int8Filters& filters, int32_t filter) {
  int64_t sum = 0;
  for (int32_t k = 0; k < filters.depth; ++k) {
    sum += std::abs(int32_t{filters.weights[int64_t{filter} * filters.depth + k]});
  }
  return std::abs(int64_t{filters.bias[filter]}) + 128 * sum;
}

int32_t RightShift(const FixedMultiplier& scale) {
  return scale.multiplier == 0 ? 1 : -scale.shift;  // 0 / 2^n is 0 for every n
}

enum class DspForm { kRelu, kSigned };

// The form that gives these filters' results exactly, if there is one. The kernels add the output's
// zero point before the last shift, which must not overflow, and double the sums.
std::optional<DspForm> DspFormOf(const Int8Filters& filters) {
  const bool relu = filters.range.lowest >= filters.output_zero_point;
  for (int32_t filter = 0; filter < filters.count; ++filter) {
    const int32_t shift = RightShift(filters.scales[filter]);
    if (shift < (relu ? 0 : 1) || shift > 21 || Bound(filters, filter) >= 1 << 30) {
      return std::nullopt;
    }
    // The first rounding leaves at most the bound; with the zero point it must stay within 32 bits.
  }
  return relu ? DspForm::kRelu : DspForm::kSigned;
}

void PackScale(const Int8Filters& filters, int32_t filter, PackedStream* stream) {
  const bool exists = filter < filters.count;
  const int32_t shift = exists ? RightShift(filters.scales[filter]) : 1;
  stream->Word(exists ? filters.scales[filter].multiplier : 0);
  stream->Word(shift);
  stream->Word(filters.output_zero_point * (1 << shift) + ((1 << shift) >> 1));
}

int32_t Weight(const Int8Filters& filters, int32_t filter, int32_t k) {
  if (filter >= filters.count || k >= filters.depth) return 0;
  return filters.weights[int64_t{filter} * filters.depth + k];
}

int32_t Bias(const Int8Filters& filters, int32_t filter) {
  return filter < filters.count ? filters.bias[filter] : 0;
}

// Whether the odd filters can be the upper halves of mixed weights; dsp_gemm_s8.h.
bool CanMix(const Int8Filters& filters) {
  for (int32_t filter = 1; filter < filters.count; filter += 2) {
    if (Bound(filters, filter) >= 1 << 23) return false;
    for (int32_t k = 0; k < filters.depth; ++k) {
      if (Weight(filters, filter, k) == -128 && Weight(filters, filter - 1, k) < 0) return false;
    }
  }
  return true;
}

// dsp_gemm_s8.h.
std::vector<uint8_t> PackDspGemm(const Int8Filters& filters) {
  PackedStream stream;
  for (int32_t c = 0; c < filters.count; c += 4) {
    for (int32_t pair : {c, c + 2}) {
      stream.Word(WrapToInt32(int64_t{256} * Bias(filters, pair + 1) + Bias(filters, pair)));
      stream.Word(Bias(filters, pair));
    }
    for (int32_t k = 0; k < filters.depth; k += 4) {
      for (int32_t first : {k, k + 1}) {
        for (int32_t pair : {c, c + 2}) {
          for (int32_t at : {first, first + 2}) {
            stream.Half(256 * Weight(filters, pair + 1, at) + Weight(filters, pair, at));
          }
        }
      }
    }
    for (int32_t i = 0; i < 4; ++i) PackScale(filters, c + i, &stream);
  }
  return stream.bytes();
}

bool NeedsClamp(const IntegerRange& range) { return range.lowest != -128 || range.highest != 127; }

std::string DspSuffix(DspForm form) { return form == DspForm::kRelu ? "relu_s8" : "signed_s8"; }

std::optional<Lowering> LowerDspGemm(const Int8Convolution& c, const LowerContext& context) {
  const Int8Filters& filters = c.filters;
  const std::optional<DspForm> form = DspFormOf(filters);
  if (!form || c.groups != 1 || c.rows.taps > kDspMaxConvFilterRows || !CanMix(filters)) {
    return std::nullopt;
  }
  const bool pointwise = c.rows.taps == 1 && c.columns.taps == 1 && c.rows.stride == 1 &&
                         c.columns.stride == 1 && filters.count % 4 == 0;
  const RowsShape rows = MakeRowsShape(c);
  const int32_t run_bytes = (c.columns.dilation == 1 ? c.columns.taps : 1) * c.in_c;
  const int32_t depth = RoundUp(filters.depth, 4);
  Lowering lowering;
  lowering.function = pointwise ? "helx_dsp_pointwise_s8" : "helx_dsp_conv_s8";
  lowering.params_type = "helx_dsp_conv_s8_params";
  lowering.params = GatherFields(c, rows);
  lowering.params.insert(
      lowering.params.end(),
      {
          Field("depth", depth),
          Field("clamp", NeedsClamp(filters.range) ? 1 : 0),
          Field("lowest", filters.range.lowest),
          Field("highest", filters.range.highest),
          RowsField(rows),
          Field("gemm", "helx_dsp_gemm_" + DspSuffix(*form)),
          Field("filters", context.ConstantBytes("int8_t", PackDspGemm(filters))),
      });
  lowering.scratch_bytes = int64_t{4} * depth;
  if (!pointwise) {
    lowering.scratch_bytes += RoundUp(rows.count * rows.padded_bytes + kDspSlack, 4) +
                              (run_bytes % 4 == 0 ? 0 : depth + 4) +
                              (filters.count % 4 == 0 ? 0 : 2 * RoundUp(filters.count, 4));
    lowering.aliases = RowsAliases(c, context);
  }
  return lowering;
}

// dsp_depthwise_s8.h.
std::vector<uint8_t> PackDspDepthwise(const Int8Filters& filters) {
  PackedStream stream;
  for (int32_t c = 0; c < filters.count; c += 4) {
    for (int32_t i : {0, 2, 1, 3}) stream.Word(Bias(filters, c + i));
    for (int32_t tap = 0; tap < filters.depth; ++tap) {
      for (int32_t i : {0, 2, 1, 3}) stream.Half(Weight(filters, c + i, tap));
    }
    for (int32_t i = 0; i < 4; ++i) PackScale(filters, c + i, &stream);
  }
  return stream.bytes();
}

std::optional<Lowering> LowerDspDepthwise(const Int8Convolution& c, const LowerContext& context) {
  const Int8Filters& filters = c.filters;
  const std::optional<DspForm> form = DspFormOf(filters);
  if (!form || filters.count != c.in_c || filters.count % 4 != 0 ||
      c.rows.taps > kMaxDepthwiseFilterRows) {
    return std::nullopt;
  }
  const bool three_by_three = c.rows.taps == 3 && c.columns.taps == 3;
  const RowsShape rows = MakeRowsShape(c);
  const std::vector<uint8_t> stream = PackDspDepthwise(filters);
  Lowering lowering;
  lowering.function = three_by_three ? "helx_dsp_depthwise_3x3_s8" : "helx_dsp_depthwise_s8";
  lowering.params_type = "helx_dsp_depthwise_s8_params";
  lowering.params = {
      Field("batches", c.batches),
      Field("in_bytes", int64_t{c.rows.input} * rows.row_stride),
      Field("out_h", c.rows.output),
      Field("out_w", c.columns.output),
      Field("channels", filters.count),
      Field("stride_h", c.rows.stride),
      Field("stride_w", c.columns.stride),
      Field("filter_h", c.rows.taps),
      Field("filter_w", c.columns.taps),
      Field("dilation_h", c.rows.dilation),
      Field("tap_bytes", c.columns.dilation * c.in_c),
      Field("pad_h", c.rows.padding),
      Field("relu", *form == DspForm::kRelu ? 1 : 0),
      Field("clamp", NeedsClamp(filters.range) ? 1 : 0),
      Field("lowest", filters.range.lowest),
      Field("highest", filters.range.highest),
      RowsField(rows),
  };
  if (three_by_three) {
    lowering.params.push_back(Field("row", "helx_dsp_depthwise_3x3_" + DspSuffix(*form)));
  }
  lowering.params.push_back(Field("filters", context.ConstantBytes("int8_t", stream)));
  lowering.params.push_back(Field("filters_bytes", static_cast<int64_t>(stream.size())));
  lowering.scratch_bytes = rows.count * rows.padded_bytes + kDspSlack;
  lowering.aliases = RowsAliases(c, context);
  return lowering;
}

}  // namespace

std::optional<Lowering> LowerDspFullyConnected(const Int8FullyConnected& f,
                                               const LowerContext& context) {
  const Int8Filters& filters = f.filters;
  const std::optional<DspForm> form = DspFormOf(filters);
  if (!form || !CanMix(filters)) return std::nullopt;
  const int32_t depth = RoundUp(filters.depth, 4);
  Lowering lowering;
  lowering.function = "helx_dsp_fully_connected_s8";
  lowering.params_type = "helx_dsp_fully_connected_s8_params";
  lowering.params = {
      Field("rows", f.rows),
      Field("in_depth", filters.depth),
      Field("out_depth", filters.count),
      Field("depth", depth),
      Field("clamp", NeedsClamp(filters.range) ? 1 : 0),
      Field("lowest", filters.range.lowest),
      Field("highest", filters.range.highest),
      Field("gemv", "helx_dsp_gemv_" + DspSuffix(*form)),
      Field("filters", context.ConstantBytes("int8_t", PackDspGemm(filters))),
  };
  lowering.scratch_bytes = 2 * depth + (filters.count % 4 == 0 ? 0 : RoundUp(filters.count, 4));
  return lowering;
}

std::optional<Lowering> LowerDspConvolution(const Int8Convolution& c, const LowerContext& context) {
  if (!c.depthwise) {
    return IsFullyConnected(c) ? LowerDspFullyConnected({c.batches, c.filters}, context)
                               : LowerDspGemm(c, context);
  }
  return c.in_c == 1 ? LowerDspGemm(AsConvolution(c), context) : LowerDspDepthwise(c, context);
}

}  // namespace helx::engine
