#include "worker/engine/toolchain.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "worker/engine/sources_hash.h"
#include "worker/runner/runner_sources.h"
#include "worker/sandbox/process.h"
#include "worker/target/linker_script.h"

namespace helx::engine {
namespace {

constexpr size_t kQuotedErrorBytes = 2000;

// Kernels and generated code. -fwrapv: accumulators wrap as the reference arithmetic's do;
// -ffp-contract=off: no fused multiply-add, so that floats are the same on every core.
constexpr std::string_view kModelFlags[] = {"-std=c99",
                                            "-O2",
                                            "-ffunction-sections",
                                            "-fdata-sections",
                                            "-fno-common",
                                            "-fwrapv",
                                            "-ffp-contract=off",
                                            "-fno-strict-aliasing",
                                            "-Wall",
                                            "-Wextra",
                                            "-Werror"};

std::string KernelsDirectory() { return runner::DataDirectory() + "/kernels"; }

// Every command runs under the same environment, whatever the worker's own is.
std::vector<std::string> Environment(const std::string& folder) {
  const char* path = std::getenv("PATH");
  return {"PATH=" + std::string(path == nullptr ? "/usr/bin:/bin" : path), "LC_ALL=C",
          "TMPDIR=" + folder};
}

absl::StatusOr<sandbox::ProcessResult> RunIn(const std::string& folder,
                                             std::vector<std::string> argv,
                                             std::vector<RecordedCommand>* commands) {
  if (commands != nullptr) commands->push_back({folder, argv});
  sandbox::Command command;
  command.argv = std::move(argv);
  command.directory = folder;
  command.environment = Environment(folder);
  command.limit = std::chrono::minutes(5);
  return sandbox::Run(command);
}

// Whether somebody else ended the command, or a program that the compiler's driver had started, of
// which it then says so: an operator, or a host without memory.
bool KilledFromOutside(const sandbox::ProcessResult& result) {
  if (result.timed_out || result.cancelled) return false;
  if (result.killed() || result.signal == SIGTERM) return true;
  for (const char* words :
       {"Killed signal terminated program", "Terminated signal terminated program",
        "terminated with signal 9 ", "terminated with signal 15 "}) {
    if (result.exit_code != 0 && result.err.find(words) != std::string::npos) return true;
  }
  return false;
}

absl::Status Failed(std::string_view what, const sandbox::ProcessResult& result) {
  if (KilledFromOutside(result)) {
    return WithErrorCode(
        absl::UnavailableError(std::string(what) +
                               " was killed from outside; is the host out of memory? " +
                               result.err.substr(0, kQuotedErrorBytes)),
        "compiler_killed");
  }
  const std::string end = result.timed_out ? "did not end within 5 minutes"
                          : result.signal > 0
                              ? "was ended by signal " + std::to_string(result.signal)
                              : "failed";
  return Internal(std::string(what) + " " + end + ": " + result.err.substr(0, kQuotedErrorBytes));
}

absl::Status RunOrFail(std::string_view what, const std::string& folder,
                       std::vector<std::string> argv, std::vector<RecordedCommand>* commands) {
  HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result,
                        RunIn(folder, std::move(argv), commands));
  return result.ok() ? absl::OkStatus() : Failed(what, result);
}

// The compiler with a board's flags; paths of this host stay out of the objects.
std::vector<std::string> CompilerCommand(const std::string& compiler, const target::Board& board,
                                         const std::string& folder) {
  std::vector<std::string> argv = {compiler};
  argv.insert(argv.end(), board.compile_flags.begin(), board.compile_flags.end());
  argv.push_back("-ffile-prefix-map=" + folder + "=.");
  argv.push_back("-ffile-prefix-map=" + runner::DataDirectory() + "=helx");
  return argv;
}

template <typename Range>
void Append(std::vector<std::string>* argv, const Range& flags) {
  for (const auto& flag : flags) argv->emplace_back(flag);
}

// Names of the kernels' files, sorted.
absl::StatusOr<std::vector<std::string>> KernelFiles() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(KernelsDirectory(), error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".c" || extension == ".h") names.push_back(entry.path().filename().string());
  }
  if (names.empty()) {
    return NotFound("no kernel sources in " + KernelsDirectory() +
                    "; set HELX_DATA_DIR to the folder that holds kernels/ and runner/");
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The hash that hash_sources.cmake computes, over the files as they are now.
absl::StatusOr<std::string> KernelsHashNow() {
  HELX_ASSIGN_OR_RETURN(const std::vector<std::string> names, KernelFiles());
  std::string lines;
  for (const std::string& name : names) {
    HELX_ASSIGN_OR_RETURN(const std::string content, ReadFile(KernelsDirectory() + "/" + name));
    lines += name + " " + Sha256Hex(content) + "\n";
  }
  return Sha256Hex(lines);
}

absl::StatusOr<std::string> Output(const std::vector<std::string>& argv) {
  HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result, RunIn("", argv, nullptr));
  if (!result.ok()) return Failed(argv[0], result);
  return result.out.substr(0, result.out.find('\n'));
}

// "gcc-arm-none-eabi 15:12.2.rel1-1, ..." when the compiler is that package's; otherwise empty.
std::string Packages(const std::string& compiler) {
  const std::string dpkg = sandbox::FindProgram("dpkg-query");
  if (dpkg.empty()) return "";
  const absl::StatusOr<sandbox::ProcessResult> files =
      RunIn("", {dpkg, "-L", "gcc-arm-none-eabi"}, nullptr);
  if (!files.ok() || !files->ok() || files->out.find("\n" + compiler + "\n") == std::string::npos) {
    return "";
  }
  const absl::StatusOr<sandbox::ProcessResult> versions =
      RunIn("", {dpkg, "-W", "-f", "${Package} ${Version}\n", "gcc-arm-none-eabi",
                 "binutils-arm-none-eabi", "libnewlib-arm-none-eabi"},
            nullptr);
  if (!versions.ok() || !versions->ok()) return "";
  std::string detail;
  for (size_t at = 0; at < versions->out.size();) {
    const size_t end = std::min(versions->out.find('\n', at), versions->out.size());
    detail += (detail.empty() ? "" : ", ") + versions->out.substr(at, end - at);
    at = end + 1;
  }
  return detail;
}

// SHA-256 over the compiler's driver and the programs that it starts.
absl::StatusOr<std::string> HashOfPrograms(const std::string& compiler) {
  std::string lines;
  for (const char* name : {"", "cc1", "as", "ld"}) {
    std::string path = compiler;
    if (*name != '\0') {
      HELX_ASSIGN_OR_RETURN(path, Output({compiler, "-print-prog-name=" + std::string(name)}));
      path = sandbox::FindProgram(path);
    }
    HELX_ASSIGN_OR_RETURN(const std::string binary, ReadFile(path));
    lines += std::string(name) + " " + Sha256Hex(binary) + "\n";
  }
  return "sha256:" + Sha256Hex(lines);
}

std::string ByteList(const Sha256Bytes& bytes) {
  std::string text = "{";
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::string("0x") + HexEncode({&bytes[i], 1});
  }
  return text + "}";
}

// "region `ITCM' overflowed by 1234 bytes", the linker's words.
struct Overflow {
  std::string region;
  uint64_t bytes;
};

std::optional<Overflow> ParseOverflow(const std::string& text) {
  const std::string before = "region `";
  const std::string between = "' overflowed by ";
  const size_t start = text.find(before);
  if (start == std::string::npos) return std::nullopt;
  const size_t name = start + before.size();
  const size_t middle = text.find(between, name);
  if (middle == std::string::npos) return std::nullopt;
  return Overflow{text.substr(name, middle - name),
                  std::strtoull(text.c_str() + middle + between.size(), nullptr, 10)};
}

absl::Status DoesNotFit(const target::Board& board, std::string_view region, uint64_t need,
                        uint64_t size) {
  return absl::OutOfRangeError("does_not_fit: the image needs " + std::to_string(need) +
                               " bytes in region " + std::string(region) + " of " +
                               std::string(board.platform) + ", which has " + std::to_string(size) +
                               "; use a smaller model or another platform");
}

uint64_t RegionBytes(const target::Board& board, std::string_view name) {
  const MemoryRegion* region = target::FindRegion(board, name);
  return region == nullptr ? 0 : region->bytes;
}

// Host paths out of the map, so that equal images have equal maps.
absl::Status NeutraliseMap(const std::string& path,
                           const std::vector<std::pair<std::string, std::string>>& replacements) {
  HELX_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  for (const auto& [from, to] : replacements) {
    std::string out;
    size_t at = 0;
    for (size_t hit; (hit = text.find(from, at)) != std::string::npos; at = hit + from.size()) {
      out.append(text, at, hit - at);
      out += to;
    }
    text = out.append(text, at);
  }
  return WriteFile(path, text);
}

int64_t MemoryFigure(const GeneratedModel& model, const char* name) {
  return model.memory.value(name, int64_t{0});
}

}  // namespace

Json CommandsToJson(const std::vector<RecordedCommand>& commands) {
  Json list = Json::array();
  for (const RecordedCommand& command : commands) {
    list.push_back({{"directory", command.directory}, {"argv", command.argv}});
  }
  return list;
}

std::string RequestConstants(const Sha256Bytes& request_digest,
                             const std::vector<std::vector<Sha256Bytes>>& input_digests) {
  std::string digests;
  for (const std::vector<Sha256Bytes>& set : input_digests) {
    for (const Sha256Bytes& digest : set) digests += "    " + ByteList(digest) + ",\n";
  }
  if (digests.empty()) digests = "    {0},\n";  // a model without inputs
  const std::string section = " __attribute__((section(\".helx_request\"))) = ";
  return "/* What this image was built to answer. */\n#include \"helx_model.h\"\n\n"
         "const uint8_t helx_request_digest[32]" +
         section + ByteList(request_digest) +
         ";\n"
         "const uint32_t helx_input_set_count" +
         section + std::to_string(input_digests.size()) +
         ";\nconst uint8_t helx_input_digests[][32]" + section + "{\n" + digests + "};\n";
}

absl::StatusOr<Toolchain> Toolchain::WithIdentity(ToolIdentity identity) {
  Toolchain toolchain;
  toolchain.compiler_ = sandbox::FindProgram(kCompilerProgram);
  toolchain.archiver_ = sandbox::FindProgram(kArchiverProgram);
  if (toolchain.compiler_.empty() || toolchain.archiver_.empty()) {
    return NotFound(
        "arm-none-eabi-gcc is not in PATH; install gcc-arm-none-eabi, binutils-arm-none-eabi and "
        "libnewlib-arm-none-eabi");
  }
  toolchain.identity_ = std::move(identity);
  return toolchain;
}

absl::StatusOr<Toolchain> Toolchain::Find() {
  HELX_ASSIGN_OR_RETURN(Toolchain toolchain, WithIdentity({}));
  // "arm-none-eabi-gcc (15:12.2.rel1-1) 12.2.1 20221205"
  HELX_ASSIGN_OR_RETURN(const std::string line, Output({toolchain.compiler_, "--version"}));
  const size_t bracket = line.rfind(") ");
  std::error_code error;
  std::string detail =
      Packages(std::filesystem::canonical(toolchain.compiler_, error).string());
  if (detail.empty()) {
    HELX_ASSIGN_OR_RETURN(detail, HashOfPrograms(toolchain.compiler_));
  }
  toolchain.identity_ = {kCompilerProgram,
                         bracket == std::string::npos ? line : line.substr(bracket + 2), detail};
  return toolchain;
}

absl::StatusOr<std::string> Toolchain::KernelsKey(const target::Board& board) const {
  HELX_ASSIGN_OR_RETURN(const std::string kernels, KernelsHashNow());
  if (kernels != kKernelsHash) {
    return Internal("the kernels in " + KernelsDirectory() +
                    " are not those this program was built with; reinstall HELX, or rebuild it");
  }
  HELX_ASSIGN_OR_RETURN(const std::string runner_digest, runner::SourceDigest(board));
  std::string text = std::string(board.platform) + "\n" + identity_.name + "\n" +
                     identity_.version + "\n" + identity_.detail + "\n" + kernels + "\n" +
                     runner_digest + "\n";
  for (std::string_view flag : board.compile_flags) text += std::string(flag) + "\n";
  for (std::string_view flag : kModelFlags) text += std::string(flag) + "\n";
  for (std::string_view flag : runner::CompileFlags()) text += std::string(flag) + "\n";
  return Sha256Hex(text);
}

absl::Status Toolchain::CompileKernels(const target::Board& board, const std::string& folder,
                                       std::vector<RecordedCommand>* commands) const {
  HELX_RETURN_IF_ERROR(KernelsKey(board).status());
  HELX_ASSIGN_OR_RETURN(const std::vector<std::string> files, KernelFiles());
  std::vector<std::string> archive = {archiver_, "rcsD", "libhelx.a"};
  auto object = [&](const std::string& source) {
    return source.substr(0, source.rfind('.')) + ".o";
  };

  std::vector<std::string> kernels = CompilerCommand(compiler_, board, folder);
  Append(&kernels, kModelFlags);
  kernels.push_back("-c");
  for (const std::string& name : files) {
    if (name.ends_with(".h")) continue;
    kernels.push_back(KernelsDirectory() + "/" + name);
    archive.push_back(object(name));
  }
  HELX_RETURN_IF_ERROR(RunOrFail("compiling the kernels", folder, std::move(kernels), commands));

  std::vector<std::string> runner = CompilerCommand(compiler_, board, folder);
  Append(&runner, runner::CompileFlags());
  runner.push_back("-c");
  for (const std::string& name : runner::Sources(board)) {
    runner.push_back(runner::SourceDirectory() + "/" + name);
    archive.push_back(object(name));
  }
  HELX_RETURN_IF_ERROR(RunOrFail("compiling the runner", folder, std::move(runner), commands));
  return RunOrFail("archiving the kernels", folder, std::move(archive), commands);
}

absl::Status Toolchain::CompileModel(const GeneratedModel& model, const target::Board& board,
                                     const std::string& folder,
                                     std::vector<RecordedCommand>* commands) const {
  for (const auto& [name, content] : model.files) {
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/" + name, content));
  }
  std::vector<std::string> argv = CompilerCommand(compiler_, board, folder);
  Append(&argv, kModelFlags);
  Append(&argv, std::vector<std::string>{"-I" + KernelsDirectory(),
                                         "-I" + runner::SourceDirectory(), "-c"});
  std::vector<std::string> code = argv;
  code.push_back("model.c");
  if (!model.files.contains("weights.S")) {
    return RunOrFail("compiling the model", folder, std::move(code), commands);
  }
  // Beside the code, since neither needs the other; on record in a fixed order.
  argv.push_back("weights.S");
  std::vector<RecordedCommand> weights_commands;
  absl::Status weights_status;
  std::thread weights([&] {
    weights_status =
        RunOrFail("assembling the weights", folder, std::move(argv), &weights_commands);
  });
  const absl::Status code_status =
      RunOrFail("compiling the model", folder, std::move(code), commands);
  weights.join();
  if (commands != nullptr) {
    commands->insert(commands->end(), weights_commands.begin(), weights_commands.end());
  }
  HELX_RETURN_IF_ERROR(code_status);
  return weights_status;
}

absl::Status Toolchain::CompileRequest(const std::string& request_constants,
                                       const target::Board& board, const std::string& folder,
                                       std::vector<RecordedCommand>* commands) const {
  HELX_RETURN_IF_ERROR(WriteFile(folder + "/request.c", request_constants));
  // A step of its own: in one with the link, the compiler's random temporary name would enter the
  // map.
  std::vector<std::string> argv = CompilerCommand(compiler_, board, folder);
  Append(&argv, runner::CompileFlags());
  Append(&argv, std::vector<std::string>{"-I" + runner::SourceDirectory(), "-c", "request.c"});
  return RunOrFail("compiling the request's constants", folder, std::move(argv), commands);
}

absl::StatusOr<LinkedImage> Toolchain::LinkImage(
    const GeneratedModel& model, const std::string& request_constants, const target::Board& board,
    const std::string& kernels_folder, const std::string& model_folder, const std::string& folder,
    std::vector<RecordedCommand>* commands, const target::PlacementWish& wish) const {
  HELX_RETURN_IF_ERROR(CompileRequest(request_constants, board, folder, commands));
  return LinkObjects(model, board, kernels_folder, model_folder, folder, commands, wish);
}

absl::StatusOr<LinkedImage> Toolchain::LinkObjects(
    const GeneratedModel& model, const target::Board& board, const std::string& kernels_folder,
    const std::string& model_folder, const std::string& folder,
    std::vector<RecordedCommand>* commands, const target::PlacementWish& wish) const {
  const int64_t weight_bytes = MemoryFigure(model, "weight_bytes");
  const int64_t arena_bytes =
      MemoryFigure(model, "arena_bytes") + MemoryFigure(model, "variable_bytes");
  const std::vector<target::Placement> placements = target::Placements(
      board, static_cast<uint64_t>(weight_bytes), static_cast<uint64_t>(arena_bytes), wish);
  if (placements.empty()) {
    const bool arena =
        target::Placements(board, 0, static_cast<uint64_t>(arena_bytes), wish).empty();
    const std::string& wished = arena ? wish.arena : wish.weights;
    const std::string_view region = !wished.empty() ? std::string_view(wished)
                                    : arena         ? board.arena_region
                                                    : board.weights_region;
    // With room for either part, it is both together that have none.
    const bool together =
        !arena && !target::Placements(board, static_cast<uint64_t>(weight_bytes), 0, wish).empty();
    const int64_t need = arena ? arena_bytes : together ? weight_bytes + arena_bytes : weight_bytes;
    return DoesNotFit(board, region, static_cast<uint64_t>(need), RegionBytes(board, region));
  }
  std::vector<std::string> argv = CompilerCommand(compiler_, board, folder);
  Append(&argv, std::vector<std::string>{"request.o", model_folder + "/model.o"});
  if (model.files.contains("weights.S")) argv.push_back(model_folder + "/weights.o");
  Append(&argv, std::vector<std::string>{kernels_folder + "/libhelx.a", "-T", "model.ld",
                                         "-Wl,-Map=model.map", "-o", "model.elf"});
  Append(&argv, runner::LinkFlags());

  std::optional<Overflow> overflow;
  for (const target::Placement& placement : placements) {
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/model.ld", target::LinkerScript(board, placement)));
    std::vector<RecordedCommand> attempt;
    HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result, RunIn(folder, argv, &attempt));
    if (!result.ok()) {
      const std::optional<Overflow> this_time = ParseOverflow(result.err);
      if (!this_time) return Failed("linking the image", result);
      if (!overflow) overflow = this_time;
      continue;
    }
    if (commands != nullptr) commands->insert(commands->end(), attempt.begin(), attempt.end());
    LinkedImage image{folder + "/model.elf", folder + "/model.map", {}, placement};
    HELX_RETURN_IF_ERROR(NeutraliseMap(
        image.map_path,
        {{kernels_folder + "/", "kernels/"}, {model_folder + "/", "model/"}, {folder + "/", ""}}));
    HELX_ASSIGN_OR_RETURN(const std::string elf, ReadFile(image.elf_path));
    HELX_ASSIGN_OR_RETURN(image.figures, target::InspectImage(elf, board));
    HELX_RETURN_IF_ERROR(target::CheckPlaced(image.figures, board, placement));
    return image;
  }
  const uint64_t size = RegionBytes(board, overflow->region);
  return DoesNotFit(board, overflow->region, size + overflow->bytes, size);
}

}  // namespace helx::engine
