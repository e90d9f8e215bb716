#include "tests/unit/core/bundle/test_image.h"

#include <elf.h>

#include <cstring>

namespace helx {
namespace {

template <typename T>
std::string BytesOf(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

Metric OfElf(int64_t value) { return {value, "elf", "exact", ""}; }

}  // namespace

std::string TestElf(const std::vector<TestSection>& sections) {
  std::string names(1, '\0'), contents;
  const auto count = static_cast<uint16_t>(sections.size() + 2);  // the null section, the names
  const uint32_t contents_at = sizeof(Elf32_Ehdr) + count * sizeof(Elf32_Shdr);
  std::string table = BytesOf(Elf32_Shdr{});
  for (const TestSection& section : sections) {
    Elf32_Shdr header{};
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_type = section.content.empty() ? SHT_NOBITS : SHT_PROGBITS;
    header.sh_flags = SHF_ALLOC;
    header.sh_addr = section.address;
    header.sh_offset = contents_at + static_cast<uint32_t>(contents.size());
    header.sh_size = section.bytes;
    table += BytesOf(header);
    names += section.name + '\0';
    contents += section.content;
  }
  Elf32_Shdr header{};
  header.sh_name = static_cast<uint32_t>(names.size());
  header.sh_type = SHT_STRTAB;
  header.sh_offset = contents_at + static_cast<uint32_t>(contents.size());
  names += std::string(".shstrtab") + '\0';
  header.sh_size = static_cast<uint32_t>(names.size());
  table += BytesOf(header);
  Elf32_Ehdr elf{};
  std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
  elf.e_ident[EI_CLASS] = ELFCLASS32;
  elf.e_ident[EI_DATA] = ELFDATA2LSB;
  elf.e_type = ET_EXEC;
  elf.e_machine = EM_ARM;
  elf.e_shoff = sizeof(elf);
  elf.e_shentsize = sizeof(Elf32_Shdr);
  elf.e_shnum = count;
  elf.e_shstrndx = static_cast<uint16_t>(count - 1);
  return BytesOf(elf) + table + contents + names;
}

std::vector<TestSection> TestSections(const std::string& request) {
  return {{".text", 0x0, 512, std::string(512, 'c')},
          {".rodata", 0x200, 64, std::string(64, 'r')},
          {".helx_request", 0x240, static_cast<uint32_t>(request.size()), request},
          {".helx_weights", 0x70000000, 1024, std::string(1024, 'w')},
          {".helx_stack", 0x20000000, 4096, ""},
          {".data", 0x20001000, 8, std::string(8, 'd')},
          {".bss", 0x20001008, 100, ""},
          {".helx_arena", 0x31000000, 256, ""},
          {".helx_variables", 0x31000100, 32, ""}};
}

MemoryFigures TestMemory() {
  MemoryFigures memory;
  memory.rom_bytes = OfElf(1640);
  memory.text_bytes = OfElf(512);
  memory.rodata_bytes = OfElf(96);
  memory.weight_bytes = OfElf(1024);
  memory.ram_bytes = OfElf(4492);
  memory.arena_bytes = OfElf(256);
  memory.variable_bytes = OfElf(32);
  memory.stack_high_water_bytes = {616, "runner", "exact", ""};
  return memory;
}

std::string TestMemoryPlan() {
  const Json tensor{{"bytes", 10}, {"first", 1},   {"last", 3},    {"name", "out"},
                    {"number", 4}, {"offset", 32}, {"subgraph", 0}};
  // The operator's scratch memory and the tensor's ten bytes behind it.
  const Json step{{"index", 0},    {"kernel", "helx_add_s8"}, {"live_bytes", 26},    {"macs", 0},
                  {"name", "ADD"}, {"scratch_bytes", 16},     {"scratch_offset", 0}, {"step", 2},
                  {"subgraph", 0}};
  return PrettyJson(
      Json{{"arena_bytes", 256},
           {"operators", Json::array({step})},
           {"peak_bytes", 26},
           {"placement", Json{{"arena", "SRAM"}, {"code", "ITCM"}, {"weights", "DDR"}}},
           {"scratch_bytes", 16},
           {"tensors", Json::array({tensor})},
           {"variable_bytes", 16},
           {"weight_bytes", 1000}});
}

}  // namespace helx
