// helx.inputs/v1: which bytes a model was fed. A storage identity, not the compiled request digest
// and not a claim of equivalent quantised semantics. Paths, references, tolerances, sample count
// and explicit or implicit intent do not count.
#ifndef HELX_CORE_TENSOR_INPUT_IDENTITY_H_
#define HELX_CORE_TENSOR_INPUT_IDENTITY_H_

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor_spec.h"

namespace helx {

struct IdentifiedInput {
  TensorSpec spec;
  std::string sha256;  // 64 lower-case hexadecimal characters, of the exact little-endian bytes
};

struct InputIdentity {
  std::optional<std::string> value;           // "helx.inputs/v1:sha256:<64 hex>"
  std::optional<std::string> canonical_json;  // the preimage of `value`
  std::string unavailable_reason;             // empty exactly when there is a value

  // Only for one input set per sample: then `value` is null, and the sequence has an identity of
  // its own.
  std::optional<std::string> sequence_value;  // "helx.input-sequence/v1:sha256:<64 hex>"
  std::optional<std::string> sequence_canonical_json;
};

// `input_sets` holds no set (nothing was captured), one, or one per sample, each in contiguous
// model-index order. INVALID_ARGUMENT for another order, names that are not UTF-8, or malformed
// digests.
absl::StatusOr<InputIdentity> IdentifyInputs(
    const std::vector<std::vector<IdentifiedInput>>& input_sets);

}  // namespace helx

#endif  // HELX_CORE_TENSOR_INPUT_IDENTITY_H_
