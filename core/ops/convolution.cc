// The sums of conv. Addition is exact in any order (docs/integer-operators.md, sections 5.1 and
// 9.1), so the loops are arranged for speed and the lanes are as narrow as the certificate allows:
// `part` bounds every subset of the terms, hence every lane and every single product.
#include <algorithm>
#include <vector>

#include "core/ops/evaluate.h"
#include "core/ops/simd.h"

// One copy of the inner loops per instruction set, chosen when the program starts.
#if defined(__x86_64__) && defined(__ELF__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HELX_OPS_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define HELX_OPS_CLONES
#endif

namespace helx::ops {
namespace {

// acc[r] = sum over k of w[r * taps + k] * column[k].
template <typename W, typename X, typename Acc>
inline __attribute__((always_inline)) void DotRows(const W* w, int64_t rows, const X* column,
                                                   int64_t taps, Acc* acc) {
  for (int64_t r = 0; r < rows; ++r) {
    Acc sum = 0;
    const W* row = w + r * taps;
    for (int64_t k = 0; k < taps; ++k) sum += static_cast<Acc>(row[k]) * column[k];
    acc[r] = sum;
  }
}

HELX_OPS_CLONES void DotRows16(const int16_t* w, int64_t rows, const int16_t* column, int64_t taps,
                               int32_t* acc) {
  DotRows<int16_t, int16_t, int32_t>(w, rows, column, taps, acc);
}

HELX_OPS_CLONES void DotRows32(const int32_t* w, int64_t rows, const int32_t* column, int64_t taps,
                               int32_t* acc) {
  DotRows<int32_t, int32_t, int32_t>(w, rows, column, taps, acc);
}

HELX_OPS_CLONES void DotRows64(const int32_t* w, int64_t rows, const int64_t* column, int64_t taps,
                               int64_t* acc) {
  DotRows<int32_t, int64_t, int64_t>(w, rows, column, taps, acc);
}

// acc[i] += w * x[i * stride].
HELX_OPS_CLONES void AddScaled32(int32_t w, const int32_t* x, int64_t stride, int64_t count,
                                 int32_t* acc) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) acc[i] += w * x[i];
  } else {
    for (int64_t i = 0; i < count; ++i) acc[i] += w * x[i * stride];
  }
}

HELX_OPS_CLONES void AddScaled64(int32_t w, const int64_t* x, int64_t stride, int64_t count,
                                 int64_t* acc) {
  for (int64_t i = 0; i < count; ++i) acc[i] += w * x[i * stride];
}

struct Geometry {
  const Params& p;
  const Shape& in;
  const Shape& out;
  int64_t group_in() const { return p.cin / p.groups; }
  int64_t group_out() const { return p.cout / p.groups; }
  int64_t taps() const { return group_in() * p.kh * p.kw; }
};

// The inputs under the kernel at (oy, ox) for group g, in the weights' order; absent taps are 0,
// which adds nothing.
template <typename X>
void Column(const Geometry& geo, const int64_t* x, int64_t g, int64_t oy, int64_t ox, X* column) {
  const Params& p = geo.p;
  for (int64_t i = g * geo.group_in(); i < (g + 1) * geo.group_in(); ++i) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      const int64_t iy = oy * p.sh - p.pt + ky * p.dh;
      const bool row_present = iy >= 0 && iy < geo.in.h;
      const int64_t* row = x + (i * geo.in.h + (row_present ? iy : 0)) * geo.in.w;
      for (int64_t kx = 0; kx < p.kw; ++kx) {
        const int64_t ix = ox * p.sw - p.pl + kx * p.dw;
        *column++ = row_present && ix >= 0 && ix < geo.in.w ? static_cast<X>(row[ix]) : X{0};
      }
    }
  }
}

// Column by column: suits many output channels per group.
template <typename W, typename X, typename Acc>
void ByColumns(const Geometry& geo, const W* w, const int64_t* x,
               void (*dot_rows)(const W*, int64_t, const X*, int64_t, Acc*), int64_t* acc) {
  const int64_t plane = geo.out.h * geo.out.w;
  std::vector<X> column(geo.taps());
  std::vector<Acc> sums(geo.group_out());
  for (int64_t g = 0; g < geo.p.groups; ++g) {
    for (int64_t at = 0; at < plane; ++at) {
      Column(geo, x, g, at / geo.out.w, at % geo.out.w, column.data());
      dot_rows(w + g * geo.group_out() * geo.taps(), geo.group_out(), column.data(), geo.taps(),
               sums.data());
      for (int64_t o = 0; o < geo.group_out(); ++o) {
        const int64_t channel = g * geo.group_out() + o;
        acc[channel * plane + at] = sums[o] + geo.p.bias[channel];
      }
    }
  }
}

// The output columns whose tap kx is present: [first, last).
void PresentRange(const Geometry& geo, int64_t kx, int64_t* first, int64_t* last) {
  const int64_t shift = kx * geo.p.dw - geo.p.pl;
  *first = shift >= 0 ? 0 : (-shift + geo.p.sw - 1) / geo.p.sw;
  *last = shift >= geo.in.w ? 0 : std::min(geo.out.w, (geo.in.w - 1 - shift) / geo.p.sw + 1);
}

// One output row of channel o, tap by tap, into `sums`.
template <typename X, typename Acc>
void OutputRow(const Geometry& geo, const X* x, int64_t o, int64_t oy,
               void (*add_scaled)(int32_t, const X*, int64_t, int64_t, Acc*), Acc* sums) {
  const Params& p = geo.p;
  const int64_t first_in = o / geo.group_out() * geo.group_in();
  const int32_t* w = p.w.data() + o * geo.taps();
  for (int64_t i = first_in; i < first_in + geo.group_in(); ++i) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      const int64_t iy = oy * p.sh - p.pt + ky * p.dh;
      for (int64_t kx = 0; kx < p.kw; ++kx, ++w) {
        if (iy < 0 || iy >= geo.in.h) continue;
        int64_t first = 0;
        int64_t last = 0;
        PresentRange(geo, kx, &first, &last);
        if (first >= last) continue;
        const int64_t ix = first * p.sw - p.pl + kx * p.dw;
        add_scaled(*w, x + (i * geo.in.h + iy) * geo.in.w + ix, p.sw, last - first, sums + first);
      }
    }
  }
}

// Row by row: suits depthwise and other thin groups.
template <typename X, typename Acc>
void ByRows(const Geometry& geo, const X* x,
            void (*add_scaled)(int32_t, const X*, int64_t, int64_t, Acc*), int64_t* acc) {
  std::vector<Acc> sums(geo.out.w);
  for (int64_t o = 0; o < geo.p.cout; ++o) {
    for (int64_t oy = 0; oy < geo.out.h; ++oy) {
      std::fill(sums.begin(), sums.end(), Acc{0});
      OutputRow(geo, x, o, oy, add_scaled, sums.data());
      int64_t* row = acc + (o * geo.out.h + oy) * geo.out.w;
      for (int64_t ox = 0; ox < geo.out.w; ++ox) row[ox] = sums[ox] + geo.p.bias[o];
    }
  }
}

bool PlanesSuit(const Geometry& geo) {
  const Params& p = geo.p;
  if (p.sh != 1 || p.sw != 1) return false;
  // A padded plane beyond a few of the output's would cost more than it saves.
  const i128 padded = static_cast<i128>(geo.in.h + p.pt + p.pb) * (geo.in.w + p.pl + p.pr);
  return padded <= static_cast<i128>(4) * geo.out.h * geo.out.w;
}

// Plane by plane, for thin groups with strides of 1: in a padded plane a tap is one offset for all
// positions, so each tap is one long loop. The positions past a row's end are computed on other
// elements of the input and dropped; they are sums of the same terms, within `part` too.
template <typename X, typename Acc>
void ByPlanes(const Geometry& geo, const int64_t* x,
              void (*add_scaled)(int32_t, const X*, int64_t, int64_t, Acc*), int64_t* acc) {
  const Params& p = geo.p;
  const int64_t pitch = geo.in.w + p.pl + p.pr;
  const int64_t span = (geo.out.h - 1) * pitch + geo.out.w;
  std::vector<X> padded((geo.in.h + p.pt + p.pb) * pitch);
  std::vector<Acc> sums(geo.group_out() * span);
  for (int64_t g = 0; g < p.groups; ++g) {
    std::fill(sums.begin(), sums.end(), Acc{0});
    for (int64_t i = 0; i < geo.group_in(); ++i, x += geo.in.h * geo.in.w) {
      for (int64_t iy = 0; iy < geo.in.h; ++iy) {
        std::copy_n(x + iy * geo.in.w, geo.in.w, padded.data() + (iy + p.pt) * pitch + p.pl);
      }
      for (int64_t o = 0; o < geo.group_out(); ++o) {
        const int64_t channel = g * geo.group_out() + o;
        const int32_t* w = p.w.data() + (channel * geo.group_in() + i) * p.kh * p.kw;
        for (int64_t k = 0; k < p.kh * p.kw; ++k) {
          const int64_t offset = k / p.kw * p.dh * pitch + k % p.kw * p.dw;
          add_scaled(w[k], padded.data() + offset, 1, span, sums.data() + o * span);
        }
      }
    }
    for (int64_t o = 0; o < geo.group_out(); ++o) {
      const int64_t bias = p.bias[g * geo.group_out() + o];
      for (int64_t oy = 0; oy < geo.out.h; ++oy, acc += geo.out.w) {
        const Acc* row = sums.data() + o * span + oy * pitch;
        for (int64_t ox = 0; ox < geo.out.w; ++ox) acc[ox] = row[ox] + bias;
      }
    }
  }
}

// A plane of inputs with its pads, in which a tap is one offset for every output position.
struct PaddedPlane {
  int64_t pitch;
  int64_t size;
  // Output positions, rows' ends included.
  int64_t span;

  explicit PaddedPlane(const Geometry& geo)
      : pitch(geo.in.w + geo.p.pl + geo.p.pr),
        size((geo.in.h + geo.p.pt + geo.p.pb) * pitch),
        span((geo.out.h - 1) * pitch + geo.out.w) {}
};

// The inputs of group g as planes of 16-bit pairs: channels 2k and 2k + 1, or, for a group of one
// channel, a position and the one dw to its right.
class PairedPlanes {
 public:
  PairedPlanes(const Geometry& geo, const PaddedPlane& plane)
      : geo_(geo),
        plane_(plane),
        by_channel_(geo.group_in() > 1),
        planes_((geo.group_in() + 1) / 2),
        pairs_(planes_ * plane.size + geo.p.dw + kPairBlock) {
    for (int64_t k = 0; k < planes_; ++k) {
      for (int64_t ky = 0; ky < geo.p.kh; ++ky) {
        for (int64_t kx = 0; kx < geo.p.kw; kx += by_channel_ ? 1 : 2) {
          offsets_.push_back(k * plane.size + ky * geo.p.dh * plane.pitch + kx * geo.p.dw);
        }
      }
    }
  }

  void Fill(const int64_t* x) {
    const int64_t plane = geo_.in.h * geo_.in.w;
    for (int64_t k = 0; k < planes_; ++k, x += 2 * plane) {
      const bool second = by_channel_ && 2 * k + 1 < geo_.group_in();
      for (int64_t iy = 0; iy < geo_.in.h; ++iy) {
        uint32_t* to =
            pairs_.data() + k * plane_.size + (iy + geo_.p.pt) * plane_.pitch + geo_.p.pl;
        const int64_t* from = x + iy * geo_.in.w;
        PackPairs(from, second ? from + plane : nullptr, geo_.in.w, to);
      }
    }
    if (by_channel_ || geo_.p.kw == 1) return;
    const size_t count = plane_.size;
    for (size_t i = 0; i < count; ++i) {
      pairs_[i] = (pairs_[i] & 0xFFFF) | pairs_[i + geo_.p.dw] << 16;
    }
  }

  // The weights of output channels o .. o + rows - 1 in the order of offsets(), tap by tap.
  void Weights(int64_t o, int rows, std::vector<uint32_t>* weights) const {
    const Params& p = geo_.p;
    const int64_t window = p.kh * p.kw;
    weights->clear();
    const auto at = [&](int r, int64_t i, int64_t k) {
      return i < geo_.group_in() ? p.w[((o + r) * geo_.group_in() + i) * window + k] : 0;
    };
    for (int64_t k = 0; k < planes_; ++k) {
      for (int64_t tap = 0; tap < window; ++tap) {
        if (!by_channel_ && tap % p.kw % 2 != 0) continue;
        for (int r = 0; r < rows; ++r) {
          const bool last = tap % p.kw + 1 == p.kw;
          const int64_t right = last ? 0 : at(r, 0, tap + 1);
          weights->push_back(
              PackPair(at(r, 2 * k, tap), by_channel_ ? at(r, 2 * k + 1, tap) : right));
        }
      }
    }
  }

  const std::vector<int64_t>& offsets() const { return offsets_; }
  const uint32_t* data() const { return pairs_.data(); }

 private:
  const Geometry& geo_;
  const PaddedPlane& plane_;
  bool by_channel_;
  int64_t planes_;
  std::vector<uint32_t> pairs_;
  std::vector<int64_t> offsets_;
};

// As ByPlanes, on 16-bit pairs: each product of pairs is two terms of the sum.
void ByPairs(const Geometry& geo, const int64_t* x, int64_t* acc) {
  const PaddedPlane plane(geo);
  PairedPlanes inputs(geo, plane);
  const int64_t blocks = (plane.span + kPairBlock - 1) / kPairBlock;
  const int64_t pitch = blocks * kPairBlock;
  std::vector<int32_t> sums(kPairRows * pitch);
  std::vector<uint32_t> weights;
  for (int64_t g = 0; g < geo.p.groups; ++g) {
    inputs.Fill(x + g * geo.group_in() * geo.in.h * geo.in.w);
    for (int64_t first = 0; first < geo.group_out(); first += kPairRows) {
      const int64_t o = g * geo.group_out() + first;
      const int rows = static_cast<int>(std::min<int64_t>(kPairRows, geo.group_out() - first));
      inputs.Weights(o, rows, &weights);
      SumPairs(inputs.data(), inputs.offsets().data(), weights.data(),
               static_cast<int64_t>(inputs.offsets().size()), rows, blocks, pitch, sums.data());
      for (int r = 0; r < rows; ++r) {
        const int64_t bias = geo.p.bias[o + r];
        for (int64_t oy = 0; oy < geo.out.h; ++oy, acc += geo.out.w) {
          const int32_t* row = sums.data() + r * pitch + oy * plane.pitch;
          for (int64_t ox = 0; ox < geo.out.w; ++ox) acc[ox] = row[ox] + bias;
        }
      }
    }
  }
}

bool FitsBits(Interval v, int bits) {
  const i128 limit = static_cast<i128>(1) << (bits - 1);
  return v.lo >= -limit && v.hi < limit;
}

template <typename T>
bool AllFit16(const std::vector<T>& values) {
  return std::all_of(values.begin(), values.end(), [](T v) { return v >= -32768 && v <= 32767; });
}

}  // namespace

void ConvolutionSums(const Params& p, const NodeFacts& facts, const Tensor& x, const Shape& y,
                     std::vector<int64_t>* acc) {
  const Geometry geo{p, x.shape, y};
  // Below this many output channels per group, or output elements per channel, the cost of
  // arranging data outweighs the faster loop.
  constexpr int64_t kFew = 4;
  const bool by_columns = geo.group_out() >= kFew;
  const bool lanes32 = FitsBits(facts.bounds->Named("part"), 32) && FitsBits(facts.input, 32);
  const bool planes = PlanesSuit(geo);
  if (planes && lanes32 && HavePairs() && y.h * y.w >= kPairBlock && FitsBits(facts.input, 16) &&
      AllFit16(p.w)) {
    ByPairs(geo, x.data.data(), acc->data());
    return;
  }
  if (!by_columns && planes) {
    if (lanes32) {
      ByPlanes<int32_t, int32_t>(geo, x.data.data(), AddScaled32, acc->data());
    } else {
      ByPlanes<int64_t, int64_t>(geo, x.data.data(), AddScaled64, acc->data());
    }
    return;
  }
  if (!lanes32) {
    if (by_columns) {
      ByColumns<int32_t, int64_t, int64_t>(geo, p.w.data(), x.data.data(), DotRows64, acc->data());
    } else {
      ByRows<int64_t, int64_t>(geo, x.data.data(), AddScaled64, acc->data());
    }
    return;
  }
  if (!by_columns) {
    const std::vector<int32_t> narrow(x.data.begin(), x.data.end());
    ByRows<int32_t, int32_t>(geo, narrow.data(), AddScaled32, acc->data());
    return;
  }
  if (y.h * y.w >= kFew && FitsBits(facts.input, 16) && AllFit16(p.w)) {
    const std::vector<int16_t> weights(p.w.begin(), p.w.end());
    ByColumns<int16_t, int16_t, int32_t>(geo, weights.data(), x.data.data(), DotRows16,
                                         acc->data());
    return;
  }
  ByColumns<int32_t, int32_t, int32_t>(geo, p.w.data(), x.data.data(), DotRows32, acc->data());
}

}  // namespace helx::ops
