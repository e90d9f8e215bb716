#include "worker/runner/runner_sources.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/base/file.h"
#include "core/base/sha256.h"

namespace helx::runner {
namespace {

namespace fs = std::filesystem;

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
  if (directory != nullptr && *directory != '\0') return directory;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "helx";
  if (!error && fs::is_directory(installed / "kernels", error)) return installed.string();
  return HELX_DEFAULT_DATA_DIR;
}

absl::Status KeepSources(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const char* part : {"kernels", "runner"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(DataDirectory() + "/" + part, error)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".c" && extension != ".h") continue;
      HELX_ASSIGN_OR_RETURN(std::string content, ReadFile(entry.path().string()));
      contents[part + ("/" + entry.path().filename().string())] = std::move(content);
    }
    if (error) {
      return absl::UnavailableError("cannot read " + DataDirectory() + "/" + part + ": " +
                                    error.message());
    }
  }
  Sha256 hash;
  for (const auto& [name, content] : contents) {
    hash.Update(name + "\n" + std::to_string(content.size()) + "\n");
    hash.Update(content);
  }
  const std::string kept = folder + "/sources-" + hash.FinishHex();
  if (!fs::exists(kept)) {
    // Written beside the final place and renamed; of two programs that do the same, either's copy is right.
    std::string temporary = folder + "/tmp.XXXXXX";
    if (mkdtemp(temporary.data()) == nullptr) {
      return absl::UnavailableError("cannot create a folder in " + folder);
    }
    std::error_code error;
    absl::Status status;
    for (const auto& [name, content] : contents) {
      const std::string path = temporary + "/" + name;
      fs::create_directories(fs::path(path).parent_path(), error);
      if (status.ok()) status = WriteFile(path, content);
    }
    if (status.ok()) {
      fs::permissions(temporary, fs::perms(0755), error);
      fs::rename(temporary, kept, error);
    }
    fs::remove_all(temporary, error);
    if (!status.ok()) return status;
    if (!fs::exists(kept)) {
      return absl::UnavailableError("the kernels' sources could not be kept in " + folder);
    }
  }
  setenv("HELX_DATA_DIR", kept.c_str(), 1);
  return absl::OkStatus();
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
