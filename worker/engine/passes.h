// What is done to a model before it is checked and lowered: nothing here can depend on an input's bytes.
#ifndef HELX_WORKER_ENGINE_PASSES_H_
#define HELX_WORKER_ENGINE_PASSES_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "core/model/model.h"

namespace helx::engine {

struct PreparedModel {
  model::Model model;
  // By subgraph and operator: its outputs have become constants, so that nothing is left to do.
  std::vector<std::vector<bool>> folded;
  std::deque<std::vector<uint8_t>> storage;  // the bytes of constants that were computed here
};

// In operator order, for every subgraph:
// - 4-bit integer constants become int8 constants of the same values;
// - outputs whose shape the file leaves open get the shape that TFLite would derive from the inputs' shapes;
// - operators on shapes and on small integer constants, and DEQUANTIZE of a constant, become constants.
PreparedModel PrepareModel(model::Model model);

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_PASSES_H_
