// The platforms that an experiment may name: what is true of each whoever builds for it, runs on it
// or reads its results.
#ifndef HELX_CORE_EXPERIMENT_PLATFORM_H_
#define HELX_CORE_EXPERIMENT_PLATFORM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace helx {

struct MemoryRegion {
  std::string_view name;  // "ITCM", "DTCM", "SRAM", "DDR", ...
  uint32_t address;
  uint32_t bytes;
  bool executable;  // may hold code and constants of the image
};

struct Platform {
  std::string_view name;  // "corstone-300"
  std::string_view core;  // "cortex-m55"
  std::string_view
      count_basis;  // of its instruction counts, which are exact; empty: it counts none
  std::vector<MemoryRegion> regions;
};

// The platform of that name, or nullptr.
const Platform* FindPlatform(std::string_view name);
std::span<const Platform> AllPlatforms();

// The region of that name, or nullptr.
const MemoryRegion* FindRegion(std::span<const MemoryRegion> regions, std::string_view name);

}  // namespace helx

#endif  // HELX_CORE_EXPERIMENT_PLATFORM_H_
