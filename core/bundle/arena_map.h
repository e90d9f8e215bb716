// How much of an arena is in use while each operator runs.
#ifndef HELX_CORE_BUNDLE_ARENA_MAP_H_
#define HELX_CORE_BUNDLE_ARENA_MAP_H_

#include <cstdint>
#include <vector>

namespace helx {

// Bytes [offset, offset + bytes) of the arena that must keep their content from step `first` to
// step `last`, both included. Extents that share bytes, as views and in-place results do, use them
// once.
struct ArenaExtent {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
};

// For each of `steps`, in any order, the bytes of the arena that some extent keeps then. Time
// O((E + S) log E). REQUIRES: no negative size, offset + bytes below 2^63, first <= last.
std::vector<int64_t> LiveBytes(const std::vector<ArenaExtent>& extents,
                               const std::vector<int64_t>& steps);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_ARENA_MAP_H_
