// Operators that can be carried out when the model is built.
#ifndef HELX_WORKER_ENGINE_FOLD_H_
#define HELX_WORKER_ENGINE_FOLD_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

// Carries out an operator whose inputs are constants and makes its output one: shapes (SHAPE, RANK), arithmetic and
// movement of at most 4096 int32 or int64 elements, and DEQUANTIZE. False when nothing was done.
bool Fold(model::Subgraph& graph, const model::Operator& op,
          std::deque<std::vector<uint8_t>>* storage);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_FOLD_H_
