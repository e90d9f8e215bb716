#include "core/tensor/tensor_spec.h"

namespace helx {

absl::StatusOr<int64_t> ElementCount(const TensorSpec& spec) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  int64_t count = 1;
  for (int64_t dim : spec.shape) {
    if (dim < 1 || dim > kLimit / count) {
      return absl::OutOfRangeError("tensor " + std::to_string(spec.index) + " (" + spec.name +
                                   ") has the shape " + SpecText(spec) +
                                   "; every dimension must be at least 1 and the product at most 2^40");
    }
    count *= dim;
  }
  return count;
}

absl::StatusOr<int64_t> ByteSize(const TensorSpec& spec) {
  HELX_ASSIGN_OR_RETURN(const int64_t count, ElementCount(spec));
  return count * static_cast<int64_t>(DTypeSize(spec.dtype));
}

Json SpecToJson(const TensorSpec& spec) {
  return Json{{"dtype", std::string(DTypeName(spec.dtype))},
              {"index", spec.index},
              {"name", spec.name},
              {"shape", spec.shape}};
}

absl::StatusOr<TensorSpec> SpecFromJson(const Json& value, std::string_view where) {
  TensorSpec spec;
  HELX_ASSIGN_OR_RETURN(const int64_t index, JsonInt(value, "index", where));
  if (index < 0 || index > INT32_MAX) {
    return InvalidArgument(std::string(where) + ".index is not a position");
  }
  spec.index = static_cast<int32_t>(index);
  HELX_ASSIGN_OR_RETURN(spec.name, JsonString(value, "name", where));
  HELX_ASSIGN_OR_RETURN(const std::string dtype, JsonString(value, "dtype", where));
  const auto known = DTypeFromName(dtype);
  if (!known) {
    return InvalidArgument(std::string(where) + ".dtype is \"" + dtype + "\"; allowed: " +
                           std::string(kDTypeNames));
  }
  spec.dtype = *known;
  HELX_ASSIGN_OR_RETURN(const Json* shape, JsonMember(value, "shape", where));
  if (!shape->is_array()) return InvalidArgument(std::string(where) + ".shape is not a list");
  for (const Json& dim : *shape) {
    if (!dim.is_number_integer() || dim < 1) {
      return InvalidArgument(std::string(where) + ".shape holds something but integers >= 1");
    }
    spec.shape.push_back(dim.get<int64_t>());
  }
  HELX_RETURN_IF_ERROR(Annotate(ByteSize(spec).status(), where));
  return spec;
}

std::string SpecText(const TensorSpec& spec) {
  std::string text(DTypeName(spec.dtype));
  text += "[";
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(spec.shape[i]);
  }
  return text + "]";
}

}  // namespace helx
