#include "core/tensor/dtype.h"

#include <array>

namespace helx {
namespace {

struct Row {
  std::string_view name;
  size_t size;
};

// In the order of the enumeration.
constexpr std::array<Row, 8> kRows = {{{"bool", 1},
                                       {"int8", 1},
                                       {"uint8", 1},
                                       {"int16", 2},
                                       {"int32", 4},
                                       {"int64", 8},
                                       {"float16", 2},
                                       {"float32", 4}}};

}  // namespace

std::string_view DTypeName(DType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> DTypeFromName(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t DTypeSize(DType dtype) { return kRows[static_cast<size_t>(dtype)].size; }

}  // namespace helx
