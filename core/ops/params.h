// The layout of every operator's parameters (docs/integer-operators.md, section 5 "Params"), stated
// once and walked by visitors: the WHG1 reader and writer, and the WHM form's reader and writer.
//
// A visitor has these members, each returning false to stop the walk:
//   bool Number(name, int64_t& value, Width, lo, hi)     one scalar in [lo, hi]
//   bool Unsigned64(name, uint64_t& value, lo)           one u64, at least lo
//   bool Count(name, int64_t& value, hi, source)         a u32 in [1, hi], which the WHM form does
//                                                        not write: it is the length of `source`
//   bool Array(name, std::vector<T>&, count, Width, lo, hi)
//   bool Records({Column...}, count)                     count records, column by column in each
//   bool Require(bool)                                   a condition between parameters
#ifndef HELX_CORE_OPS_PARAMS_H_
#define HELX_CORE_OPS_PARAMS_H_

#include <initializer_list>

#include "core/ops/graph.h"

namespace helx::ops {

enum class Width : uint8_t { kU8, kU16, kU32, kI16, kI32, kI64 };

constexpr int WidthBytes(Width width) {
  switch (width) {
    case Width::kU8:
      return 1;
    case Width::kU16:
    case Width::kI16:
      return 2;
    case Width::kU32:
    case Width::kI32:
      return 4;
    case Width::kI64:
      return 8;
  }
  return 0;
}

// One field of a record.
struct Column {
  std::string_view name;
  std::vector<int64_t>* values;
  Width width;
  int64_t lo;
  int64_t hi;
};

inline constexpr int64_t kMaxWeights = int64_t{1} << 26;

template <typename V>
bool VisitWindow(Params& p, V& v, bool dilated) {
  return v.Number("kh", p.kh, Width::kU16, 1, 64) && v.Number("kw", p.kw, Width::kU16, 1, 64) &&
         v.Number("sh", p.sh, Width::kU16, 1, 64) && v.Number("sw", p.sw, Width::kU16, 1, 64) &&
         (!dilated ||
          (v.Number("dh", p.dh, Width::kU16, 1, 16) && v.Number("dw", p.dw, Width::kU16, 1, 16)));
}

template <typename V>
bool VisitPads(Params& p, V& v, int64_t hi) {
  return v.Number("pt", p.pt, Width::kU16, 0, hi) && v.Number("pb", p.pb, Width::kU16, 0, hi) &&
         v.Number("pl", p.pl, Width::kU16, 0, hi) && v.Number("pr", p.pr, Width::kU16, 0, hi);
}

template <typename V>
bool VisitPadsWithinKernel(Params& p, V& v) {
  return VisitPads(p, v, 255) &&
         v.Require(p.pt < p.kh && p.pb < p.kh && p.pl < p.kw && p.pr < p.kw);
}

template <typename V>
bool VisitRounding(Params& p, V& v) {
  return v.Number("rnd", p.rnd, Width::kU8, 0, kRoundings - 1);
}

template <typename V>
bool VisitRequants(Params& p, V& v) {
  return v.Records({Column{"mult", &p.mult, Width::kI64, -kI64Max, kI64Max},
                    Column{"post_bias", &p.post_bias, Width::kI64, kI64Min, kI64Max},
                    Column{"shift", &p.shift, Width::kU8, 0, 63}},
                   p.n);
}

// The inputs a group sums. A writer may be given a graph of no groups, for a reader to refuse.
inline int64_t GroupInputs(const Params& p) { return p.groups == 0 ? 0 : p.cin / p.groups; }

template <typename V>
bool VisitConv(Params& p, V& v) {
  return v.Number("cin", p.cin, Width::kU32, 1, kMaxDim) &&
         v.Number("cout", p.cout, Width::kU32, 1, kMaxDim) &&
         v.Number("groups", p.groups, Width::kU32, 1, kMaxDim) &&
         v.Require(p.groups != 0 && p.cin % p.groups == 0 && p.cout % p.groups == 0) &&
         VisitWindow(p, v, true) && VisitPads(p, v, 255) &&
         v.Require(p.cout * GroupInputs(p) * p.kh * p.kw <= kMaxWeights) &&
         VisitRounding(p, v) && v.Count("n", p.n, kMaxDim, "mult") &&
         v.Require(p.n == 1 || p.n == p.cout) && VisitRequants(p, v) &&
         v.Array("bias", p.bias, p.cout, Width::kI64, kI64Min, kI64Max) &&
         v.Array("w", p.w, p.cout * GroupInputs(p) * p.kh * p.kw, Width::kI32, kI32Min, kI32Max);
}

template <typename V>
bool VisitConvTranspose(Params& p, V& v) {
  return v.Number("cin", p.cin, Width::kU32, 1, kMaxDim) &&
         v.Number("cout", p.cout, Width::kU32, 1, kMaxDim) && VisitWindow(p, v, false) &&
         VisitPadsWithinKernel(p, v) && VisitRounding(p, v) && v.Count("n", p.n, kMaxDim, "mult") &&
         v.Require(p.n == 1 || p.n == p.cout) && VisitRequants(p, v) &&
         v.Array("bias", p.bias, p.cout, Width::kI64, kI64Min, kI64Max) &&
         v.Array("w", p.w, p.cin * p.cout * p.kh * p.kw, Width::kI32, kI32Min, kI32Max);
}

template <typename V>
bool VisitIgdn(Params& p, V& v) {
  return v.Count("c", p.c, 4096, "beta") && VisitRounding(p, v) &&
         v.Number("shift", p.igdn_shift, Width::kU8, 0, 63) &&
         v.Array("beta", p.beta, p.c, Width::kI64, 0, kI64Max) &&
         v.Array("gamma", p.gamma, p.c * p.c, Width::kI32, 0, kI32Max);
}

template <typename V>
bool VisitChscale(Params& p, V& v) {
  return VisitRounding(p, v) && v.Count("c", p.c, kMaxDim, "m") &&
         v.Records({Column{"m", &p.m, Width::kI64, -kI64Max, kI64Max},
                    Column{"s", &p.s, Width::kU8, 0, 63}},
                   p.c);
}

template <typename V>
bool VisitLimits(Params& p, V& v) {
  return v.Number("lo", p.lo, Width::kI64, kI64Min, kI64Max) &&
         v.Number("hi", p.hi, Width::kI64, kI64Min, kI64Max) && v.Require(p.lo <= p.hi);
}

// Walks `op`'s parameters in byte order; false when the visitor stopped.
template <typename V>
bool VisitParams(Op op, Params& p, V& v) {
  switch (op) {
    case Op::kConv:
      return VisitConv(p, v);
    case Op::kConvTranspose:
      return VisitConvTranspose(p, v);
    case Op::kRescale:
      return VisitRounding(p, v) && v.Count("n", p.n, kMaxDim, "mult") && VisitRequants(p, v);
    case Op::kAdd:
    case Op::kConcat:
      return true;
    case Op::kMul:
      return VisitRounding(p, v) &&
             v.Records({Column{"mult", &p.mult, Width::kI64, -kI64Max, kI64Max},
                        Column{"shift", &p.shift, Width::kU8, 0, 63}},
                       1);
    case Op::kLut16:
      return v.Array("T", p.table, 257, Width::kI16, -32768, 32767);
    case Op::kSigmoid:
      return v.Number("f", p.f, Width::kU8, 0, 26) && v.Number("o", p.o, Width::kU8, 1, 30);
    case Op::kElu:
      return v.Number("f", p.f, Width::kU8, 0, 26);
    case Op::kLeaky:
      return v.Number("a", p.a, Width::kU32, 0, 0xFFFFFFFF);
    case Op::kCrop:
      return VisitPads(p, v, 65535);
    case Op::kPad:
      return VisitPads(p, v, 255) && v.Number("v", p.v, Width::kI64, kI64Min, kI64Max);
    case Op::kSlice:
      return v.Number("c0", p.c0, Width::kU32, 0, kMaxDim) &&
             v.Number("c1", p.c1, Width::kU32, 0, kMaxDim) && v.Require(p.c0 < p.c1);
    case Op::kPixelShuffle:
      return v.Number("r", p.r, Width::kU16, 2, 16);
    case Op::kIgdn:
      return VisitIgdn(p, v);
    case Op::kChscale:
      return VisitChscale(p, v);
    case Op::kL2norm:
    case Op::kLayernormC:
      return v.Number("k", p.k, Width::kU8, 0, 31) && v.Unsigned64("eps", p.eps, 1);
    case Op::kClamp:
    case Op::kCheck:
      return VisitLimits(p, v);
    case Op::kMaxpool:
      return VisitWindow(p, v, false) && VisitPadsWithinKernel(p, v);
    case Op::kDivc:
      return v.Number("d", p.d, Width::kU32, 1, 0xFFFFFFFF);
  }
  return false;
}

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_PARAMS_H_
