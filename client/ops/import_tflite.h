// TFQ from a .tflite model (docs/integer-operators.md, section 13.7). Native builds only: it reads
// the model through core/model.
#ifndef HELX_CLIENT_OPS_IMPORT_TFLITE_H_
#define HELX_CLIENT_OPS_IMPORT_TFLITE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/ops/commands.h"
#include "core/model/model.h"

namespace helx::ops {

struct ImportOptions {
  // "double" (two roundings) or "single": that of the kernel library the set stands for.
  std::string rounding = "double";
  // Tensor numbers: a later tensor than the model's input, an earlier one than its output.
  std::optional<int32_t> in;
  std::optional<int32_t> out;
};

// The model.tfq member: canonical JSON and a line feed. INVALID_ARGUMENT, naming the operator or
// tensor and what to do, for what TFQ cannot write: nothing between in and out is dropped.
absl::StatusOr<std::string> ImportTfq(const model::Model& model, const ImportOptions& options);

// import MODEL.tflite --rounding double|single [--input TENSOR] [--output TENSOR] --out FILE
int ImportCommand(const Words& words);

}  // namespace helx::ops

#endif  // HELX_CLIENT_OPS_IMPORT_TFLITE_H_
