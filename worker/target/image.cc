#include "worker/target/image.h"

#include <utility>

#include "core/base/hex.h"

namespace helx::target {
namespace {

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

}  // namespace

absl::StatusOr<ImageFigures> InspectImage(std::string_view elf, const Board& board) {
  HELX_ASSIGN_OR_RETURN(Image image, ReadImage(elf));
  for (const ImageSegment& segment : image.segments) {
    HELX_RETURN_IF_ERROR(CheckSpan(board, segment.address, segment.bytes));
    if (segment.file_bytes > 0) {
      HELX_RETURN_IF_ERROR(CheckSpan(board, segment.load_address, segment.file_bytes));
    }
  }
  ImageFigures figures;
  static_cast<ImageSizes&>(figures) = image.sizes;
  figures.sections = std::move(image.sections);
  for (ImageSection& section : figures.sections) {
    section.content = {};
    const MemoryRegion* region = RegionOf(board, section.address, section.bytes);
    if (region != nullptr) figures.region_bytes[std::string(region->name)] += section.bytes;
  }
  return figures;
}

}  // namespace helx::target
