// The phase form of a transposed convolution (docs/integer-operators.md, section 9.3).
#ifndef HELX_CORE_OPS_PHASE_FORM_H_
#define HELX_CORE_OPS_PHASE_FORM_H_

#include "core/ops/graph.h"

namespace helx::ops {

// Adds conv, pixel_shuffle and crop that equal conv_transpose with parameters `p` on `value`, and
// gives the crop's value id. REQUIRES: p.sh == p.sw, in 2..16.
uint32_t AddPhaseForm(const Params& p, uint32_t value, Graph* graph);

}  // namespace helx::ops

#endif  // HELX_CORE_OPS_PHASE_FORM_H_
