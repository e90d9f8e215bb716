// Gives every tensor of a program a place.
#ifndef HELX_WORKER_ENGINE_PLACER_H_
#define HELX_WORKER_ENGINE_PLACER_H_

#include "worker/engine/program.h"

namespace helx::engine {

// Constants that calls name go to the pool; variables, resources and operators' states lie one after another; everything
// else shares the arena by lifetime, views and in-place operators sharing buffers. Fills in the places, offsets and sizes of
// `program`, whose frames are lowered.
void PlaceTensors(Program* program);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_PLACER_H_
