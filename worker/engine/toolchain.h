// The cross compiler: from generated sources to a linked image, with every command on record.
//
// Three stages, each kept by the caller for as long as its inputs stay the same:
//   CompileKernels  kernels and runner, per board           -> libhelx.a
//   CompileModel    generated model code, per model + board -> model.o, weights.o
//   LinkImage       the request's constants, per request    -> model.elf, model.map
// Equal inputs give equal bytes: no paths, times or user names enter an output.
#ifndef HELX_WORKER_ENGINE_TOOLCHAIN_H_
#define HELX_WORKER_ENGINE_TOOLCHAIN_H_

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/base/status.h"
#include "core/experiment/frozen_request.h"
#include "worker/engine/engine.h"
#include "worker/target/board.h"
#include "worker/target/image.h"
#include "worker/target/linker_script.h"

namespace helx::engine {

inline constexpr char kCompilerProgram[] = "arm-none-eabi-gcc";
inline constexpr char kArchiverProgram[] = "arm-none-eabi-ar";

// One command that was run, for replaying it.
struct RecordedCommand {
  std::string directory;
  std::vector<std::string> argv;  // argv[0] is an absolute path
};

// [{"directory","argv":[...]}, ...]: the content of commands.json.
Json CommandsToJson(const std::vector<RecordedCommand>& commands);

// C definitions of helx_request_digest, helx_input_digests and helx_input_set_count (worker/runner/helx_model.h).
// `input_digests[set][input]`; at least one set, equally long sets.
std::string RequestConstants(const Sha256Bytes& request_digest,
                             const std::vector<std::vector<Sha256Bytes>>& input_digests);

struct LinkedImage {
  std::string elf_path;  // {folder}/model.elf
  std::string map_path;  // {folder}/model.map
  target::ImageFigures figures;
  target::Placement placement;  // as the sections' addresses in the ELF file confirm it
};

// Immutable after Find; its methods may run at once in different folders.
class Toolchain {
 public:
  // The arm-none-eabi-gcc in PATH. NOT_FOUND says what to install.
  static absl::StatusOr<Toolchain> Find();

  // The same compiler under an identity that Find established: inside a sandbox there are no packages to ask.
  static absl::StatusOr<Toolchain> WithIdentity(ToolIdentity identity);

  // {"arm-none-eabi-gcc", "12.2.1 20221205", "gcc-arm-none-eabi 15:12.2.rel1-1, binutils-arm-none-eabi ..., ..."}: compiler,
  // and the Debian packages of everything that ends up in an image; of a compiler that is none of Debian's, a SHA-256 over
  // its programs.
  const ToolIdentity& identity() const { return identity_; }

  // Hex SHA-256 of all that libhelx.a depends on: board, flags, toolchain, kernel and runner sources. INTERNAL when the
  // sources in runner::DataDirectory() are not those this program was built with.
  absl::StatusOr<std::string> KernelsKey(const target::Board& board) const;

  // Writes {folder}/libhelx.a. REQUIRES (here and below): the folder exists and is the caller's own; a failed compilation is
  // INTERNAL with the compiler's first lines, since all sources are HELX's own; UNAVAILABLE "compiler_killed" when somebody
  // killed it.
  absl::Status CompileKernels(const target::Board& board, const std::string& folder,
                              std::vector<RecordedCommand>* commands) const;

  // Writes the generated files, {folder}/model.o and, with constants, {folder}/weights.o.
  absl::Status CompileModel(const GeneratedModel& model, const target::Board& board,
                            const std::string& folder,
                            std::vector<RecordedCommand>* commands) const;

  // Writes {folder}/request.c (the C text of RequestConstants) and {folder}/request.o.
  absl::Status CompileRequest(const std::string& request_constants, const target::Board& board,
                              const std::string& folder,
                              std::vector<RecordedCommand>* commands) const;

  // Links {folder}/request.o, {model_folder}/*.o and {kernels_folder}/libhelx.a into {folder}/model.elf, and reads back from it
  // where every section lies. OUT_OF_RANGE "does_not_fit: ..." when a memory region of the board is too small, naming region, need
  // and size; INTERNAL when a section lies elsewhere than the placement says. REQUIRES: target::CheckWish(board, wish).
  absl::StatusOr<LinkedImage> LinkObjects(const GeneratedModel& model, const target::Board& board,
                                          const std::string& kernels_folder,
                                          const std::string& model_folder,
                                          const std::string& folder,
                                          std::vector<RecordedCommand>* commands,
                                          const target::PlacementWish& wish = {}) const;

  // CompileRequest, then LinkObjects.
  absl::StatusOr<LinkedImage> LinkImage(const GeneratedModel& model,
                                        const std::string& request_constants,
                                        const target::Board& board,
                                        const std::string& kernels_folder,
                                        const std::string& model_folder, const std::string& folder,
                                        std::vector<RecordedCommand>* commands,
                                        const target::PlacementWish& wish = {}) const;

 private:
  Toolchain() = default;

  std::string compiler_;  // absolute paths
  std::string archiver_;
  ToolIdentity identity_;
};

}  // namespace helx::engine

#endif  // HELX_WORKER_ENGINE_TOOLCHAIN_H_
