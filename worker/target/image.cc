#include "worker/target/image.h"

#include <elf.h>

#include <cstring>

#include "core/base/hex.h"

namespace helx::target {
namespace {

// The `index`-th entry of a table, or nullptr when it lies outside the file.
template <typename T>
bool Entry(std::string_view elf, uint64_t offset, uint64_t entry_bytes, uint64_t index, T* out) {
  const uint64_t at = offset + index * entry_bytes;
  if (entry_bytes < sizeof(T) || at > elf.size() || elf.size() - at < sizeof(T)) return false;
  std::memcpy(out, elf.data() + at, sizeof(T));
  return true;
}

absl::Status Malformed(std::string_view what) {
  return InvalidArgument("the image is not a well-formed 32-bit Arm ELF file: " +
                         std::string(what));
}

const MemoryRegion* RegionOf(const Board& board, uint64_t address, uint64_t bytes) {
  for (const MemoryRegion& region : board.regions) {
    if (address >= region.address && address + bytes <= uint64_t{region.address} + region.bytes) {
      return &region;
    }
  }
  return nullptr;
}

absl::Status CheckSpan(const Board& board, uint64_t address, uint64_t bytes) {
  const uint64_t staging = board.staging_address;
  if (RegionOf(board, address, bytes) == nullptr ||
      (address < staging + board.staging_bytes && staging < address + bytes)) {
    return absl::OutOfRangeError("the image needs " + std::to_string(bytes) + " bytes at " +
                                 HexAddress(address) + ", outside the memory of " +
                                 std::string(board.platform));
  }
  return absl::OkStatus();
}

absl::Status CheckSegments(std::string_view elf, const Elf32_Ehdr& header, const Board& board) {
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf32_Phdr segment;
    if (!Entry(elf, header.e_phoff, header.e_phentsize, i, &segment)) {
      return Malformed("a program header lies outside the file");
    }
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_filesz > segment.p_memsz || segment.p_offset > elf.size() ||
        segment.p_filesz > elf.size() - segment.p_offset) {
      return Malformed("a segment lies outside the file");
    }
    HELX_RETURN_IF_ERROR(CheckSpan(board, segment.p_vaddr, segment.p_memsz));
    if (segment.p_filesz > 0) {
      HELX_RETURN_IF_ERROR(CheckSpan(board, segment.p_paddr, segment.p_filesz));
    }
  }
  return absl::OkStatus();
}

void AddSection(std::string_view name, const Elf32_Shdr& section, const Board& board,
                ImageFigures* figures) {
  const uint64_t bytes = section.sh_size;
  if (bytes > 0) figures->sections.push_back({std::string(name), section.sh_addr, bytes});
  if (name == ".vectors" || name == ".text" || name == ".ARM.exidx") figures->text_bytes += bytes;
  if (name == ".rodata" || name == ".helx_request") figures->rodata_bytes += bytes;
  if (name == ".helx_weights") figures->weight_bytes += bytes;
  if (name == ".data") figures->data_bytes += bytes;
  if (name == ".bss" || name == ".helx_noinit") figures->bss_bytes += bytes;
  if (name == ".helx_stack") figures->stack_bytes += bytes;
  if (name == ".helx_arena") figures->arena_bytes += bytes;
  if (name == ".helx_variables") figures->variable_bytes += bytes;
  const MemoryRegion* region = RegionOf(board, section.sh_addr, bytes);
  if (region != nullptr && bytes > 0) figures->region_bytes[std::string(region->name)] += bytes;
}

}  // namespace

absl::StatusOr<ImageFigures> InspectImage(std::string_view elf, const Board& board) {
  Elf32_Ehdr header;
  if (!Entry(elf, 0, sizeof(header), 0, &header)) return Malformed("it is too short");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_ARM ||
      header.e_type != ET_EXEC) {
    return Malformed("its header says otherwise");
  }
  HELX_RETURN_IF_ERROR(CheckSegments(elf, header, board));
  Elf32_Shdr names;
  if (!Entry(elf, header.e_shoff, header.e_shentsize, header.e_shstrndx, &names) ||
      names.sh_offset > elf.size() || names.sh_size > elf.size() - names.sh_offset) {
    return Malformed("it has no section names");
  }
  const std::string_view texts = elf.substr(names.sh_offset, names.sh_size);
  ImageFigures figures;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf32_Shdr section;
    if (!Entry(elf, header.e_shoff, header.e_shentsize, i, &section) ||
        section.sh_name >= texts.size()) {
      return Malformed("a section header lies outside the file");
    }
    if ((section.sh_flags & SHF_ALLOC) == 0) continue;
    const std::string_view rest = texts.substr(section.sh_name);
    AddSection(rest.substr(0, rest.find('\0')), section, board, &figures);
  }
  return figures;
}

}  // namespace helx::target
