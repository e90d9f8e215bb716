// The constants of an image: one binary section, addressed by offset.
#ifndef HELX_WORKER_ENGINE_CONSTANTS_H_
#define HELX_WORKER_ENGINE_CONSTANTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace helx::engine {

// Collects constants in the order they are added. Equal contents share one place. Every constant begins on a 16-byte boundary.
class ConstantPool {
 public:
  // The offset of these bytes in the section.
  int64_t Add(std::span<const uint8_t> bytes);

  // The same for an array of plain little-endian values.
  template <typename T>
  int64_t AddArray(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    return Add({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::map<std::string, int64_t> offset_by_digest_;
};

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_CONSTANTS_H_
