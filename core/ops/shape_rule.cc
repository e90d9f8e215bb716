#include "core/ops/shape_rule.h"

namespace helx::ops {
namespace {

bool Fail(std::string* why, std::string what) {
  *why = std::move(what);
  return false;
}

// One spatial axis of a window operator: size, kernel, stride, dilation, leading and trailing pad.
bool WindowAxis(int64_t size, int64_t kernel, int64_t stride, int64_t dilation, int64_t before,
                int64_t after, int64_t* out) {
  if (size == kUnknown) return true;
  const int64_t extent = (kernel - 1) * dilation + 1;
  if (size + before + after < extent) return false;
  *out = (size + before + after - extent) / stride + 1;
  return true;
}

bool TransposeAxis(int64_t size, int64_t kernel, int64_t stride, int64_t before, int64_t after,
                   int64_t* out) {
  if (size == kUnknown) return true;
  *out = (size - 1) * stride + kernel - before - after;
  return *out >= 1;
}

bool CropAxis(int64_t size, int64_t before, int64_t after, int64_t* out) {
  if (size == kUnknown) return true;
  *out = size - before - after;
  return *out >= 1;
}

bool SameAxis(int64_t a, int64_t b) { return a == kUnknown || b == kUnknown || a == b; }

bool Rule(const Node& node, const std::vector<Shape>& args, Shape* out, std::string* why) {
  const Params& p = node.params;
  const Shape& x = args[0];
  *out = x;
  switch (node.op) {
    case Op::kConv:
    case Op::kMaxpool: {
      const bool conv = node.op == Op::kConv;
      if (conv && x.c != p.cin) return Fail(why, "the input does not have cin channels");
      if (conv) out->c = p.cout;
      const bool fits = WindowAxis(x.h, p.kh, p.sh, conv ? p.dh : 1, p.pt, p.pb, &out->h) &&
                        WindowAxis(x.w, p.kw, p.sw, conv ? p.dw : 1, p.pl, p.pr, &out->w);
      return fits || Fail(why, "the padded input is smaller than the kernel");
    }
    case Op::kConvTranspose:
      if (x.c != p.cin) return Fail(why, "the input does not have cin channels");
      out->c = p.cout;
      return (TransposeAxis(x.h, p.kh, p.sh, p.pt, p.pb, &out->h) &&
              TransposeAxis(x.w, p.kw, p.sw, p.pl, p.pr, &out->w)) ||
             Fail(why, "the pads leave no output");
    case Op::kRescale:
      return p.n == 1 || p.n == x.c || Fail(why, "n is neither 1 nor the channels");
    case Op::kAdd:
    case Op::kMul:
      return (x.c == args[1].c && SameAxis(x.h, args[1].h) && SameAxis(x.w, args[1].w)) ||
             Fail(why, "the inputs' shapes differ");
    case Op::kCrop:
      return (CropAxis(x.h, p.pt, p.pb, &out->h) && CropAxis(x.w, p.pl, p.pr, &out->w)) ||
             Fail(why, "the crop leaves no output");
    case Op::kPad:
      if (x.h != kUnknown) out->h = x.h + p.pt + p.pb;
      if (x.w != kUnknown) out->w = x.w + p.pl + p.pr;
      return true;
    case Op::kConcat:
      for (size_t i = 1; i < args.size(); ++i) {
        if (!SameAxis(x.h, args[i].h) || !SameAxis(x.w, args[i].w)) {
          return Fail(why, "the inputs' heights or widths differ");
        }
        out->c += args[i].c;
      }
      return true;
    case Op::kSlice:
      out->c = p.c1 - p.c0;
      return p.c1 <= x.c || Fail(why, "c1 is above the channels");
    case Op::kPixelShuffle:
      out->c = x.c / (p.r * p.r);
      if (x.h != kUnknown) out->h = x.h * p.r;
      if (x.w != kUnknown) out->w = x.w * p.r;
      return x.c % (p.r * p.r) == 0 || Fail(why, "r*r does not divide the channels");
    case Op::kIgdn:
    case Op::kChscale:
      return x.c == p.c || Fail(why, "the input does not have c channels");
    case Op::kLut16:
    case Op::kSigmoid:
    case Op::kElu:
    case Op::kLeaky:
    case Op::kL2norm:
    case Op::kLayernormC:
    case Op::kClamp:
    case Op::kDivc:
    case Op::kCheck:
      return true;
  }
  return false;
}

}  // namespace

bool InferShape(const Node& node, const std::vector<Shape>& args, Shape* out, std::string* why) {
  if (!Rule(node, args, out, why)) return false;
  for (const int64_t dim : {out->c, out->h, out->w}) {
    if (dim != kUnknown && (dim < 1 || dim > kMaxDim)) {
      return Fail(why, "an output dim is outside 1..65535");
    }
  }
  return true;
}

}  // namespace helx::ops
