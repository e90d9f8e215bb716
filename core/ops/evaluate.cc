#include "core/ops/evaluate.h"

#include <algorithm>

#include "core/ops/convolution.h"
#include "core/ops/simd.h"

namespace helx::ops {
namespace {

// The rqb of every element of `acc`, whose elements lie in `sum`, channel by channel.
void RequantChannels(const Params& p, const NodeFacts& facts, Interval sum, const Shape& shape,
                     const Elements& acc, Elements* y) {
  const Requant requant(p, facts, sum);
  const int64_t plane = shape.h * shape.w;
  for (int64_t c = 0; c < shape.c; ++c) {
    requant.Apply(c, acc.data() + c * plane, plane, y->data() + c * plane);
  }
}

// The contribution of input channel i to output channel o: every tap is scattered to the output
// element it reaches.
void ScatterTaps(const Params& p, const Tensor& x, int64_t i, int64_t o, Tensor* y) {
  for (int64_t iy = 0; iy < x.shape.h; ++iy) {
    for (int64_t ky = 0; ky < p.kh; ++ky) {
      const int64_t oy = iy * p.sh + ky - p.pt;
      if (oy < 0 || oy >= y->shape.h) continue;
      int64_t* row = &y->data[(o * y->shape.h + oy) * y->shape.w];
      const int64_t* in = &x.data[(i * x.shape.h + iy) * x.shape.w];
      for (int64_t kx = 0; kx < p.kw; ++kx) {
        const int64_t weight = p.w[((i * p.cout + o) * p.kh + ky) * p.kw + kx];
        for (int64_t ix = 0; ix < x.shape.w; ++ix) {
          const int64_t ox = ix * p.sw + kx - p.pl;
          if (ox >= 0 && ox < y->shape.w) row[ox] += weight * in[ix];
        }
      }
    }
  }
}

void ConvTranspose(const Params& p, const NodeFacts& facts, const Tensor& x, Tensor* y) {
  const int64_t plane = y->shape.h * y->shape.w;
  for (int64_t o = 0; o < p.cout; ++o) {
    std::fill_n(y->data.begin() + o * plane, plane, p.bias[o]);
    for (int64_t i = 0; i < p.cin; ++i) ScatterTaps(p, x, i, o, y);
  }
  RequantChannels(p, facts, facts.bounds->Named("acc"), y->shape, y->data, &y->data);
}

void Mul(const Params& p, const Tensor& a, const Tensor& b, Tensor* y) {
  for (size_t i = 0; i < y->data.size(); ++i) {
    const i128 product = static_cast<i128>(a.data[i] * b.data[i]) * p.mult[0];
    y->data[i] =
        static_cast<int64_t>(RoundShift(p.rounding(), product, static_cast<int>(p.shift[0])));
  }
}

int64_t Lut(const Params& p, int64_t x) {
  const int64_t u = x + 32768;
  const int64_t j = u >> 8;
  const int64_t step = p.table[j + 1] - p.table[j];
  return static_cast<int64_t>(
      RoundShift(Rounding::kHalfUp, 256 * int64_t{p.table[j]} + step * (u & 255), 8));
}

int64_t Sigmoid(const Params& p, int64_t x) {
  const int64_t denominator = (int64_t{1} << 30) + ExpNeg(x >= 0 ? x : -x, static_cast<int>(p.f));
  const int64_t s =
      static_cast<int64_t>(RoundDivide(static_cast<i128>(1) << (30 + p.o), denominator));
  return x >= 0 ? s : (int64_t{1} << p.o) - s;
}

int64_t Elu(const Params& p, int64_t x) {
  if (x >= 0) return x;
  const int64_t rest = (int64_t{1} << 30) - ExpNeg(-x, static_cast<int>(p.f));
  return -static_cast<int64_t>(RoundShift(Rounding::kHalfUp, rest, static_cast<int>(30 - p.f)));
}

int64_t Leaky(const Params& p, int64_t x) {
  if (x >= 0) return x;
  return static_cast<int64_t>(RoundShift(Rounding::kHalfUp, static_cast<i128>(x) * p.a, 16));
}

// Copies x into y moved by (dy, dx); elements outside either are left as they are.
void CopyWindow(const Tensor& x, int64_t dy, int64_t dx, Tensor* y) {
  const int64_t y0 = std::max<int64_t>(0, dy);
  const int64_t y1 = std::min(y->shape.h, x.shape.h + dy);
  const int64_t x0 = std::max<int64_t>(0, dx);
  const int64_t x1 = std::min(y->shape.w, x.shape.w + dx);
  for (int64_t c = 0; c < x.shape.c; ++c) {
    for (int64_t row = y0; row < y1; ++row) {
      const int64_t from = (c * x.shape.h + row - dy) * x.shape.w - dx;
      const int64_t to = (c * y->shape.h + row) * y->shape.w;
      std::copy(x.data.begin() + from + x0, x.data.begin() + from + x1, y->data.begin() + to + x0);
    }
  }
}

void PixelShuffle(const Params& p, const Tensor& x, Tensor* y) {
  size_t at = 0;
  for (int64_t c = 0; c < y->shape.c; ++c) {
    for (int64_t row = 0; row < y->shape.h; ++row) {
      for (int64_t col = 0; col < y->shape.w; ++col) {
        const int64_t from = c * p.r * p.r + row % p.r * p.r + col % p.r;
        y->data[at++] = x.data[(from * x.shape.h + row / p.r) * x.shape.w + col / p.r];
      }
    }
  }
}

void Igdn(const Params& p, const Tensor& x, Tensor* y) {
  const int64_t plane = x.shape.h * x.shape.w;
  for (int64_t at = 0; at < plane; ++at) {
    for (int64_t i = 0; i < p.c; ++i) {
      int64_t sum = p.beta[i];
      for (int64_t j = 0; j < p.c; ++j) {
        const int64_t v = x.data[j * plane + at];
        sum += p.gamma[i * p.c + j] * (v < 0 ? -v : v);
      }
      const i128 product = static_cast<i128>(x.data[i * plane + at]) * sum;
      y->data[i * plane + at] =
          static_cast<int64_t>(RoundShift(p.rounding(), product, static_cast<int>(p.igdn_shift)));
    }
  }
}

void Chscale(const Params& p, const Tensor& x, Tensor* y) {
  const int64_t plane = x.shape.h * x.shape.w;
  for (size_t i = 0; i < x.data.size(); ++i) {
    const int64_t c = static_cast<int64_t>(i) / plane;
    const i128 product = static_cast<i128>(x.data[i]) * p.m[c];
    y->data[i] = static_cast<int64_t>(RoundShift(p.rounding(), product, static_cast<int>(p.s[c])));
  }
}

void L2norm(const Params& p, const Tensor& x, Tensor* y) {
  const int64_t plane = x.shape.h * x.shape.w;
  for (int64_t at = 0; at < plane; ++at) {
    int64_t squares = 0;
    for (int64_t c = 0; c < x.shape.c; ++c) {
      squares += x.data[c * plane + at] * x.data[c * plane + at];
    }
    const i128 root = FloorSqrt(static_cast<i128>(squares) + p.eps);
    for (int64_t c = 0; c < x.shape.c; ++c) {
      const i128 n = static_cast<i128>(x.data[c * plane + at]) * (int64_t{1} << p.k);
      y->data[c * plane + at] = static_cast<int64_t>(RoundDivide(n, root));
    }
  }
}

void LayernormC(const Params& p, const Tensor& x, Tensor* y) {
  const int64_t plane = x.shape.h * x.shape.w;
  const int64_t channels = x.shape.c;
  for (int64_t at = 0; at < plane; ++at) {
    int64_t sum = 0;
    for (int64_t c = 0; c < channels; ++c) sum += x.data[c * plane + at];
    int64_t squares = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t d = channels * x.data[c * plane + at] - sum;
      y->data[c * plane + at] = d;
      squares += d * d;
    }
    const i128 root = FloorSqrt(static_cast<i128>(squares / channels) + p.eps);
    for (int64_t c = 0; c < channels; ++c) {
      const i128 n = static_cast<i128>(y->data[c * plane + at]) * (int64_t{1} << p.k);
      y->data[c * plane + at] = static_cast<int64_t>(RoundDivide(n, root));
    }
  }
}

int64_t WindowMax(const Params& p, const Tensor& x, int64_t c, int64_t oy, int64_t ox) {
  int64_t best = kI64Min;
  for (int64_t ky = 0; ky < p.kh; ++ky) {
    const int64_t iy = oy * p.sh - p.pt + ky;
    if (iy < 0 || iy >= x.shape.h) continue;
    for (int64_t kx = 0; kx < p.kw; ++kx) {
      const int64_t ix = ox * p.sw - p.pl + kx;
      if (ix < 0 || ix >= x.shape.w) continue;
      best = std::max(best, x.data[(c * x.shape.h + iy) * x.shape.w + ix]);
    }
  }
  return best;
}

void Maxpool(const Params& p, const Tensor& x, Tensor* y) {
  size_t at = 0;
  for (int64_t c = 0; c < y->shape.c; ++c) {
    for (int64_t oy = 0; oy < y->shape.h; ++oy) {
      for (int64_t ox = 0; ox < y->shape.w; ++ox) y->data[at++] = WindowMax(p, x, c, oy, ox);
    }
  }
}

template <typename F>
void Each(const Tensor& x, Tensor* y, F f) {
  std::transform(x.data.begin(), x.data.end(), y->data.begin(), f);
}

}  // namespace

bool EvaluateNode(const Node& node, const NodeFacts& facts, const std::vector<const Tensor*>& args,
                  Tensor* y) {
  const Params& p = node.params;
  const Tensor& x = *args[0];
  switch (node.op) {
    case Op::kConv:
      Convolve(p, facts, x, y->shape, ElementsSink(y));
      return true;
    case Op::kConvTranspose:
      ConvTranspose(p, facts, x, y);
      return true;
    case Op::kRescale:
      RequantChannels(p, facts, facts.input, x.shape, x.data, &y->data);
      return true;
    case Op::kAdd:
      for (size_t i = 0; i < y->data.size(); ++i) y->data[i] = x.data[i] + args[1]->data[i];
      return true;
    case Op::kMul:
      Mul(p, x, *args[1], y);
      return true;
    case Op::kLut16:
      Each(x, y, [&](int64_t v) { return Lut(p, v); });
      return true;
    case Op::kSigmoid:
      Each(x, y, [&](int64_t v) { return Sigmoid(p, v); });
      return true;
    case Op::kElu:
      Each(x, y, [&](int64_t v) { return Elu(p, v); });
      return true;
    case Op::kLeaky:
      Each(x, y, [&](int64_t v) { return Leaky(p, v); });
      return true;
    case Op::kCrop:
      CopyWindow(x, -p.pt, -p.pl, y);
      return true;
    case Op::kPad:
      std::fill(y->data.begin(), y->data.end(), p.v);
      CopyWindow(x, p.pt, p.pl, y);
      return true;
    case Op::kConcat: {
      auto to = y->data.begin();
      for (const Tensor* arg : args) to = std::copy(arg->data.begin(), arg->data.end(), to);
      return true;
    }
    case Op::kSlice:
      std::copy_n(x.data.begin() + p.c0 * x.shape.h * x.shape.w, y->data.size(), y->data.begin());
      return true;
    case Op::kPixelShuffle:
      PixelShuffle(p, x, y);
      return true;
    case Op::kIgdn:
      Igdn(p, x, y);
      return true;
    case Op::kChscale:
      Chscale(p, x, y);
      return true;
    case Op::kL2norm:
      L2norm(p, x, y);
      return true;
    case Op::kLayernormC:
      LayernormC(p, x, y);
      return true;
    case Op::kClamp:
      Each(x, y, [&](int64_t v) { return std::clamp(v, p.lo, p.hi); });
      return true;
    case Op::kMaxpool:
      Maxpool(p, x, y);
      return true;
    case Op::kDivc:
      Each(x, y, [&](int64_t v) { return static_cast<int64_t>(RoundDivide(v, p.d)); });
      return true;
    case Op::kCheck:
      y->data = x.data;
      return AllWithin(x.data.data(), static_cast<int64_t>(x.data.size()), p.lo, p.hi);
  }
  return false;
}

}  // namespace helx::ops
