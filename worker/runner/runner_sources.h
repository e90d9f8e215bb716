// The runner's C sources, for the toolchain that compiles them into an image.
#ifndef HELX_WORKER_RUNNER_RUNNER_SOURCES_H_
#define HELX_WORKER_RUNNER_RUNNER_SOURCES_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "worker/target/board.h"

namespace helx::runner {

// The folder that holds runner/ (and the kernels beside it): $HELX_DATA_DIR, or ../share/helx of an installed program, or
// where this build came from.
std::string DataDirectory();

// Copies what DataDirectory() holds below `folder`, into a folder named by its content, unless it is there already, and lets
// DataDirectory() answer that copy from now on: a program that runs for days builds with the sources it started with.
// Call it before other threads start. UNAVAILABLE when the copy cannot be made.
absl::Status KeepSources(const std::string& folder);

// DataDirectory() + "/runner": -I this for helx_model.h.
std::string SourceDirectory();

// Names of the C files that make the runner of a board, in link order. They depend on nothing but the board: compile them
// once per (board, compiler).
std::vector<std::string> Sources(const target::Board& board);

// Compiler flags for them besides the board's own (board.compile_flags) and -ffile-prefix-map.
std::vector<std::string_view> CompileFlags();

// Linker flags besides the board's own: no start files, sections collected, and the libraries that supply memcpy, memset
// and memcmp. They follow the objects; the linker script is LinkerScript()'s.
std::vector<std::string_view> LinkFlags();

// Hex SHA-256 over names and contents of the runner's sources and headers for a board: part of the build key.
absl::StatusOr<std::string> SourceDigest(const target::Board& board);

}  // namespace helx::runner

#endif  // HELX_WORKER_RUNNER_RUNNER_SOURCES_H_
