// Packing and parameters for worker/kernels/mve_*.
#include <algorithm>
#include <numeric>

#include "worker/engine/ops/int8_kernels.h"

namespace helx::engine {
namespace {

constexpr int32_t kLanes = 16;
constexpr int32_t kMveSlack = 16;              // HELX_ROWS_SLACK
constexpr int32_t kMveMaxConvFilterRows = 64;  // HELX_MVE_CONV_MAX_FILTER_H
constexpr int32_t kMaxFilterRows = 32;         // MAX_FILTER_H of mve_depthwise_s8.c

// Which requantisation the kernels can do with.
enum class MveForm { kRelu, kSigned, kGeneral };

// 0 * x / 2^n is 0 for every n: a zero multiplier need not ask for the general form.
int32_t EffectiveShift(const FixedMultiplier& scale) {
  return scale.multiplier == 0 ? -1 : scale.shift;
}

MveForm MveFormOf(const Int8Filters& filters) {
  int32_t largest = -31;
  for (const FixedMultiplier& scale : filters.scales) {
    largest = std::max(largest, EffectiveShift(scale));
  }
  if (filters.range.lowest >= filters.output_zero_point && largest <= 0) return MveForm::kRelu;
  return largest < 0 ? MveForm::kSigned : MveForm::kGeneral;
}

std::string MveSuffix(MveForm form) {
  return form == MveForm::kRelu ? "relu_s8" : form == MveForm::kSigned ? "signed_s8" : "general_s8";
}

// The parts of one filter's scale, for filters that exist; zeros, which give 0, for those that fill
// up a group.
struct ScaleParts {
  int32_t bias = 0, multiplier = 0, shift = -1;
  int32_t left() const { return std::max(shift, 0); }
  int32_t right() const { return std::min(shift, 0); }
  int32_t sign() const { return right() < 0 ? -31 : 32; }
};

ScaleParts PartsOf(const Int8Filters& filters, int32_t filter) {
  if (filter >= filters.count) return {};
  const FixedMultiplier& scale = filters.scales[filter];
  return {filters.bias[filter], scale.multiplier, EffectiveShift(scale)};
}

void PackLanes(const Int8Filters& filters, int32_t filter, int32_t first, PackedStream* stream) {
  for (int32_t k = first; k < first + kLanes; ++k) {
    const bool exists = filter < filters.count && k < filters.depth;
    stream->Byte(exists ? filters.weights[int64_t{filter} * filters.depth + k] : 0);
  }
}

// mve_gemm_s8.h.
std::vector<uint8_t> PackMveGemm(const Int8Filters& filters, MveForm form) {
  PackedStream stream;
  for (int32_t quad = 0; quad < filters.count; quad += 4) {
    for (int32_t first = quad; first < quad + 2; ++first) {
      for (int32_t k = 0; k < filters.depth; k += kLanes) {
        PackLanes(filters, first, k, &stream);
        PackLanes(filters, first + 2, k, &stream);
      }
      for (int32_t filter : {first, first + 2}) {
        const ScaleParts parts = PartsOf(filters, filter);
        stream.Word(parts.bias);
        if (form == MveForm::kGeneral) stream.Word(parts.left());
        stream.Word(parts.multiplier);
        stream.Word(parts.right());
        if (form == MveForm::kGeneral) stream.Word(parts.sign());
      }
      stream.Word(filters.output_zero_point);
      stream.Word(0);
    }
  }
  return stream.bytes();
}

std::optional<Lowering> LowerMveGemm(const Int8Convolution& c, const LowerContext& context) {
  if (c.groups != 1 || c.rows.taps > kMveMaxConvFilterRows) return std::nullopt;
  const Int8Filters& filters = c.filters;
  const MveForm form = MveFormOf(filters);
  const bool pointwise = c.rows.taps == 1 && c.columns.taps == 1 && c.rows.stride == 1 &&
                         c.columns.stride == 1 && filters.count % 4 == 0;
  const RowsShape rows = MakeRowsShape(c);
  const int32_t blocks = RoundUp(filters.depth, kLanes) / kLanes;
  Lowering lowering;
  lowering.function = pointwise ? "helx_mve_pointwise_s8" : "helx_mve_conv_s8";
  lowering.params_type = "helx_mve_conv_s8_params";
  lowering.params = GatherFields(c, rows);
  lowering.params.insert(
      lowering.params.end(),
      {
          Field("depth_blocks", blocks),
          Field("lowest", filters.range.lowest),
          Field("highest", filters.range.highest),
          RowsField(rows),
          Field("gemm", "helx_mve_gemm_" + MveSuffix(form)),
          Field("filters", context.ConstantBytes("int8_t", PackMveGemm(filters, form))),
      });
  if (!pointwise) {
    lowering.scratch_bytes = RoundUp(rows.count * rows.padded_bytes + kMveSlack, 16) +
                             int64_t{4} * blocks * kLanes + kMveSlack +
                             (filters.count % 4 == 0 ? 0 : 4 * RoundUp(filters.count, 4));
    lowering.aliases = RowsAliases(c, context);
  }
  return lowering;
}

// A sum of two products stays within 16 bits unless both weights are -128.
bool PairsFit(const Int8Convolution& c, bool by_row) {
  const Int8Filters& filters = c.filters;
  const int32_t run = by_row ? c.columns.taps : filters.depth;
  for (int32_t filter = 0; filter < filters.count; ++filter) {
    const int8_t* w = &filters.weights[int64_t{filter} * filters.depth];
    for (int32_t first = 0; first < filters.depth; first += run) {
      for (int32_t k = first; k + 1 < first + run; k += 2) {
        if (w[k] == -128 && w[k + 1] == -128) return false;
      }
    }
  }
  return true;
}

// How output bytes are cut into blocks; mve_depthwise_s8.h.
struct MveBlocks {
  int32_t count = 0;
  int32_t repeats = 0;
  int32_t input_skip = 0;
  int32_t output_skip = 0;
  int32_t written = 0;  // bytes of a row
};

MveBlocks CutRow(const Int8Convolution& c) {
  const int32_t channels = c.filters.count;
  const int32_t row_bytes = c.columns.output * channels;
  MveBlocks blocks;
  const int32_t period = std::lcm(channels, kLanes);
  if (c.columns.stride == 1 && period <= 4 * channels) {
    blocks.count = period / kLanes;
    blocks.repeats = (row_bytes + period - 1) / period;
    blocks.written = blocks.repeats * period;
    return blocks;
  }
  const int32_t width = RoundUp(channels, kLanes);
  blocks.count = width / kLanes;
  blocks.repeats = c.columns.output;
  blocks.input_skip = c.columns.stride * channels - width;
  blocks.output_skip = channels - width;
  blocks.written = row_bytes - channels + width;
  return blocks;
}

std::vector<uint8_t> PackMveDepthwise(const Int8Filters& filters, const MveBlocks& blocks,
                                      MveForm form) {
  static constexpr int32_t kFirstLane[4] = {0, 2, 1, 3};
  PackedStream stream;
  // With skips, blocks belong to one output position and the last may overhang its channels.
  const bool by_position = blocks.output_skip != 0 || blocks.input_skip != 0;
  auto channel_of = [&](int32_t byte) {
    return by_position || byte < filters.count ? byte : byte % filters.count;
  };
  for (int32_t b = 0; b < blocks.count; ++b) {
    auto for_vectors = [&](auto&& value) {
      for (int32_t v = 0; v < 4; ++v) {
        value([&](auto&& word) {
          for (int32_t i = 0; i < 4; ++i) {
            stream.Word(word(PartsOf(filters, channel_of(b * kLanes + kFirstLane[v] + 4 * i))));
          }
        });
      }
    };
    for_vectors([](auto&& emit) { emit([](const ScaleParts& p) { return p.bias; }); });
    for (int32_t tap = 0; tap < filters.depth; ++tap) {
      for (int32_t lane = 0; lane < kLanes; ++lane) {
        const int32_t channel = channel_of(b * kLanes + lane);
        stream.Byte(
            channel < filters.count ? filters.weights[int64_t{channel} * filters.depth + tap] : 0);
      }
    }
    for_vectors([form](auto&& emit) {
      if (form == MveForm::kGeneral) emit([](const ScaleParts& p) { return p.left(); });
      emit([](const ScaleParts& p) { return p.multiplier; });
      emit([](const ScaleParts& p) { return p.right(); });
      if (form == MveForm::kGeneral) emit([](const ScaleParts& p) { return p.sign(); });
    });
    if (form != MveForm::kRelu) {
      for (int32_t lane = 0; lane < kLanes; ++lane) stream.Byte(filters.range.lowest);
      for (int32_t lane = 0; lane < kLanes; ++lane) stream.Byte(filters.range.highest);
    }
  }
  return stream.bytes();
}

std::optional<Lowering> LowerMveDepthwise(const Int8Convolution& c, const LowerContext& context) {
  const Int8Filters& filters = c.filters;
  if (filters.count != c.in_c) return std::nullopt;
  const bool three_by_three = c.rows.taps == 3 && c.columns.taps == 3;
  if (c.rows.taps > kMaxFilterRows || !PairsFit(c, !three_by_three)) return std::nullopt;
  MveForm form = three_by_three ? MveFormOf(filters) : MveForm::kGeneral;
  if (form == MveForm::kRelu && (filters.range.lowest != -128 || filters.range.highest != 127)) {
    form = MveForm::kGeneral;
  }
  const MveBlocks blocks = CutRow(c);
  const RowsShape rows = MakeRowsShape(c);
  const int32_t row_bytes = c.columns.output * filters.count;
  const int32_t overhang = blocks.written - row_bytes;
  const int32_t ring_bytes = RoundUp(rows.count * rows.padded_bytes + overhang + kMveSlack, 16);
  Lowering lowering;
  lowering.function = three_by_three ? "helx_mve_depthwise_3x3_s8" : "helx_mve_depthwise_s8";
  lowering.params_type = "helx_mve_depthwise_s8_params";
  lowering.params = {
      Field("batches", c.batches),
      Field("in_bytes", int64_t{c.rows.input} * rows.row_stride),
      Field("out_h", c.rows.output),
      Field("out_row_bytes", row_bytes),
      Field("stride_h", c.rows.stride),
      Field("filter_h", c.rows.taps),
      Field("filter_w", c.columns.taps),
      Field("dilation_h", c.rows.dilation),
      Field("tap_bytes", c.columns.dilation * c.in_c),
      Field("pad_h", c.rows.padding),
      Field("spill", overhang > 0 ? 1 : 0),
      Field("output_zero_point", filters.output_zero_point),
      Field("block_count", blocks.count),
      Field("repeats", blocks.repeats),
      Field("input_skip", blocks.input_skip),
      Field("output_skip", blocks.output_skip),
      RowsField(rows),
      Field("ring_bytes", ring_bytes),
  };
  if (three_by_three) {
    lowering.params.push_back(Field("row", "helx_mve_depthwise_3x3_" + MveSuffix(form)));
  }
  lowering.params.push_back(
      Field("blocks", context.ConstantBytes("int8_t", PackMveDepthwise(filters, blocks, form))));
  lowering.scratch_bytes = ring_bytes + (overhang > 0 ? RoundUp(blocks.written, 16) : 0);
  lowering.aliases = RowsAliases(c, context);
  return lowering;
}

// mve_fully_connected_s8.h.
std::vector<uint8_t> PackFullyConnected(const Int8Filters& filters) {
  PackedStream stream;
  for (int32_t first = 0; first < filters.count; first += 8) {
    for (int32_t k = 0; k < filters.depth; k += kLanes) {
      for (int32_t i = 0; i < 8; ++i) PackLanes(filters, first + i, k, &stream);
    }
    auto emit = [&](int32_t half, auto&& word) {
      for (int32_t i = half; i < 8; i += 2) stream.Word(word(PartsOf(filters, first + i)));
    };
    for (int32_t half : {0, 1}) emit(half, [](const ScaleParts& p) { return p.bias; });
    for (int32_t half : {0, 1}) {
      emit(half, [](const ScaleParts& p) { return p.left(); });
      emit(half, [](const ScaleParts& p) { return p.multiplier; });
      emit(half, [](const ScaleParts& p) { return p.right(); });
      emit(half, [](const ScaleParts& p) { return p.sign(); });
    }
  }
  return stream.bytes();
}

}  // namespace

std::optional<Lowering> LowerMveFullyConnected(const Int8FullyConnected& f,
                                               const LowerContext& context) {
  Lowering lowering;
  lowering.function = "helx_mve_fully_connected_s8";
  lowering.params_type = "helx_mve_fully_connected_s8_params";
  lowering.params = {
      Field("rows", f.rows),
      Field("in_depth", f.filters.depth),
      Field("out_depth", f.filters.count),
      Field("depth_blocks", RoundUp(f.filters.depth, kLanes) / kLanes),
      Field("output_zero_point", f.filters.output_zero_point),
      Field("lowest", f.filters.range.lowest),
      Field("highest", f.filters.range.highest),
      Field("filters", context.ConstantBytes("int8_t", PackFullyConnected(f.filters))),
  };
  return lowering;
}

std::optional<Lowering> LowerMveConvolution(const Int8Convolution& c, const LowerContext& context) {
  if (c.depthwise) {
    return c.in_c == 1 ? LowerMveGemm(AsConvolution(c), context) : LowerMveDepthwise(c, context);
  }
  if (IsFullyConnected(c)) return LowerMveFullyConnected({c.batches, c.filters}, context);
  return LowerMveGemm(c, context);
}

}  // namespace helx::engine
