#include "worker/target/linker_script.h"

#include <map>

#include "core/base/hex.h"

namespace helx::target {
namespace {

// Kernels load whole vectors: up to this many bytes behind a tensor are read, and must not fault.
constexpr uint64_t kReadSlack = 16;

// Emulators translate by pages of this size, and the table of vectors takes one.
constexpr uint64_t kPageBytes = 1024;

// What every image has of code and constants, and of the runner's data behind the stack, at the
// very least.
constexpr uint64_t kLeastCodeBytes = 4096;
constexpr uint64_t kLeastDataBytes = 5120;

// Regions that may hold `bytes` and the slack, the preferred one first, then the others in the
// board's order.
std::vector<const MemoryRegion*> Holding(const Board& board, std::string_view preferred,
                                         uint64_t bytes) {
  bytes += kReadSlack;
  std::vector<const MemoryRegion*> out;
  const MemoryRegion* first = FindRegion(board, preferred);
  if (first != nullptr && bytes <= first->bytes) out.push_back(first);
  for (const MemoryRegion& region : board.regions) {
    if (&region != first && region.name != board.data_region && region.bytes >= bytes) {
      out.push_back(&region);
    }
  }
  return out;
}

// Boundaries of what memory protection tells apart. Emulators translate by pages of 1 KiB: a page
// that belongs to two regions is emulated one instruction at a time.
constexpr std::string_view kCodeSections = R"(
  .text : ALIGN(1024) {
    __helx_code_start = .;
    *(.text .text.*)
    . = ALIGN(8);
  } > CODE
  .ARM.exidx : {
    *(.ARM.exidx .ARM.exidx.*)
    *(.ARM.extab .ARM.extab.*)
  } > CODE
  .rodata : ALIGN(16) {
    *(.rodata .rodata.*)
    . = ALIGN(16);
  } > CODE
  .helx_request : ALIGN(16) {
    KEEP(*(.helx_request .helx_request.*))
    . = ALIGN(1024);
    __helx_code_end = .;
  } > CODE)";

constexpr std::string_view kWeightSections = R"(
  .helx_weights : ALIGN(WEIGHTS_ALIGNMENT) {
    __helx_weights_start = .;
    *(.helx_weights .helx_weights.*)
    . += READ_SLACK;
    . = ALIGN(1024);
    __helx_weights_end = .;
  } > WEIGHTS)";

constexpr std::string_view kDataSections = R"(
  .helx_stack (NOLOAD) : {
    __helx_data_region = .;
    __helx_stack_limit = .;
    . += STACK_BYTES;
    __helx_stack_top = .;
  } > DATA
  .helx_noinit (NOLOAD) : ALIGN(8) {
    *(.helx_noinit .helx_noinit.*)
  } > DATA
  .data : ALIGN(8) {
    __helx_data_start = .;
    *(.data .data.*)
    . = ALIGN(8);
    __helx_data_end = .;
  } > DATA AT > CODE
  __helx_data_load = LOADADDR(.data);
  .bss (NOLOAD) : ALIGN(8) {
    __helx_bss_start = .;
    *(.bss .bss.* COMMON)
    . = ALIGN(8);
    __helx_bss_end = .;
  } > DATA)";

constexpr std::string_view kArenaSections = R"(
  .helx_arena (NOLOAD) : ALIGN(ARENA_ALIGNMENT) {
    __helx_arena_start = .;
    *(.helx_arena .helx_arena.*)
  } > ARENA
  .helx_variables (NOLOAD) : ALIGN(16) {
    *(.helx_variables .helx_variables.*)
    . += READ_SLACK;
    . = ALIGN(1024);
    __helx_arena_end = .;
  } > ARENA
  /DISCARD/ : { *(.init .fini .init_array* .fini_array*) }
)";

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string RegionNames(const Board& board, bool executable) {
  std::string names;
  for (const MemoryRegion& region : board.regions) {
    if (executable && !region.executable) continue;
    names += (names.empty() ? "" : ", ") + std::string(region.name);
  }
  return names;
}

absl::Status CheckPart(const Board& board, const char* part, const std::string& wish,
                       bool executable) {
  if (wish.empty()) return absl::OkStatus();
  const MemoryRegion* region = FindRegion(board, wish);
  if (region != nullptr && (!executable || region->executable)) return absl::OkStatus();
  return InvalidArgument("placement." + std::string(part) + ": found " + Quoted(wish) +
                         (region == nullptr ? "" : ", from which nothing can be executed") + "; " +
                         std::string(board.platform) + " has: " + RegionNames(board, executable));
}

// The wished region alone, when it is large enough; or what Holding answers.
std::vector<const MemoryRegion*> Candidates(const Board& board, std::string_view preferred,
                                            const std::string& wish, uint64_t bytes) {
  if (wish.empty()) return Holding(board, preferred, bytes);
  const MemoryRegion* region = FindRegion(board, wish);
  if (region == nullptr || bytes + kReadSlack > region->bytes) return {};
  return {region};
}

// Parts of different access in one region: on Armv7-M they must not meet within one of its eighths.
uint64_t PartAlignment(const Board& board, std::string_view region, bool shared) {
  const bool eighths = shared && board.protection == MemoryProtection::kPmsav7;
  return eighths ? FindRegion(board, region)->bytes / 8 : kPageBytes;
}

uint64_t WeightsAlignment(const Board& board, const Placement& placement) {
  return PartAlignment(
      board, placement.weights,
      placement.weights == placement.code || placement.weights == board.data_region);
}

uint64_t ArenaAlignment(const Board& board, const Placement& placement) {
  return PartAlignment(board, placement.arena,
                       placement.arena == placement.code || placement.arena == placement.weights);
}

// Whether the parts find room behind one another as LinkerScript orders them, if code and the
// runner's data took no more than that.
bool FitTogether(const Board& board, const Placement& placement, uint64_t weight_bytes,
                 uint64_t arena_bytes) {
  std::map<std::string_view, uint64_t> ends;
  bool fits = true;
  const auto append = [&](std::string_view name, uint64_t bytes, uint64_t alignment) {
    const MemoryRegion& region = *FindRegion(board, name);
    uint64_t& end = ends.try_emplace(name, region.address).first->second;
    end = (end + alignment - 1) / alignment * alignment + bytes;
    fits = fits && end <= uint64_t{region.address} + region.bytes;
  };
  const auto append_weights = [&] {
    append(placement.weights, weight_bytes + kReadSlack, WeightsAlignment(board, placement));
  };
  const bool weights_by_data = placement.weights == board.data_region;
  append(board.code_region, kPageBytes, kPageBytes);
  append(placement.code, kLeastCodeBytes, kPageBytes);
  if (!weights_by_data) append_weights();
  append(board.data_region, board.stack_bytes + kLeastDataBytes, 1);
  if (weights_by_data) append_weights();
  append(placement.arena, arena_bytes + kReadSlack, ArenaAlignment(board, placement));
  return fits;
}

}  // namespace

absl::Status CheckWish(const Board& board, const PlacementWish& wish) {
  HELX_RETURN_IF_ERROR(CheckPart(board, "code", wish.code, true));
  HELX_RETURN_IF_ERROR(CheckPart(board, "weights", wish.weights, false));
  return CheckPart(board, "arena", wish.arena, false);
}

absl::Status CheckPlaced(const ImageFigures& image, const Board& board,
                         const Placement& placement) {
  const std::map<std::string_view, std::string_view> regions = {
      {".vectors", board.code_region},    {".text", placement.code},
      {".ARM.exidx", placement.code},     {".rodata", placement.code},
      {".helx_request", placement.code},  {".helx_weights", placement.weights},
      {".helx_arena", placement.arena},   {".helx_variables", placement.arena},
      {".helx_stack", board.data_region}, {".helx_noinit", board.data_region},
      {".data", board.data_region},       {".bss", board.data_region}};
  for (const ImageSection& section : image.sections) {
    const auto it = regions.find(section.name);
    if (it == regions.end()) {
      return Internal("the linked image has a section " + section.name +
                      ", which no part of the placement names");
    }
    const MemoryRegion* region = FindRegion(board, it->second);
    const uint64_t end = uint64_t{region->address} + region->bytes;
    if (section.address < region->address || section.address + section.bytes > end) {
      return Internal("the linker put " + section.name + " (" + std::to_string(section.bytes) +
                      " bytes) at " + HexAddress(section.address) + ", outside of " +
                      std::string(region->name));
    }
  }
  return absl::OkStatus();
}

std::vector<Placement> Placements(const Board& board, uint64_t weight_bytes, uint64_t arena_bytes,
                                  const PlacementWish& wish) {
  const auto weights = Candidates(board, board.weights_region, wish.weights, weight_bytes);
  const auto arenas = Candidates(board, board.arena_region, wish.arena, arena_bytes);
  // With the code in one region, the first regions of the other parts in which all find room.
  const auto first_fit = [&](const MemoryRegion& code, std::vector<Placement>* out) {
    for (const MemoryRegion* weight : weights) {
      for (const MemoryRegion* arena : arenas) {
        const Placement placement{code.name, weight->name, arena->name};
        if (!FitTogether(board, placement, weight_bytes, arena_bytes)) continue;
        out->push_back(placement);
        return;
      }
    }
  };
  std::vector<Placement> out;
  for (const MemoryRegion* code : Candidates(board, board.code_region, wish.code, 0)) {
    if (code->executable) first_fit(*code, &out);
  }
  return out;
}

std::string LinkerScript(const Board& board, const Placement& placement) {
  const MemoryRegion& data = *FindRegion(board, board.data_region);
  std::string script = "ENTRY(helx_reset_entry)\nMEMORY {\n";
  for (const MemoryRegion& region : board.regions) {
    script += "  " + std::string(region.name) + " : ORIGIN = " + HexAddress(region.address) +
              ", LENGTH = " + HexAddress(region.bytes) + "\n";
  }
  script += "}\n";
  auto alias = [&](const char* name, std::string_view region) {
    script += "REGION_ALIAS(\"" + std::string(name) + "\", " + std::string(region) + ")\n";
  };
  alias("VECTORS", board.code_region);
  alias("CODE", placement.code);
  alias("WEIGHTS", placement.weights);
  alias("DATA", board.data_region);
  alias("ARENA", placement.arena);
  const bool weights_by_data = placement.weights == board.data_region;
  const bool arena_by_data = placement.arena == board.data_region;
  script += "WEIGHTS_ALIGNMENT = " + HexAddress(WeightsAlignment(board, placement)) + ";\n";
  script += "ARENA_ALIGNMENT = " + HexAddress(ArenaAlignment(board, placement)) + ";\n";
  script += "READ_SLACK = " + HexAddress(kReadSlack) + ";\n";
  script += "STACK_BYTES = " + HexAddress(board.stack_bytes) + ";\n";
  script += "__helx_staging = " + HexAddress(board.staging_address) + ";\n";
  script +=
      "__helx_staging_end = " + HexAddress(board.staging_address + board.staging_bytes) + ";\n";
  // The runner's data may use all of its region, unless a part of the model lies behind it.
  script += "__helx_data_region_end = " +
            (weights_by_data || arena_by_data ? std::string("ALIGN(__helx_bss_end, 1024)")
                                              : HexAddress(data.address + data.bytes)) +
            ";\n";
  // The processor reads the vector table at the start of the code region; nothing else may lie in
  // its page, so that a null pointer faults.
  script += "SECTIONS {\n  .vectors : { KEEP(*(.helx_vectors)) . = 1024; } > VECTORS";
  script += kCodeSections;
  // The stack stays at the start of its region, where an overflow leaves it.
  script += weights_by_data ? kDataSections : kWeightSections;
  script += weights_by_data ? kWeightSections : kDataSections;
  script += kArenaSections;
  script += "}\n";
  return script;
}

}  // namespace helx::target
