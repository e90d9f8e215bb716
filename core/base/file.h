// Whole-file reading and writing.
#ifndef HELX_CORE_BASE_FILE_H_
#define HELX_CORE_BASE_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace helx {

// The content of a regular file. NOT_FOUND, or INVALID_ARGUMENT when it is larger than `limit_bytes` or not regular.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t limit_bytes = SIZE_MAX);

// Writes a file in place of an older one atomically (temporary file beside it, then rename). Does not sync.
absl::Status WriteFile(const std::string& path, std::string_view content);

// Whether it is a regular file that this process may execute.
bool IsProgram(const std::string& path);

inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace helx

#endif  // HELX_CORE_BASE_FILE_H_
