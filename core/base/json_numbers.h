// JSON whose numbers may be larger than 64 bits, for readers that take numbers as text.
#ifndef HELX_CORE_BASE_JSON_NUMBERS_H_
#define HELX_CORE_BASE_JSON_NUMBERS_H_

#include <string_view>

#include "core/base/json.h"

namespace helx {

// As ParseJson, but an integer that does not fit 64 bits becomes the string of its digits.
absl::StatusOr<Json> ParseJsonWithWideIntegers(std::string_view text);

}  // namespace helx

#endif  // HELX_CORE_BASE_JSON_NUMBERS_H_
