// Small graphs for the tests.
#ifndef HELX_TESTS_UNIT_CORE_OPS_GRAPH_BUILDER_H_
#define HELX_TESTS_UNIT_CORE_OPS_GRAPH_BUILDER_H_

#include <string>

#include "core/ops/corpus/builder.h"
#include "core/ops/load.h"
#include "core/ops/lower/forms.h"
#include "core/ops/whg1.h"

namespace helx::ops {

// The load outcome's code as text, "ok" for a graph that loads.
inline std::string LoadOutcome(const std::string& bytes) {
  const Result<PlannedGraph> loaded = LoadWhg1(bytes);
  return loaded.ok() ? "ok" : std::string(CodeName(loaded.refusal().code));
}

inline std::string LoadOutcome(const Graph& graph) { return LoadOutcome(WriteWhg1(graph)); }

inline void PatchField(std::string* bytes, size_t at, uint64_t value, int width) {
  for (int i = 0; i < width; ++i) (*bytes)[at + i] = static_cast<char>(value >> (8 * i) & 0xFF);
}

inline void PatchChecksums(std::string* bytes) {
  PatchField(bytes, 40, Crc32(std::string_view(*bytes).substr(64)), 4);
  PatchField(bytes, 60, Crc32(std::string_view(*bytes).substr(0, 60)), 4);
}

// `bytes` with one field changed and both checksums recomputed.
inline std::string Patched(std::string bytes, size_t at, uint64_t value, int width) {
  PatchField(&bytes, at, value, width);
  PatchChecksums(&bytes);
  return bytes;
}

inline Input FixedInput(const Shape& shape, int64_t lo, int64_t hi) {
  Input input;
  input.fixed = true;
  input.c = shape.c;
  input.h_cap = shape.h;
  input.w_cap = shape.w;
  input.lo = lo;
  input.hi = hi;
  return input;
}

inline Input StateInput(const Shape& shape, int64_t lo, int64_t hi, std::vector<int64_t> init) {
  Input input = FixedInput(shape, lo, hi);
  input.state = true;
  input.init = std::move(init);
  return input;
}

}  // namespace helx::ops

#endif  // HELX_TESTS_UNIT_CORE_OPS_GRAPH_BUILDER_H_
