#include "worker/runner/runner_sources.h"

#include <array>
#include <cstdlib>

#include "core/base/file.h"
#include "core/base/sha256.h"

namespace helx::runner {
namespace {

constexpr std::array kCommon = {"startup.c", "runner.c", "framing.c",
                                "measure.c", "sha256.c", "probe.c"};
constexpr std::array kHeaders = {"board.h",   "frames.h", "framing.h", "helx_model.h", "loader_block.h",
                                 "measure.h", "mpu.h",    "runner.h",  "sha256.h",     "uart_cmsdk.h"};

std::vector<std::string> BoardSources(const target::Board& board) {
  return {std::string(board.board_source),
          board.protection == target::MemoryProtection::kPmsav7 ? "mpu_v7m.c" : "mpu_v8m.c"};
}

}  // namespace

std::string DataDirectory() {
  const char* directory = std::getenv("HELX_DATA_DIR");
  return directory != nullptr && *directory != '\0' ? directory : HELX_DEFAULT_DATA_DIR;
}

std::string SourceDirectory() { return DataDirectory() + "/runner"; }

std::vector<std::string> Sources(const target::Board& board) {
  std::vector<std::string> out = BoardSources(board);
  out.insert(out.end(), kCommon.begin(), kCommon.end());
  return out;
}

std::vector<std::string_view> CompileFlags() {
  return {"-std=c99",           "-O2",            "-ffreestanding",    "-ffunction-sections",
          "-fdata-sections",    "-fno-common",    "-ffp-contract=off", "-fno-strict-aliasing",
          "-Wall",              "-Wextra",        "-Werror"};
}

std::vector<std::string_view> LinkFlags() {
  return {"-nostartfiles", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments",
          "-Wl,--build-id=none", "-Wl,--start-group", "-lc", "-lm", "-lgcc", "-Wl,--end-group"};
}

absl::StatusOr<std::string> SourceDigest(const target::Board& board) {
  std::vector<std::string> names = Sources(board);
  names.insert(names.end(), kHeaders.begin(), kHeaders.end());
  Sha256 hash;
  for (const std::string& name : names) {
    HELX_ASSIGN_OR_RETURN(const std::string content, ReadFile(SourceDirectory() + "/" + name));
    hash.Update(name + "\n" + std::to_string(content.size()) + "\n");
    hash.Update(content);
  }
  return hash.FinishHex();
}

}  // namespace helx::runner
