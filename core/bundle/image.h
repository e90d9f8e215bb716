// Reading a linked image (ELF32, little-endian Arm): its segments, its sections and what they
// weigh. Section names are those of worker/target/linker_script.h.
#ifndef HELX_CORE_BUNDLE_IMAGE_H_
#define HELX_CORE_BUNDLE_IMAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace helx {

struct ImageSegment {  // PT_LOAD, not empty
  uint64_t load_address = 0;
  uint64_t address = 0;
  uint64_t file_bytes = 0;
  uint64_t bytes = 0;
};

struct ImageSection {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::string_view content = {};  // in the ELF file that was read; empty when it holds none
};

struct ImageSizes {
  uint64_t text_bytes = 0;      // .vectors, .text, .ARM.exidx
  uint64_t rodata_bytes = 0;    // .rodata, .helx_request
  uint64_t weight_bytes = 0;    // .helx_weights
  uint64_t data_bytes = 0;      // .data: in ROM and in RAM
  uint64_t bss_bytes = 0;       // .bss, .helx_noinit: the runner's
  uint64_t stack_bytes = 0;     // .helx_stack: reserved
  uint64_t arena_bytes = 0;     // .helx_arena
  uint64_t variable_bytes = 0;  // .helx_variables

  uint64_t rom_bytes() const { return text_bytes + rodata_bytes + weight_bytes + data_bytes; }
  uint64_t ram_bytes() const {
    return data_bytes + bss_bytes + stack_bytes + arena_bytes + variable_bytes;
  }
};

struct Image {
  std::vector<ImageSegment> segments;
  std::vector<ImageSection> sections;  // those that take memory, in the file's order
  ImageSizes sizes;
};

// INVALID_ARGUMENT when `elf` is no such file. The sections' content lives as long as `elf`.
absl::StatusOr<Image> ReadImage(std::string_view elf);

}  // namespace helx

#endif  // HELX_CORE_BUNDLE_IMAGE_H_
