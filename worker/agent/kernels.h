// The part of an image that depends on no model: runner and kernels, compiled once per core, flags and compiler.
#ifndef HELX_WORKER_AGENT_KERNELS_H_
#define HELX_WORKER_AGENT_KERNELS_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "worker/agent/catalogue.h"
#include "worker/engine/toolchain.h"

namespace helx::agent {

// Archives in one folder, named by what they were made from. Several workers may share the folder.
class KernelArchives {
 public:
  // Gives every board of the catalogue whose sources are not those this program was built with a reason not to be used.
  // UNAVAILABLE when the folder cannot be made.
  static absl::StatusOr<KernelArchives> Open(const std::string& folder, Catalogue* catalogue);

  // Makes sure that the folder holds the platform's archive; the first time it compiles it, which takes seconds. Safe to
  // call from several threads.
  absl::Status Prepare(std::string_view platform) const;

  const std::string& folder() const { return folder_; }

 private:
  explicit KernelArchives(std::string folder)
      : folder_(std::move(folder)), mutex_(std::make_unique<std::mutex>()) {}

  std::string folder_;
  std::optional<engine::Toolchain> toolchain_;  // none: the catalogue says so
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace helx::agent

#endif  // HELX_WORKER_AGENT_KERNELS_H_
