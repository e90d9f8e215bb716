// A tensor's metadata together with its bytes.
#ifndef HELX_CORE_TENSOR_TENSOR_DATA_H_
#define HELX_CORE_TENSOR_TENSOR_DATA_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

struct TensorData {
  TensorSpec spec;
  std::string data;  // little-endian, row-major, exactly ByteSize(spec) bytes

  friend bool operator==(const TensorData&, const TensorData&) = default;
};

// INVALID_ARGUMENT unless `bytes` can be the storage of `spec`: its exact length (code
// wrong_length) and, for bool, only bytes 0 and 1 (code boolean_byte, naming the position).
absl::Status CheckTensorBytes(const TensorSpec& spec, std::string_view bytes);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_TENSOR_DATA_H_
