// What a model says of one of its inputs or outputs.
#ifndef HELX_CORE_TENSOR_TENSOR_SPEC_H_
#define HELX_CORE_TENSOR_TENSOR_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/status.h"
#include "core/tensor/dtype.h"

namespace helx {

struct TensorSpec {
  int32_t index = 0;            // position among the primary subgraph's inputs or outputs, from 0
  std::string name;             // UTF-8, as in the model
  DType dtype = DType::kInt8;
  std::vector<int64_t> shape;   // concrete, every dimension >= 1; empty for a scalar

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Elements and bytes of one tensor. OUT_OF_RANGE when a dimension is below 1 or the product passes 2^40.
absl::StatusOr<int64_t> ElementCount(const TensorSpec& spec);
absl::StatusOr<int64_t> ByteSize(const TensorSpec& spec);

// {"dtype","index","name","shape"}.
Json SpecToJson(const TensorSpec& spec);
absl::StatusOr<TensorSpec> SpecFromJson(const Json& value, std::string_view where);

// "int8[1, 49, 10, 1]", for messages.
std::string SpecText(const TensorSpec& spec);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_TENSOR_SPEC_H_
