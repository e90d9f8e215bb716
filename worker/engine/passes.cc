#include "worker/engine/passes.h"

#include "worker/engine/fold.h"
#include "worker/engine/shapes.h"

namespace helx::engine {
namespace {

using model::Subgraph;
using model::Tensor;
using model::TensorType;

// Two values per byte, the first in the low half.
void UnpackInt4(Tensor& tensor, std::deque<std::vector<uint8_t>>* storage) {
  std::vector<uint8_t> values(static_cast<size_t>(model::ElementCount(tensor)));
  for (size_t i = 0; i < values.size(); ++i) {
    const int half = (tensor.data[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 15;
    values[i] = static_cast<uint8_t>(half >= 8 ? half - 16 : half);
  }
  storage->push_back(std::move(values));
  tensor.data = storage->back();
  tensor.type = TensorType::INT8;
}

}  // namespace

PreparedModel PrepareModel(model::Model model) {
  PreparedModel prepared;
  prepared.model = std::move(model);
  for (Subgraph& graph : prepared.model.subgraphs) {
    for (Tensor& tensor : graph.tensors) {
      if (tensor.type == TensorType::INT4 && tensor.is_constant && !tensor.is_sparse &&
          !tensor.data.empty()) {
        UnpackInt4(tensor, &prepared.storage);
      }
    }
    std::vector<bool> folded(graph.operators.size(), false);
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      InferOpenShapes(graph, graph.operators[i]);
      folded[i] = Fold(graph, graph.operators[i], &prepared.storage);
    }
    prepared.folded.push_back(std::move(folded));
  }
  return prepared;
}

}  // namespace helx::engine
