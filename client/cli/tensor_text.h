// Tensor bytes as numbers for people.
#ifndef HELX_CLIENT_CLI_TENSOR_TEXT_H_
#define HELX_CLIENT_CLI_TENSOR_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/dtype.h"

namespace helx::cli {

// Element `index` of little-endian storage: integers and bool (0, 1) exactly, floating point as the shortest decimal
// that reads back as the same float32. REQUIRES: (index + 1) * DTypeSize(dtype) <= bytes.size().
std::string ElementText(DType dtype, std::string_view bytes, size_t index);

// The first `count` elements: "1, 2, 3, ... (12)" with the element count when there are more.
std::string FirstElements(DType dtype, std::string_view bytes, int64_t count);

struct RankedElement {
  int64_t position = 0;  // flat, row-major
  std::string value;
};

// The `count` largest elements, largest first; the lower position first among equals; NaN last.
std::vector<RankedElement> LargestElements(DType dtype, std::string_view bytes, int64_t count);

}  // namespace helx::cli

#endif  // HELX_CLIENT_CLI_TENSOR_TEXT_H_
