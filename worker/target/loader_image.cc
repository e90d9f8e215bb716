#include "worker/target/loader_image.h"

#include "worker/collect/wire.h"
#include "worker/runner/loader_block.h"

namespace helx::target {
namespace {

absl::Status CheckSettings(const LoaderSettings& settings,
                           const std::vector<std::vector<std::string>>& input_sets) {
  if (settings.samples < 1 || settings.samples > HELX_SAMPLES_MAX) {
    return InvalidArgument("samples is " + std::to_string(settings.samples) + "; 1 to " +
                           std::to_string(HELX_SAMPLES_MAX) + " are allowed");
  }
  if (settings.warmup > HELX_WARMUP_MAX) {
    return InvalidArgument("warmup is " + std::to_string(settings.warmup) + "; 0 to " +
                           std::to_string(HELX_WARMUP_MAX) + " are allowed");
  }
  if (input_sets.empty()) return InvalidArgument("there is no input set");
  if (input_sets.size() > 1 && (input_sets.size() != settings.samples || settings.warmup != 0)) {
    return InvalidArgument("an input sequence has one set per sample and no warm-ups: found " +
                           std::to_string(input_sets.size()) + " sets for " +
                           std::to_string(settings.samples) + " samples and " +
                           std::to_string(settings.warmup) + " warm-ups");
  }
  for (const auto& set : input_sets) {
    bool same = set.size() == input_sets[0].size();
    for (size_t i = 0; same && i < set.size(); ++i) same = set[i].size() == input_sets[0][i].size();
    if (!same) return InvalidArgument("the input sets differ in the number or size of their inputs");
  }
  return absl::OkStatus();
}

void Pad(std::string* bytes, size_t alignment) {
  bytes->resize((bytes->size() + alignment - 1) / alignment * alignment, '\0');
}

}  // namespace

absl::StatusOr<std::string> LoaderImage(const Board& board, const LoaderSettings& settings,
                                        const std::vector<std::vector<std::string>>& input_sets) {
  HELX_RETURN_IF_ERROR(CheckSettings(settings, input_sets));
  uint64_t payload = 0;
  for (const auto& set : input_sets) {
    for (const std::string& input : set) {
      payload += (input.size() + HELX_LOADER_ALIGNMENT - 1) / HELX_LOADER_ALIGNMENT *
                 HELX_LOADER_ALIGNMENT;
    }
  }
  if (HELX_LOADER_INPUT_OFFSET + payload > board.staging_bytes) {
    return absl::ResourceExhaustedError(
        "the inputs take " + std::to_string(payload) + " bytes; the staging memory of " +
        std::string(board.platform) + " holds " +
        std::to_string(board.staging_bytes - HELX_LOADER_INPUT_OFFSET));
  }
  std::string image;
  image.reserve(HELX_LOADER_INPUT_OFFSET + payload);
  for (const uint32_t field :
       {uint32_t{HELX_LOADER_MAGIC}, uint32_t{HELX_LOADER_VERSION}, settings.warmup,
        settings.samples, settings.state, uint32_t{settings.capture}, settings.poison,
        static_cast<uint32_t>(input_sets.size()), static_cast<uint32_t>(payload), uint32_t{0},
        static_cast<uint32_t>(settings.instruction_limit),
        static_cast<uint32_t>(settings.instruction_limit >> 32)}) {
    collect::AppendU32(&image, field);
  }
  collect::AppendU32(&image, collect::Crc32(image));
  image.resize(HELX_LOADER_INPUT_OFFSET, '\0');
  for (const auto& set : input_sets) {
    for (const std::string& input : set) {
      image += input;
      Pad(&image, HELX_LOADER_ALIGNMENT);
    }
  }
  return image;
}

}  // namespace helx::target
