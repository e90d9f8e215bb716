#include <algorithm>
#include <vector>

#include "core/ops/convolution.h"
#include "core/ops/simd.h"

namespace helx::ops {
namespace {

// The inputs of one group as planes of 16-bit pairs: channels 2k and 2k + 1, or, for a group of one
// channel, an element and the one dw to its right.
class PairPlanes {
 public:
  PairPlanes(const Convolution& conv, const PlaneLayout& layout)
      : conv_(conv),
        layout_(layout),
        by_channel_(conv.group_in() > 1),
        panels_(layout.phases() == 1 && layout.rows.size == 1 && layout.columns.offset.back() == 0),
        channels_((conv.group_in() + 1) / 2),
        pairs_(channels_ * layout.phases() * layout.size + kPairBlock) {
    // With what the last pair of a group of one channel reads beyond its planes.
    const int64_t row = layout.padded_columns(conv.p.sw) + conv.p.dw;
    first_.resize(row);
    second_.resize(row);
    for (int64_t k = 0; k < channels_; ++k) {
      for (int64_t ky = 0; ky < conv.p.kh; ++ky) {
        for (int64_t kx = 0; kx < conv.p.kw; kx += column_step()) {
          offsets_.push_back(panels_ ? k * kPairBlock : layout.Offset(k, ky, kx));
        }
      }
    }
  }

  // From the group's first element.
  template <typename X>
  void Fill(const X* x) {
    const int64_t plane = conv_.in.h * conv_.in.w;
    for (int64_t k = 0; k < channels_; ++k) {
      const bool two = by_channel_ && 2 * k + 1 < conv_.group_in();
      if (by_channel_ && !two) std::fill(second_.begin(), second_.end(), int16_t{0});
      for (size_t phase = 0; phase < layout_.rows.remainders.size(); ++phase) {
        for (int64_t row = 0; row < layout_.rows.size; ++row) {
          const int64_t iy = row * conv_.p.sh + layout_.rows.remainders[phase] - conv_.p.pt;
          if (iy < 0 || iy >= conv_.in.h) continue;
          PadRow(x + 2 * k * plane + iy * conv_.in.w, &first_);
          if (two) PadRow(x + (2 * k + 1) * plane + iy * conv_.in.w, &second_);
          PackRow(k, static_cast<int64_t>(phase), row);
        }
      }
    }
  }

  // Writes the weights of output channels o .. o + rows - 1, taps().count * rows words, tap by tap;
  // gives their end.
  uint32_t* PackWeights(int64_t o, int64_t rows, uint32_t* to) const {
    const int64_t window = conv_.p.kh * conv_.p.kw;
    // From a pair's first weight to its second.
    const int64_t second = by_channel_ ? window : 1;
    for (int64_t k = 0; k < channels_; ++k) {
      for (int64_t tap = 0; tap < window; ++tap) {
        const int64_t kx = tap % conv_.p.kw;
        if (kx % column_step() != 0) continue;
        const bool two = by_channel_ ? 2 * k + 1 < conv_.group_in() : kx + 1 < conv_.p.kw;
        const int32_t* w = conv_.p.w.data() + o * conv_.taps() + 2 * k * window + tap;
        for (int64_t r = 0; r < rows; ++r, w += conv_.taps()) {
          *to++ = PackPair(w[0], two ? w[second] : 0);
        }
      }
    }
    return to;
  }

  PairTaps taps() const { return {offsets_.data(), static_cast<int64_t>(offsets_.size())}; }
  const uint32_t* data() const { return pairs_.data(); }
  // Between blocks of output positions.
  int64_t step() const { return panels_ ? channels_ * kPairBlock : kPairBlock; }
  // Blocks whose inputs stay in the nearest cache while every output channel passes over them.
  int64_t tile() const {
    constexpr int64_t kPairsInCache = 4096;
    constexpr int64_t kMost = 128;
    const int64_t blocks = kPairsInCache / (channels_ * layout_.phases() * kPairBlock);
    return std::clamp<int64_t>(blocks, 1, kMost);
  }

 private:
  // Columns of taps that one pair serves.
  int64_t column_step() const { return by_channel_ ? 1 : 2; }

  template <typename X>
  void PadRow(const X* from, std::vector<int16_t>* to) const {
    const int64_t room = static_cast<int64_t>(to->size()) - conv_.p.pl;
    if (room > 0) ConvertTo16(from, std::min(conv_.in.w, room), to->data() + conv_.p.pl);
  }

  void PackRow(int64_t k, int64_t row_phase, int64_t row) {
    const int16_t* second = by_channel_ ? second_.data() : first_.data() + conv_.p.dw;
    if (panels_) {
      for (int64_t at = 0; at < layout_.pitch; at += kPairBlock) {
        const int64_t from = at * conv_.p.sw;
        PackPairs(first_.data() + from, second + from, conv_.p.sw,
                  std::min(kPairBlock, layout_.pitch - at),
                  pairs_.data() + at * channels_ + k * kPairBlock);
      }
      return;
    }
    for (size_t phase = 0; phase < layout_.columns.remainders.size(); ++phase) {
      const int64_t remainder = layout_.columns.remainders[phase];
      const int64_t plane = layout_.Plane(k, row_phase, static_cast<int64_t>(phase));
      PackPairs(first_.data() + remainder, second + remainder, conv_.p.sw, layout_.pitch,
                pairs_.data() + plane + row * layout_.pitch);
    }
  }

  const Convolution& conv_;
  const PlaneLayout& layout_;
  bool by_channel_;
  // One plane of one row and one tap: its blocks lie side by side, channel after channel, which is
  // kinder to caches than a plane each.
  bool panels_;
  int64_t channels_;
  std::vector<uint32_t> pairs_;
  std::vector<int64_t> offsets_;
  // A padded row of each of the two.
  std::vector<int16_t> first_, second_;
};

// One channel's output elements from its sums.
void Store(const Convolution& conv, int64_t channel, const int32_t* sums, int64_t count,
           int64_t* y) {
  conv.requant.Apply(channel, sums, count, y);
}

template <typename Y>
void Store(const Convolution& conv, int64_t channel, const int32_t* sums, int64_t count, Y* y) {
  constexpr int64_t kSome = 256;
  int64_t wide[kSome];
  for (int64_t i = 0; i < count; i += kSome) {
    const int64_t some = std::min(kSome, count - i);
    conv.requant.Apply(channel, sums + i, some, wide);
    Narrow(wide, some, y + i);
  }
}

// The elements of one channel's positions first .. last - 1, without those past the rows' ends, to
// the channel's plane of `y`.
void StorePositions(const Convolution& conv, int64_t pitch, int64_t channel, const int32_t* sums,
                    int64_t first, int64_t last, ElementsSink y) {
  for (int64_t row = first / pitch; row * pitch < last; ++row) {
    const int64_t begin = std::max(first, row * pitch);
    const int64_t end = std::min(last, row * pitch + conv.out.w);
    if (begin >= end) continue;
    const int64_t at = (channel * conv.out.h + row) * conv.out.w + begin - row * pitch;
    WithType(y.type, [&](auto element) {
      Store(conv, channel, sums + begin - first, end - begin,
            static_cast<decltype(element)*>(y.data) + at);
    });
  }
}

}  // namespace

void ConvolvePairs(const Convolution& conv, const PlaneLayout& layout, const ElementsView& x,
                   ElementsSink y) {
  PairPlanes inputs(conv, layout);
  const int64_t blocks = (layout.span + kPairBlock - 1) / kPairBlock;
  const int64_t tile = std::min(blocks, inputs.tile());
  const int64_t pitch = tile * kPairBlock;
  // As equal as can be: a group of one channel would use a fraction of the registers.
  const int64_t parts = (conv.group_out() + kPairRows - 1) / kPairRows;
  const auto part_begin = [&](int64_t part) { return part * conv.group_out() / parts; };
  const std::vector<int32_t> bias(conv.p.bias.begin(), conv.p.bias.end());
  std::vector<int32_t> sums(kPairRows * pitch);
  std::vector<uint32_t> weights(conv.group_out() * inputs.taps().count);
  for (int64_t g = 0; g < conv.p.groups; ++g) {
    WithType(x.type, [&](auto element) {
      inputs.Fill(static_cast<const decltype(element)*>(x.data) +
                  g * conv.group_in() * conv.in.h * conv.in.w);
    });
    uint32_t* packed = weights.data();
    for (int64_t part = 0; part < parts; ++part) {
      packed = inputs.PackWeights(g * conv.group_out() + part_begin(part),
                                  part_begin(part + 1) - part_begin(part), packed);
    }
    for (int64_t block = 0; block < blocks; block += tile) {
      const int64_t count = std::min(tile, blocks - block);
      const int64_t first = block * kPairBlock;
      const int64_t last = std::min(layout.span, first + count * kPairBlock);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t o = g * conv.group_out() + part_begin(part);
        const int rows = static_cast<int>(part_begin(part + 1) - part_begin(part));
        SumPairs(inputs.data() + block * inputs.step(), inputs.step(), inputs.taps(),
                 weights.data() + part_begin(part) * inputs.taps().count, bias.data() + o, rows,
                 count, pitch, sums.data());
        for (int r = 0; r < rows; ++r) {
          StorePositions(conv, layout.pitch, o + r, sums.data() + r * pitch, first, last, y);
        }
      }
    }
  }
}

}  // namespace helx::ops
