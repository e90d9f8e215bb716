// Shapes that a model leaves open.
#ifndef HELX_WORKER_ENGINE_SHAPES_H_
#define HELX_WORKER_ENGINE_SHAPES_H_

#include "core/model/model.h"

namespace helx::engine {

// Gives outputs whose rank or a dimension was unknown when the model was converted (no shape, or -1 in the signature) the
// shape that follows from the inputs' shapes and constants, for the operators where that is known; others stay as written.
// Everything is checked later, when the operator is: nothing is refused here.
void InferOpenShapes(model::Subgraph& graph, const model::Operator& op);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_SHAPES_H_
