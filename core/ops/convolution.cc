// Addition is exact in any order (docs/integer-operators.md, sections 5.1 and 9.1), so the loops
// are arranged for speed and the lanes are as narrow as the certificate allows: `part` bounds every
// subset of the terms, the bias among them, hence every lane and every single product.
#include "core/ops/convolution.h"

#include <algorithm>
#include <vector>

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

// acc[i] += w * x[i].
HELX_OPS_CLONES void AddScaled32(int32_t w, const int32_t* x, int64_t count, int32_t* acc) {
  for (int64_t i = 0; i < count; ++i) acc[i] += w * x[i];
}

HELX_OPS_CLONES void AddScaled64(int32_t w, const int64_t* x, int64_t count, int64_t* acc) {
  for (int64_t i = 0; i < count; ++i) acc[i] += w * x[i];
}

// The inputs under the kernel at (oy, ox) for group g, in the weights' order; absent taps are 0,
// which adds nothing.
template <typename X>
void Column(const Convolution& conv, const int64_t* x, int64_t g, int64_t oy, int64_t ox,
            X* column) {
  const Params& p = conv.p;
  for (int64_t i = g * conv.group_in(); i < (g + 1) * conv.group_in(); ++i) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      const int64_t iy = oy * p.sh - p.pt + ky * p.dh;
      const bool row_present = iy >= 0 && iy < conv.in.h;
      const int64_t* row = x + (i * conv.in.h + (row_present ? iy : 0)) * conv.in.w;
      for (int64_t kx = 0; kx < p.kw; ++kx) {
        const int64_t ix = ox * p.sw - p.pl + kx * p.dw;
        *column++ = row_present && ix >= 0 && ix < conv.in.w ? static_cast<X>(row[ix]) : X{0};
      }
    }
  }
}

// Column by column: suits many output channels per group.
template <typename W, typename X, typename Acc>
void ByColumns(const Convolution& conv, const W* w, const int64_t* x,
               void (*dot_rows)(const W*, int64_t, const X*, int64_t, Acc*), int64_t* y) {
  const int64_t plane = conv.out.h * conv.out.w;
  std::vector<X> column(conv.taps());
  std::vector<Acc> sums(conv.group_out());
  for (int64_t g = 0; g < conv.p.groups; ++g) {
    for (int64_t at = 0; at < plane; ++at) {
      Column(conv, x, g, at / conv.out.w, at % conv.out.w, column.data());
      dot_rows(w + g * conv.group_out() * conv.taps(), conv.group_out(), column.data(),
               conv.taps(), sums.data());
      for (int64_t o = 0; o < conv.group_out(); ++o) {
        const int64_t channel = g * conv.group_out() + o;
        y[channel * plane + at] = sums[o] + conv.p.bias[channel];
      }
    }
  }
  for (int64_t o = 0; o < conv.p.cout; ++o, y += plane) conv.requant.Apply(o, y, plane, y);
}

// One channel's elements as the layout's planes.
template <typename X>
void FillPlanes(const Convolution& conv, const PlaneLayout& layout, const int64_t* x, X* planes) {
  const Params& p = conv.p;
  for (size_t a = 0; a < layout.rows.remainders.size(); ++a) {
    for (size_t b = 0; b < layout.columns.remainders.size(); ++b, planes += layout.size) {
      for (int64_t row = 0; row < layout.rows.size; ++row) {
        const int64_t iy = row * p.sh + layout.rows.remainders[a] - p.pt;
        if (iy < 0 || iy >= conv.in.h) continue;
        const int64_t shift = layout.columns.remainders[b] - p.pl;
        const int64_t first = shift >= 0 ? 0 : (-shift + p.sw - 1) / p.sw;
        const int64_t* from = x + iy * conv.in.w + shift;
        X* to = planes + row * layout.pitch;
        for (int64_t i = first; i < layout.pitch && i * p.sw + shift < conv.in.w; ++i) {
          to[i] = static_cast<X>(from[i * p.sw]);
        }
      }
    }
  }
}

// Plane by plane, each tap in one long loop: suits depthwise and other thin groups.
template <typename X>
void ByPlanes(const Convolution& conv, const PlaneLayout& layout, const int64_t* x,
              void (*add_scaled)(int32_t, const X*, int64_t, X*), int64_t* y) {
  const Params& p = conv.p;
  std::vector<X> planes(layout.phases() * layout.size);
  std::vector<X> sums(conv.group_out() * layout.span);
  for (int64_t g = 0; g < p.groups; ++g) {
    for (int64_t o = 0; o < conv.group_out(); ++o) {
      std::fill_n(sums.begin() + o * layout.span, layout.span,
                  static_cast<X>(p.bias[g * conv.group_out() + o]));
    }
    for (int64_t i = 0; i < conv.group_in(); ++i, x += conv.in.h * conv.in.w) {
      FillPlanes(conv, layout, x, planes.data());
      for (int64_t o = 0; o < conv.group_out(); ++o) {
        const int32_t* w =
            p.w.data() + ((g * conv.group_out() + o) * conv.group_in() + i) * p.kh * p.kw;
        for (int64_t k = 0; k < p.kh * p.kw; ++k) {
          add_scaled(w[k], planes.data() + layout.Offset(0, k / p.kw, k % p.kw), layout.span,
                     sums.data() + o * layout.span);
        }
      }
    }
    for (int64_t o = 0; o < conv.group_out(); ++o) {
      for (int64_t oy = 0; oy < conv.out.h; ++oy, y += conv.out.w) {
        conv.requant.Apply(g * conv.group_out() + o,
                           sums.data() + o * layout.span + oy * layout.pitch, conv.out.w, y);
      }
    }
  }
}

bool FitsBits(Interval v, int bits) {
  const i128 limit = static_cast<i128>(1) << (bits - 1);
  return v.lo >= -limit && v.hi < limit;
}

bool AllFit16(const std::vector<int32_t>& values) {
  int32_t lo = 0;
  int32_t hi = 0;
  for (const int32_t v : values) {
    lo = std::min(lo, v);
    hi = std::max(hi, v);
  }
  return FitsBits({lo, hi}, 16);
}

bool Lanes32(const NodeFacts& facts) {
  return FitsBits(facts.bounds->Named("part"), 32) && FitsBits(facts.input, 32);
}

bool Lanes16(const Params& p, const NodeFacts& facts) {
  return Lanes32(facts) && FitsBits(facts.input, 16) && AllFit16(p.w);
}

// Whether the padded planes are not much larger than what they are made of or for.
bool PlanesSuit(const Convolution& conv, const PlaneLayout& layout) {
  const int64_t plane = std::max(conv.in.h * conv.in.w, conv.out.h * conv.out.w);
  return layout.phases() * layout.size <= 4 * plane + 64;
}

void ConvolveWide(const Convolution& conv, const NodeFacts& facts, const PlaneLayout* layout,
                  const int64_t* x, int64_t* y) {
  // Below this many output channels per group, or output elements per channel, the cost of
  // arranging data outweighs the faster loop.
  constexpr int64_t kFew = 4;
  const Params& p = conv.p;
  const bool lanes32 = Lanes32(facts);
  if (layout != nullptr && conv.group_out() < kFew && lanes32) {
    ByPlanes<int32_t>(conv, *layout, x, AddScaled32, y);
  } else if (layout != nullptr && conv.group_out() < kFew) {
    ByPlanes<int64_t>(conv, *layout, x, AddScaled64, y);
  } else if (Lanes16(p, facts) && conv.out.h * conv.out.w >= kFew) {
    const std::vector<int16_t> weights(p.w.begin(), p.w.end());
    ByColumns<int16_t, int16_t, int32_t>(conv, weights.data(), x, DotRows16, y);
  } else if (lanes32) {
    ByColumns<int32_t, int32_t, int32_t>(conv, p.w.data(), x, DotRows32, y);
  } else {
    ByColumns<int32_t, int64_t, int64_t>(conv, p.w.data(), x, DotRows64, y);
  }
}

void ConvolveShapes(const Convolution& conv, const NodeFacts& facts, const ElementsView& x,
                    ElementsSink y) {
  const PlaneLayout layout(conv.p, conv.out);
  const bool planes = PlanesSuit(conv, layout);
  if (planes && HavePairs() && conv.out.h * conv.out.w >= kPairBlock && Lanes16(conv.p, facts)) {
    ConvolvePairs(conv, layout, x, y);
    return;
  }
  Tensor wide_x;
  if (x.type != ElementType::kI64) wide_x = Unpack(x);
  Tensor wide_y{conv.out, {}};
  if (y.type != ElementType::kI64) wide_y.data.resize(conv.out.elements());
  ConvolveWide(conv, facts, planes ? &layout : nullptr,
               x.type == ElementType::kI64 ? static_cast<const int64_t*>(x.data)
                                           : wide_x.data.data(),
               y.type == ElementType::kI64 ? static_cast<int64_t*>(y.data) : wide_y.data.data());
  if (y.type != ElementType::kI64) Pack(wide_y, y);
}

}  // namespace

void Convolve(const Params& p, const NodeFacts& facts, const ElementsView& x, const Shape& out,
              ElementsSink y) {
  const Requant requant(p, facts, facts.bounds->Named("acc"));
  const bool elementwise = p.kh == 1 && p.kw == 1 && p.sh == 1 && p.sw == 1 && p.pt == 0 &&
                           p.pb == 0 && p.pl == 0 && p.pr == 0;
  // A plane's positions are alike where a tap is one element, so it may as well be one row.
  const auto row = [&](const Shape& shape) {
    return elementwise ? Shape{shape.c, 1, shape.h * shape.w} : shape;
  };
  ConvolveShapes({p, row(x.shape), row(out), requant}, facts, x, y);
}

}  // namespace helx::ops
