// Something that can execute an image: an emulated board, an FVP, one day hardware.
#ifndef HELX_WORKER_TARGET_TARGET_H_
#define HELX_WORKER_TARGET_TARGET_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sha256.h"
#include "core/base/status.h"
#include "core/experiment/frozen_request.h"
#include "worker/collect/collector.h"
#include "worker/collect/failure.h"
#include "worker/target/board.h"

namespace helx::target {

struct RunLimits {
  std::chrono::milliseconds wall{600'000};
  std::chrono::milliseconds start{60'000};      // until the first frame
  std::chrono::milliseconds silence{180'000};   // between two frames: an invocation sends none
  uint64_t instructions = 100'000'000'000;      // of one invocation; 0: no limit
};

// Whatever fills activations and scratch before an invocation must not matter; a test varies it.
inline constexpr uint32_t kDefaultPoison = 0xa5a5a5a5;

struct RunRequest {
  std::string image;                                  // path of the ELF file
  Sha256Bytes request_digest{};                       // the image must report it
  std::vector<std::vector<std::string>> input_sets;   // bytes: one set, or one per sample
  std::vector<uint32_t> output_bytes;                 // per output
  Acquisition acquisition;
  uint32_t poison = kDefaultPoison;
  RunLimits limits;
  std::string work_folder;                            // an existing folder of this run's own, for the loader's file
  std::function<bool()> cancelled;                    // asked at least every 100 ms
  // Called with the invocations done and all there are, warm-ups included.
  std::function<void(uint32_t done, uint32_t all)> on_progress;
};

struct RunOutcome {
  std::optional<collect::Evidence> evidence;  // when there is neither a failure nor a cancellation
  std::optional<Failure> failure;
  bool cancelled = false;
  std::optional<collect::FaultRegisters> registers;
  std::vector<std::string> argv;              // the command, for a replay
  std::string log;                            // what the simulator printed beside the stream
  std::chrono::milliseconds wall{0};
};

class Target {
 public:
  virtual ~Target() = default;
  virtual const Board& board() const = 0;
  // The simulator's exact version and the settings that decide what it counts. NOT_FOUND: not installed.
  virtual absl::StatusOr<ToolIdentity> Identity() const = 0;
  // Executes once. What goes wrong with the run is in the outcome; an error status is a malformed request or this host's
  // file system.
  virtual absl::StatusOr<RunOutcome> Run(const RunRequest& request) const = 0;
};

// The target of a platform name, or nullptr.
std::unique_ptr<Target> MakeTarget(std::string_view platform);

}  // namespace helx::target

#endif  // HELX_WORKER_TARGET_TARGET_H_
