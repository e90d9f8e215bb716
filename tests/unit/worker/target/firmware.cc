#include "tests/unit/worker/target/firmware.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/base/splitmix64.h"
#include "worker/runner/runner_sources.h"
#include "worker/sandbox/process.h"

namespace helx::target {
namespace {

constexpr char kCompiler[] = "arm-none-eabi-gcc";

void MustRun(std::vector<std::string> argv) {
  sandbox::Command command;
  command.argv = std::move(argv);
  command.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
  const auto result = sandbox::Run(command);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(result->ok()) << result->err;
}

std::vector<std::string> CompilerFor(const Board& board) {
  std::vector<std::string> argv = {kCompiler};
  for (const auto flag : board.compile_flags) argv.emplace_back(flag);
  return argv;
}

// The runner's objects for a board, compiled once per test program.
const std::vector<std::string>& RunnerObjects(const Board& board) {
  static TemporaryFolder folder;
  static std::map<std::string, std::vector<std::string>> done;
  std::vector<std::string>& objects = done[std::string(board.platform)];
  if (!objects.empty()) return objects;
  for (const std::string& source : runner::Sources(board)) {
    std::vector<std::string> argv = CompilerFor(board);
    for (const auto flag : runner::CompileFlags()) argv.emplace_back(flag);
    const std::string object = folder.path() + "/" + std::string(board.platform) + source + ".o";
    argv.insert(argv.end(), {"-c", runner::SourceDirectory() + "/" + source, "-o", object});
    MustRun(argv);
    objects.push_back(object);
  }
  return objects;
}

std::string ByteList(const Sha256Bytes& digest) {
  std::string out;
  for (const uint8_t byte : digest) out += std::to_string(byte) + ",";
  return out;
}

// Declares the tensors of one side; `names` are what the body calls them.
std::string Tensors(const char* name, const char* prefix, const std::vector<uint32_t>& sizes,
                    uint32_t* offset) {
  std::string table, pointers;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string place = "arena + " + std::to_string(*offset);
    pointers += "#define " + std::string(prefix) + std::to_string(i) + " (" + place + ")\n";
    table += "{" + place + ", " + std::to_string(sizes[i]) + "},";
    *offset += (sizes[i] + 15) / 16 * 16;
  }
  return pointers + "static const helx_tensor " + name + "[] = {" + table + "{0, 0}};\n";
}

uint32_t ArenaBytes(const TestModel& model) {
  uint32_t bytes = model.scratch_bytes;
  for (const auto* sizes : {&model.input_bytes, &model.output_bytes}) {
    for (const uint32_t size : *sizes) bytes += (size + 15) / 16 * 16;
  }
  return bytes;
}

std::string ModelSource(const TestModel& model, const InputSets& inputs) {
  uint32_t bytes = 0;
  const std::string in = Tensors("inputs", "in", model.input_bytes, &bytes);
  const std::string out = Tensors("outputs", "out", model.output_bytes, &bytes);
  std::string source = "#include \"helx_model.h\"\n#include <string.h>\n";
  source += "static uint8_t arena[" + std::to_string(ArenaBytes(model)) +
            "] __attribute__((section(\".helx_arena\"), aligned(16)));\n";
  source += "static uint32_t variable __attribute__((section(\".helx_variables\")));\n";
  source += "static void reset(void) { variable = 7; }\n" + in + out;
  source += "static const helx_region regions[] = {{arena, sizeof(arena)}};\n" + model.before;
  source += "\nstatic uint32_t invoke(void) {\n" + model.body + "\n}\n";
  source += "const helx_model helx_the_model = {" + std::to_string(model.input_bytes.size()) + ", " +
            std::to_string(model.output_bytes.size()) +
            ", 1, inputs, outputs, regions, reset, invoke};\n";
  source += "const uint8_t helx_request_digest[32] __attribute__((section(\".helx_request\"))) = {" +
            ByteList(TestRequestDigest()) + "};\n";
  source +=
      "const uint8_t helx_input_digests[][32] __attribute__((section(\".helx_request\"))) = {\n";
  for (const auto& set : inputs) {
    for (const std::string& input : set) source += "{" + ByteList(Sha256Of(AsBytes(input))) + "},\n";
  }
  source += "{0}};\nconst uint32_t helx_input_set_count __attribute__((section(\".helx_request\"))) = " +
            std::to_string(inputs.size()) + ";\n";
  return source;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = ::testing::TempDir() + "/helx-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Sha256Bytes TestRequestDigest() {
  Sha256Bytes digest;
  for (size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<uint8_t>(i);
  return digest;
}

std::string BuildImage(const Board& board, const TestModel& model, const InputSets& inputs,
                       const std::string& folder, const std::vector<std::string>& options) {
  const std::string source = folder + "/model.c", script = folder + "/board.ld";
  const std::string image = folder + "/image.elf";
  const auto placements = Placements(board, 0, ArenaBytes(model));
  EXPECT_FALSE(placements.empty());
  EXPECT_TRUE(WriteFile(source, ModelSource(model, inputs)).ok());
  EXPECT_TRUE(WriteFile(script, LinkerScript(board, placements.at(0))).ok());
  std::vector<std::string> argv = CompilerFor(board);
  argv.insert(argv.end(), {"-std=c99", "-O2", "-ffreestanding", "-I" + runner::SourceDirectory(),
                           "-c", source, "-o", source + ".o"});
  argv.insert(argv.end(), options.begin(), options.end());
  MustRun(argv);
  argv = CompilerFor(board);
  const auto& objects = RunnerObjects(board);
  argv.insert(argv.end(), objects.begin(), objects.end());
  argv.insert(argv.end(), {source + ".o", "-T", script, "-o", image});
  for (const auto flag : runner::LinkFlags()) argv.emplace_back(flag);
  MustRun(argv);
  return image;
}

RunRequest MakeRequest(const std::string& image, const TestModel& model, const InputSets& inputs,
                       const std::string& folder) {
  RunRequest request;
  request.image = image;
  request.request_digest = TestRequestDigest();
  request.input_sets = inputs;
  request.output_bytes = model.output_bytes;
  request.work_folder = folder;
  request.limits.wall = std::chrono::seconds(60);
  return request;
}

std::string Bytes(size_t count, uint64_t seed) {
  SplitMix64 random(seed);
  std::string out(count, '\0');
  for (char& c : out) c = static_cast<char>(random.Next());
  return out;
}

}  // namespace helx::target
