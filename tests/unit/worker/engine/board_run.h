// Builds a model for an emulated board, runs recorded cases and sequences there, and compares.
#ifndef HELX_TESTS_UNIT_WORKER_ENGINE_BOARD_RUN_H_
#define HELX_TESTS_UNIT_WORKER_ENGINE_BOARD_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "worker/engine/toolchain.h"

namespace helx::engine {

struct BoardRun {
  std::string refusal;        // why the model is not built for the board; nothing below is set then
  std::string difference;     // from the recorded outputs; empty: every case and sequence agrees
  uint64_t instructions = 0;  // of the first case's invocation
  int64_t arena_bytes = 0;    // activations and scratch memory
  int64_t variable_bytes = 0;
  int64_t macs = 0;
  target::ImageFigures figures;
  target::Placement placement;
  // Of the run over independent cases: the image, and the emulator's command, which can be given
  // again.
  std::string elf_path;
  std::vector<std::string> argv;
};

struct RecordedModel {
  std::string name;   // of folders below the build tree
  std::string bytes;  // the .tflite file
  // Folders with input-I.bin and output-O.bin: independent cases, and consecutive invocations.
  std::vector<std::string> cases, sequence;
};

// One of the folder of real models.
absl::StatusOr<RecordedModel> RecordedRealModel(const std::string& name);

// NOT_FOUND without a cross compiler or an emulator; other errors are a build or a run that failed.
absl::StatusOr<BoardRun> RunOnBoard(const RecordedModel& model, std::string_view platform,
                                    const target::PlacementWish& wish = {});

}  // namespace helx::engine

#endif  // HELX_TESTS_UNIT_WORKER_ENGINE_BOARD_RUN_H_
