// QEMU's Arm boards with exact instruction counting.
#ifndef HELX_WORKER_TARGET_QEMU_H_
#define HELX_WORKER_TARGET_QEMU_H_

#include <string>
#include <vector>

#include "worker/target/target.h"

namespace helx::target {

inline constexpr char kQemuProgram[] = "qemu-system-arm";

class QemuTarget : public Target {
 public:
  // `program`: by name or path. `board` outlives the target.
  explicit QemuTarget(const Board& board, std::string program = kQemuProgram);

  const Board& board() const override { return board_; }
  absl::StatusOr<ToolIdentity> Identity() const override;
  absl::StatusOr<RunOutcome> Run(const RunRequest& request) const override;

  // The exact command for an image and a loader file (two paths without commas).
  std::vector<std::string> CommandLine(const std::string& image, const std::string& loader) const;

 private:
  const Board& board_;
  std::string program_;
};

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_QEMU_H_
