// The rqb (docs/integer-operators.md, section 2.4) of whole channels.
#ifndef HELX_CORE_OPS_REQUANT_H_
#define HELX_CORE_OPS_REQUANT_H_

#include <cstdint>

#include "core/ops/evaluate.h"

namespace helx::ops {

// The rqb records of one node, each done in the narrowest arithmetic that the certificate allows.
class Requant {
 public:
  // `acc` bounds what Apply is given; the node's named "~p" bounds the products. The arguments
  // outlive this.
  Requant(const Params& p, const NodeFacts& facts, Interval acc);

  // y[i] = rqb(acc[i]) by channel `channel`'s record; an int64_t `acc` may be y.
  void Apply(int64_t channel, const int32_t* acc, int64_t count, int64_t* y) const;
  void Apply(int64_t channel, const int64_t* acc, int64_t count, int64_t* y) const;

 private:
  template <typename Acc>
  void ApplyRecord(int64_t channel, const Acc* acc, int64_t count, int64_t* y) const;

  const Params& p_;
  // int64_t holds each product and its rounding.
  bool narrow_ = false;
  // RequantPairs may do a record whose own fields fit it.
  bool pairs_ = false;
};

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_REQUANT_H_
