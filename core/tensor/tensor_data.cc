#include "core/tensor/tensor_data.h"

#include <cstring>

namespace helx {
namespace {

bool AllBytesBoolean(std::string_view bytes) {
  uint64_t any = 0;
  size_t i = 0;
  for (; i + sizeof(any) <= bytes.size(); i += sizeof(any)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    any |= word;
  }
  for (; i < bytes.size(); ++i) any |= static_cast<uint8_t>(bytes[i]);
  return (any & 0xfefefefefefefefeu) == 0;
}

}  // namespace

absl::Status CheckTensorBytes(const TensorSpec& spec, std::string_view bytes) {
  HELX_ASSIGN_OR_RETURN(const int64_t size, ByteSize(spec));
  if (static_cast<int64_t>(bytes.size()) != size) {
    return WithErrorCode(InvalidArgument("found " + std::to_string(bytes.size()) + " bytes; " +
                                         SpecText(spec) + " needs " + std::to_string(size)),
                         "wrong_length");
  }
  if (spec.dtype != DType::kBool || AllBytesBoolean(bytes)) return absl::OkStatus();
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
