// conv (docs/integer-operators.md, section 5.1).
#ifndef HELX_CORE_OPS_CONVOLUTION_H_
#define HELX_CORE_OPS_CONVOLUTION_H_

#include "core/ops/packed.h"
#include "core/ops/planes.h"
#include "core/ops/requant.h"

namespace helx::ops {

struct Convolution {
  const Params& p;
  Shape in;
  Shape out;
  // Of every output channel's sums.
  const Requant& requant;

  int64_t group_in() const { return p.cin / p.groups; }
  int64_t group_out() const { return p.cout / p.groups; }
  int64_t taps() const { return group_in() * p.kh * p.kw; }
};

// Writes the node's value, of shape `out`, in the narrowest lanes of int32 and int64 that the node's
// certificate allows.
void Convolve(const Params& p, const NodeFacts& facts, const ElementsView& x, const Shape& out,
              ElementsSink y);

// The same for inputs and weights that fit int16 and a `part` that fits int32, on a processor that
// HavePairs(): a product of pairs is two terms of a sum.
void ConvolvePairs(const Convolution& conv, const PlaneLayout& layout, const ElementsView& x,
                   ElementsSink y);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_CONVOLUTION_H_
