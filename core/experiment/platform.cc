#include "core/experiment/platform.h"

#include <array>

namespace helx {
namespace {

constexpr uint32_t kKiB = 1024;
constexpr uint32_t kMiB = 1024 * 1024;
constexpr std::string_view kQemuCounts = "qemu-icount";

// Addresses: Arm's "Corstone SSE-300 FVP" and AN547 memory maps; sizes as QEMU's mps3-an547
// implements them.
Platform Corstone300() {
  return {"corstone-300",
          "cortex-m55",
          kQemuCounts,
          {{"ITCM", 0x00000000, 512 * kKiB, true},
           {"BRAM", 0x11000000, 1 * kMiB, true},
           {"DTCM", 0x20000000, 512 * kKiB, false},
           {"SRAM", 0x31000000, 2 * kMiB, true},
           {"DDR", 0x70000000, 192 * kMiB, true}}};
}

// What the MPS2+ board's FPGA images have in common: 4 MiB of ZBT SSRAM1, 2 MiB each of SSRAM2 and
// SSRAM3 in a row, 16 MiB of PSRAM, whose upper half is the staging memory. The PSRAM comes first:
// what is too large for its own region goes there, not between the code. Addresses: Arm DAI0385,
// DAI0386, DAI0500, DAI0505.
Platform Mps2(std::string_view name, std::string_view core, uint32_t psram) {
  return {name,
          core,
          kQemuCounts,
          {{"PSRAM", psram, 8 * kMiB, false},
           {"SSRAM1", 0x00000000, 4 * kMiB, true},
           {"SSRAM2", 0x20000000, 2 * kMiB, false},
           {"SSRAM3", 0x20200000, 2 * kMiB, false}}};
}

// Secure addresses: the processor starts in Secure state and stays there.
Platform Mps2M33() {
  Platform platform = Mps2("mps2-m33", "cortex-m33", 0x80000000);
  platform.regions[1].address = 0x10000000;
  platform.regions[2].address = 0x38000000;
  platform.regions[3].address = 0x38200000;
  return platform;
}

const std::array<Platform, 5>& Platforms() {
  static const std::array<Platform, 5> platforms = {
      Corstone300(), Mps2M33(), Mps2("mps2-m7", "cortex-m7", 0x60000000),
      Mps2("mps2-m4", "cortex-m4", 0x21000000), Mps2("mps2-m3", "cortex-m3", 0x21000000)};
  return platforms;
}

}  // namespace

std::span<const Platform> AllPlatforms() { return Platforms(); }

const Platform* FindPlatform(std::string_view name) {
  for (const Platform& platform : Platforms()) {
    if (platform.name == name) return &platform;
  }
  return nullptr;
}

const MemoryRegion* FindRegion(std::span<const MemoryRegion> regions, std::string_view name) {
  for (const MemoryRegion& region : regions) {
    if (region.name == name) return &region;
  }
  return nullptr;
}

}  // namespace helx
