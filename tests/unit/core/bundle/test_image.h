// A linked image of corstone-300 small enough to calculate by hand, and the memory plan it was
// linked from.
#ifndef HELX_TESTS_UNIT_CORE_BUNDLE_TEST_IMAGE_H_
#define HELX_TESTS_UNIT_CORE_BUNDLE_TEST_IMAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/bundle/result.h"

namespace helx {

struct TestSection {
  std::string name;
  uint32_t address = 0;
  uint32_t bytes = 0;
  std::string content;  // empty: takes memory, but not in the file
};

// An ELF file of these sections, in this order.
std::string TestElf(const std::vector<TestSection>& sections);

// .text 512, .rodata 64, .helx_request `request`, .helx_weights 1024, .data 8, .bss 100,
// .helx_stack 4096, .helx_arena 256, .helx_variables 32.
std::vector<TestSection> TestSections(const std::string& request);

// Of the image of TestSections with a request of 32 bytes, by hand: text 512, rodata 64 + 32 = 96,
// ROM 512 + 96 + 1024 + 8 = 1640, RAM 8 + 100 + 4096 + 256 + 32 = 4492. The stack's high-water mark
// is 616 bytes.
MemoryFigures TestMemory();

// build/memory.json of that image: arena 256, variables 16, weights 1000, one tensor.
std::string TestMemoryPlan();

}  // namespace helx

#endif  // HELX_TESTS_UNIT_CORE_BUNDLE_TEST_IMAGE_H_
