#include "worker/target/qemu.h"

#include <sys/resource.h>

#include <cstdio>
#include <filesystem>

#include "core/base/file.h"
#include "worker/runner/loader_block.h"
#include "worker/sandbox/process.h"
#include "worker/target/image.h"
#include "worker/target/loader_image.h"

namespace helx::target {
namespace {

using Clock = std::chrono::steady_clock;

// Enough for the 2 GiB of address space that mps3-an547's DDR takes, used or not.
constexpr uint64_t kAddressSpaceBytes = 3'000'000'000;
constexpr size_t kImageBytesMax = size_t{512} << 20;

std::string IcountSetting(const Board& board) {
  return "shift=" + std::to_string(board.icount_shift) + ",sleep=off";
}

collect::Expectation Expect(const RunRequest& request) {
  collect::Expectation expected;
  expected.request_digest = request.request_digest;
  expected.input_count = static_cast<uint32_t>(request.input_sets[0].size());
  expected.output_bytes = request.output_bytes;
  expected.warmup = static_cast<uint32_t>(request.acquisition.warmup);
  expected.samples = static_cast<uint32_t>(request.acquisition.samples);
  expected.state = request.acquisition.state == "carry" ? HELX_STATE_CARRY : HELX_STATE_RESET;
  expected.capture = request.acquisition.capture;
  expected.poison = request.poison;
  expected.input_set_count = static_cast<uint32_t>(request.input_sets.size());
  return expected;
}

absl::StatusOr<std::string> MakeLoaderImage(const Board& board, const RunRequest& request) {
  const Acquisition& acquisition = request.acquisition;
  if (acquisition.samples < 1 || acquisition.samples > HELX_SAMPLES_MAX || acquisition.warmup < 0 ||
      acquisition.warmup > HELX_WARMUP_MAX) {
    return InvalidArgument("samples must be 1 to " + std::to_string(HELX_SAMPLES_MAX) +
                           " and warmup 0 to " + std::to_string(HELX_WARMUP_MAX) + "; found " +
                           std::to_string(acquisition.samples) + " and " +
                           std::to_string(acquisition.warmup));
  }
  if (acquisition.state != "reset" && acquisition.state != "carry") {
    return InvalidArgument("state is \"" + acquisition.state + "\"; reset and carry are allowed");
  }
  LoaderSettings settings;
  settings.warmup = static_cast<uint32_t>(acquisition.warmup);
  settings.samples = static_cast<uint32_t>(acquisition.samples);
  settings.state = acquisition.state == "carry" ? HELX_STATE_CARRY : HELX_STATE_RESET;
  settings.capture = acquisition.capture;
  settings.poison = request.poison;
  settings.instruction_limit = request.limits.instructions;
  return LoaderImage(board, settings, request.input_sets);
}

// QEMU's remarks that say nothing about a run.
std::string WithoutNoise(const std::string& log) {
  std::string out;
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line(log.data() + at, end - at);
    if (line.find("has no peer") == std::string_view::npos) out += std::string(line) + "\n";
    at = end + 1;
  }
  if (!out.empty()) out.pop_back();
  return out;
}

// Feeds the collector and keeps the three clocks.
class Watch {
 public:
  Watch(const RunRequest& request, collect::Collector* collector)
      : request_(request), collector_(collector) {}

  bool OnBytes(std::string_view bytes) {
    const uint32_t frames = collector_->frames(), invocations = collector_->invocations();
    wanted_ = collector_->Feed(bytes);
    if (collector_->frames() != frames) last_frame_ = Clock::now();
    if (collector_->invocations() != invocations && request_.on_progress) {
      const Acquisition& acquisition = request_.acquisition;
      request_.on_progress(collector_->invocations(),
                           static_cast<uint32_t>(acquisition.warmup + acquisition.samples));
    }
    return wanted_;
  }

  bool MustStop() {
    const auto quiet = Clock::now() - last_frame_;
    const RunLimits& limits = request_.limits;
    silent_ = silent_ || quiet >= (collector_->frames() == 0 ? limits.start : limits.silence);
    cancelled_ = cancelled_ || (request_.cancelled && request_.cancelled());
    return silent_ || cancelled_;
  }

  bool wanted() const { return wanted_; }
  bool silent() const { return silent_; }
  bool cancelled() const { return cancelled_; }

 private:
  const RunRequest& request_;
  collect::Collector* collector_;
  Clock::time_point last_frame_ = Clock::now();
  bool wanted_ = true;
  bool silent_ = false;
  bool cancelled_ = false;
};

}  // namespace

QemuTarget::QemuTarget(const Board& board, std::string program)
    : board_(board), program_(std::move(program)) {}

std::vector<std::string> QemuTarget::CommandLine(const std::string& image,
                                                 const std::string& loader) const {
  char address[16];
  std::snprintf(address, sizeof(address), "0x%08x", board_.staging_address);
  // Semihosting stays off: with it an image can open the host's files and run its programs.
  return {program_, "-M", std::string(board_.machine), "-nodefaults", "-no-user-config",
          "-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot",
          "-accel", "tcg,tb-size=32", "-icount", IcountSetting(board_),
          "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
          "-kernel", image,
          "-device", "loader,file=" + loader + ",addr=" + address + ",force-raw=on"};
}

absl::StatusOr<ToolIdentity> QemuTarget::Identity() const {
  const std::string path = sandbox::FindProgram(program_);
  if (path.empty()) {
    return NotFound("the emulator " + program_ +
                    " is not installed (Debian: apt-get install qemu-system-arm)");
  }
  sandbox::Command command;
  command.argv = {path, "--version"};
  command.environment = {"LC_ALL=C", "PATH=/usr/bin:/bin"};
  command.limit = std::chrono::seconds(30);
  HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result, sandbox::Run(command));
  // "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"; the parentheses are the packager's.
  constexpr std::string_view kPrefix = "QEMU emulator version ";
  const std::string line = result.out.substr(0, result.out.find('\n'));
  if (!result.ok() || line.rfind(kPrefix, 0) != 0) {
    return FailedPrecondition(path + " --version does not answer as QEMU does: \"" + line + "\"");
  }
  const size_t space = std::min(line.find(' ', kPrefix.size()), line.size());
  ToolIdentity identity;
  identity.name = kQemuProgram;
  identity.version = line.substr(kPrefix.size(), space - kPrefix.size());
  const size_t open = line.find('('), close = line.rfind(')');
  // A program elsewhere may repeat a package's words without being the package's.
  std::error_code error;
  const bool packaged =
      std::filesystem::canonical(path, error).string().starts_with("/usr/bin/");
  if (packaged && open != std::string::npos && close != std::string::npos && open < close) {
    identity.detail = "package=" + line.substr(open + 1, close - open - 1);
  } else {
    HELX_ASSIGN_OR_RETURN(const std::string binary, ReadFile(path));
    identity.detail = "sha256=" + Sha256Hex(binary);
  }
  identity.detail += ";machine=" + std::string(board_.machine) + ";icount=" + IcountSetting(board_);
  return identity;
}

absl::StatusOr<RunOutcome> QemuTarget::Run(const RunRequest& request) const {
  RunOutcome outcome;
  HELX_ASSIGN_OR_RETURN(const std::string loader_image, MakeLoaderImage(board_, request));
  HELX_ASSIGN_OR_RETURN(const std::string elf, ReadFile(request.image, kImageBytesMax));
  const auto figures = InspectImage(elf, board_);
  if (!figures.ok()) {
    outcome.failure = MakeFailure(Fault::kBug, "image_unusable", MessageOf(figures.status()));
    return outcome;
  }
  const std::string loader = request.work_folder + "/loader.bin";
  if (request.image.find(',') != std::string::npos || loader.find(',') != std::string::npos) {
    return InvalidArgument("QEMU takes no path with a comma: " + request.image + ", " + loader);
  }
  HELX_RETURN_IF_ERROR(WriteFile(loader, loader_image));

  collect::Collector collector(Expect(request));
  Watch watch(request, &collector);
  sandbox::Command command;
  command.argv = CommandLine(request.image, loader);
  command.environment = {"LC_ALL=C", "PATH=/usr/bin:/bin", "HOME=/nonexistent"};
  command.limit = request.limits.wall;
  command.output_limit = 64 << 10;
  command.resource_limits = {{RLIMIT_AS, kAddressSpaceBytes}, {RLIMIT_CORE, 0}, {RLIMIT_NOFILE, 256}};
  command.on_stdout = [&](std::string_view bytes) { return watch.OnBytes(bytes); };
  command.cancelled = [&] { return watch.MustStop(); };
  outcome.argv = command.argv;
  const auto result = sandbox::Run(command);
  if (!result.ok()) {
    outcome.failure = MakeFailure(Fault::kInfra, "emulator_not_installed", MessageOf(result.status()));
    return outcome;
  }
  outcome.wall = result->wall;
  outcome.log = WithoutNoise(result->err);
  outcome.registers = collector.registers();
  if (watch.wanted() && watch.cancelled()) {
    outcome.cancelled = true;
    return outcome;
  }
  collect::SimulatorEnd end;
  end.wall_limit = result->timed_out;
  end.silent = watch.silent();
  end.exit_code = result->exit_code;
  end.signal = result->signal;
  end.diagnostics = outcome.log;
  outcome.failure = collector.Explain(end);
  if (!outcome.failure) outcome.evidence = collector.evidence();
  return outcome;
}

std::unique_ptr<Target> MakeTarget(std::string_view platform) {
  const Board* board = FindBoard(platform);
  return board == nullptr ? nullptr : std::make_unique<QemuTarget>(*board);
}

}  // namespace helx::target
