#include "core/tensor/tensor_data.h"

namespace helx {

absl::Status CheckTensorBytes(const TensorSpec& spec, std::string_view bytes) {
  HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(spec));
  if (static_cast<int64_t>(bytes.size()) != size) {
    return WithErrorCode(InvalidArgument("found " + std::to_string(bytes.size()) + " bytes; " +
                                         SpecText(spec) + " needs " + std::to_string(size)),
                         "wrong_length");
  }
  if (spec.dtype != DType::kBool) return absl::OkStatus();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte > 1) {
      return WithErrorCode(
          InvalidArgument("found the byte " + std::to_string(byte) + " at element " +
                          std::to_string(i) + "; a bool is stored as 0 or 1"),
          "boolean_byte");
    }
  }
  return absl::OkStatus();
}

}  // namespace helx
