// The part of an image that depends on no model: runner and kernels, compiled once per core, flags and compiler.
#ifndef HELX_WORKER_AGENT_KERNELS_H_
#define HELX_WORKER_AGENT_KERNELS_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "worker/agent/catalogue.h"
#include "worker/engine/toolchain.h"

namespace helx::agent {

// {folder}/{key of the kernels}, which holds the board's libhelx.a: compiled the first time, found later. Processes may share
// the folder, which exists. UNAVAILABLE when nothing can be kept in it; else as Toolchain::CompileKernels.
absl::StatusOr<std::string> KeepKernels(const engine::Toolchain& toolchain,
                                        const target::Board& board, const std::string& folder);

// Archives in one folder, named by what they were made from. Several workers may share the folder.
class KernelArchives {
 public:
  // Gives every board of the catalogue whose sources are not those this program was built with a reason not to be used.
  // UNAVAILABLE when the folder cannot be made.
  static absl::StatusOr<KernelArchives> Open(const std::string& folder, Catalogue* catalogue);

  // The folder that holds the platform's libhelx.a, compiled the first time, which takes seconds; "" for a platform or
  // toolchain that is not here (the action says so). Safe to call from several threads.
  absl::StatusOr<std::string> Prepare(const std::string& platform) const;

 private:
  explicit KernelArchives(std::string folder)
      : folder_(std::move(folder)), prepared_(std::make_unique<Prepared>()) {}

  std::string folder_;
  std::optional<engine::Toolchain> toolchain_;  // none: the catalogue says so
  struct Prepared {
    std::mutex mutex;
    std::map<std::string, std::string> folders;  // by platform
  };
  std::unique_ptr<Prepared> prepared_;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_KERNELS_H_
