// Operators in another order than the model's, where that needs a smaller arena.
#ifndef HELX_WORKER_ENGINE_REORDER_H_
#define HELX_WORKER_ENGINE_REORDER_H_

#include "worker/engine/program.h"

namespace helx::engine {

// PlaceTensors, in the model's order or in one that needs a smaller arena. No result depends on the
// order: operators follow those that they read from, and whatever touches variables or resources,
// keeps state or can end the invocation keeps its order. Programs that run subgraphs keep the
// model's order. REQUIRES: frames are lowered and not placed.
void PlaceInBestOrder(Program* program);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_REORDER_H_
