#include "core/bundle/image.h"

#include <gtest/gtest.h>

#include "core/bundle/measurements.h"
#include "tests/unit/core/bundle/test_image.h"

namespace helx {
namespace {

const std::string kRequest(32, 'q');

TEST(ReadImage, WeighsSections) {
  const std::string elf = TestElf(TestSections(kRequest));
  const auto image = ReadImage(elf);
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->sections.size(), 9u);
  EXPECT_EQ(image->sections[2].name, ".helx_request");
  EXPECT_EQ(image->sections[2].content, kRequest);
  EXPECT_EQ(image->sections[7].content, "");
  EXPECT_EQ(image->sections[7].address, 0x31000000u);
  const MemoryFigures expected = TestMemory();
  const MemoryFigures computed = MemoryOfImage(image->sizes);
  for (const MemoryMember& row : MemoryMembers()) {
    if (row.member == &MemoryFigures::stack_high_water_bytes) continue;
    EXPECT_EQ((computed.*row.member).value, (expected.*row.member).value) << row.name;
  }
  EXPECT_EQ(image->sizes.stack_bytes, 4096u);
  EXPECT_FALSE(computed.stack_high_water_bytes.value.has_value());
}

// Whatever is cut off a file or changed in it, the reader answers.
TEST(ReadImage, RefusesWhatIsCutOff) {
  const std::string elf = TestElf(TestSections(kRequest));
  for (size_t size = 0; size < elf.size(); size += 1 + size / 8) {
    EXPECT_FALSE(ReadImage(std::string_view(elf).substr(0, size)).ok()) << size;
  }
  size_t refused = 0;
  for (size_t at = 0; at < 52 + 11 * 40; ++at) {  // the header and the section headers
    std::string changed = elf;
    changed[at] = static_cast<char>(0xff);
    refused += !ReadImage(changed).ok();
  }
  EXPECT_GT(refused, 50u);
}

}  // namespace
}  // namespace helx
