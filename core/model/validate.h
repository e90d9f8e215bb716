// The checks of a decoded model that need no FlatBuffers.
#ifndef HELX_CORE_MODEL_VALIDATE_H_
#define HELX_CORE_MODEL_VALIDATE_H_

#include <optional>
#include <string>

#include "core/model/model.h"
#include "core/model/reader.h"

namespace helx::model {

// "subgraph 0, tensor 12 (conv1/bias)".
std::string TensorPlace(size_t subgraph, size_t number, const Tensor& tensor);
// "subgraph 0, operator 3 (CONV_2D)".
std::string OperatorPlace(size_t subgraph, size_t number, const Operator& op);

// Shape, element count, constant length and quantisation of one tensor.
std::optional<std::string> CheckTensor(const Tensor& tensor, const ReadLimits& limits);

// Indices, producers and order within one subgraph; marks tensors without elements and producer as constants.
std::optional<ReadError> CheckDataFlow(size_t number, Subgraph& subgraph);

}  // namespace helx::model

#endif  // HELX_CORE_MODEL_VALIDATE_H_
