#include "worker/agent/kernels.h"

#include <cstdlib>
#include <filesystem>

#include <spdlog/spdlog.h>

#include "worker/runner/runner_sources.h"
#include "worker/target/board.h"

namespace helx::agent {
namespace {

namespace fs = std::filesystem;

// Compiles beside the final place and renames: a reader never sees half an archive, and of two workers that do the same the
// first wins with the same bytes.
absl::Status CompileInto(const engine::Toolchain& toolchain, const target::Board& board,
                         const std::string& folder, const std::string& key) {
  std::string temporary = folder + "/tmp.XXXXXX";
  if (mkdtemp(temporary.data()) == nullptr) {
    return absl::UnavailableError("cannot create a folder in " + folder);
  }
  std::vector<engine::RecordedCommand> commands;
  const absl::Status status = toolchain.CompileKernels(board, temporary, &commands);
  std::error_code error;
  if (status.ok()) {
    fs::permissions(temporary, fs::perms(0755), error);
    fs::rename(temporary, folder + "/" + key, error);
  }
  fs::remove_all(temporary, error);
  return status;
}

}  // namespace

absl::StatusOr<std::string> KeepKernels(const engine::Toolchain& toolchain,
                                        const target::Board& board, const std::string& folder) {
  HELX_ASSIGN_OR_RETURN(const std::string key, toolchain.KernelsKey(board));
  const std::string archive = folder + "/" + key;
  if (fs::exists(archive + "/libhelx.a")) return archive;
  spdlog::info("compiling the kernels for {}", board.platform);
  HELX_RETURN_IF_ERROR(CompileInto(toolchain, board, folder, key));
  if (fs::exists(archive + "/libhelx.a")) return archive;
  return absl::UnavailableError("the kernels could not be kept in " + folder);
}

absl::StatusOr<KernelArchives> KernelArchives::Open(const std::string& folder,
                                                    Catalogue* catalogue) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError("cannot create " + folder + ": " + error.message());
  HELX_RETURN_IF_ERROR(runner::KeepSources(folder));
  KernelArchives archives(folder);
  for (TargetEntry& target : catalogue->targets) {
    const target::Board* board = target::FindBoard(target.platform);
    if (board == nullptr || !target.reason.empty()) continue;
    if (!archives.toolchain_) {
      // The catalogue has asked the compiler who it is.
      auto toolchain = engine::Toolchain::WithIdentity(target.toolchain);
      if (!toolchain.ok()) return archives;
      archives.toolchain_ = *std::move(toolchain);
    }
    const auto key = archives.toolchain_->KernelsKey(*board);
    if (!key.ok()) target.reason = "the kernels cannot be compiled: " + MessageOf(key.status());
  }
  return archives;
}

absl::StatusOr<std::string> KernelArchives::Prepare(const std::string& platform) const {
  const target::Board* board = target::FindBoard(platform);
  if (board == nullptr || !toolchain_) return std::string();
  std::lock_guard lock(prepared_->mutex);
  std::string& prepared = prepared_->folders[platform];
  if (!prepared.empty() && fs::exists(prepared + "/libhelx.a")) return prepared;
  auto folder = KeepKernels(*toolchain_, *board, folder_);
  if (!folder.ok()) {
    return Annotate(folder.status(), "the kernels for " + platform + " cannot be compiled");
  }
  return prepared = *std::move(folder);
}

}  // namespace helx::agent
