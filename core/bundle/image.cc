#include "core/bundle/image.h"

#include <elf.h>

#include <cstring>

namespace helx {
namespace {

// The `index`-th entry of a table, or false when it lies outside the file.
template <typename T>
bool Entry(std::string_view elf, uint64_t offset, uint64_t entry_bytes, uint64_t index, T* out) {
  const uint64_t at = offset + index * entry_bytes;
  if (entry_bytes < sizeof(T) || at > elf.size() || elf.size() - at < sizeof(T)) return false;
  std::memcpy(out, elf.data() + at, sizeof(T));
  return true;
}

bool Inside(std::string_view elf, uint64_t offset, uint64_t bytes) {
  return offset <= elf.size() && bytes <= elf.size() - offset;
}

absl::Status Malformed(std::string_view what) {
  return InvalidArgument("the image is not a well-formed 32-bit Arm ELF file: " +
                         std::string(what));
}

absl::Status ReadSegments(std::string_view elf, const Elf32_Ehdr& header, Image* image) {
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf32_Phdr segment;
    if (!Entry(elf, header.e_phoff, header.e_phentsize, i, &segment)) {
      return Malformed("a program header lies outside the file");
    }
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    if (segment.p_filesz > segment.p_memsz || !Inside(elf, segment.p_offset, segment.p_filesz)) {
      return Malformed("a segment lies outside the file");
    }
    image->segments.push_back(
        {segment.p_paddr, segment.p_vaddr, segment.p_filesz, segment.p_memsz});
  }
  return absl::OkStatus();
}

void Weigh(const ImageSection& section, ImageSizes* sizes) {
  const std::string& name = section.name;
  if (name == ".vectors" || name == ".text" || name == ".ARM.exidx") {
    sizes->text_bytes += section.bytes;
  }
  if (name == ".rodata" || name == ".helx_request") sizes->rodata_bytes += section.bytes;
  if (name == ".helx_weights") sizes->weight_bytes += section.bytes;
  if (name == ".data") sizes->data_bytes += section.bytes;
  if (name == ".bss" || name == ".helx_noinit") sizes->bss_bytes += section.bytes;
  if (name == ".helx_stack") sizes->stack_bytes += section.bytes;
  if (name == ".helx_arena") sizes->arena_bytes += section.bytes;
  if (name == ".helx_variables") sizes->variable_bytes += section.bytes;
}

absl::Status ReadSections(std::string_view elf, const Elf32_Ehdr& header, Image* image) {
  Elf32_Shdr names;
  if (!Entry(elf, header.e_shoff, header.e_shentsize, header.e_shstrndx, &names) ||
      !Inside(elf, names.sh_offset, names.sh_size)) {
    return Malformed("it has no section names");
  }
  const std::string_view texts = elf.substr(names.sh_offset, names.sh_size);
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf32_Shdr section;
    if (!Entry(elf, header.e_shoff, header.e_shentsize, i, &section) ||
        section.sh_name >= texts.size()) {
      return Malformed("a section header lies outside the file");
    }
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) continue;
    const std::string_view rest = texts.substr(section.sh_name);
    ImageSection& read = image->sections.emplace_back(ImageSection{
        std::string(rest.substr(0, rest.find('\0'))), section.sh_addr, section.sh_size});
    Weigh(read, &image->sizes);
    if (section.sh_type == SHT_NOBITS) continue;
    if (!Inside(elf, section.sh_offset, section.sh_size)) {
      return Malformed("a section lies outside the file");
    }
    read.content = elf.substr(section.sh_offset, section.sh_size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Image> ReadImage(std::string_view elf) {
  Elf32_Ehdr header;
  if (!Entry(elf, 0, sizeof(header), 0, &header)) return Malformed("it is too short");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_ARM ||
      header.e_type != ET_EXEC) {
    return Malformed("its header says otherwise");
  }
  Image image;
  HELX_RETURN_IF_ERROR(ReadSegments(elf, header, &image));
  HELX_RETURN_IF_ERROR(ReadSections(elf, header, &image));
  return image;
}

}  // namespace helx
