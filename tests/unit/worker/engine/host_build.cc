#include "tests/unit/worker/engine/host_build.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "worker/sandbox/process.h"

namespace helx::engine {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFlags = {"-std=c99", "-O1",     "-fwrapv", "-ffp-contract=off", "-fno-strict-aliasing",
                                         "-Wall",    "-Wextra", "-Werror"};

absl::Status RunChecked(std::vector<std::string> argv, const std::string& folder) {
  sandbox::Command command;
  command.argv = std::move(argv);
  command.limit = std::chrono::minutes(10);
  command.directory = folder;
  const char* path = std::getenv("PATH");
  command.environment = {"PATH=" + std::string(path == nullptr ? "/usr/bin:/bin" : path)};
  HELX_ASSIGN_OR_RETURN(const sandbox::ProcessResult result, sandbox::Run(command));
  if (result.ok()) return absl::OkStatus();
  return Internal(command.argv[0] + " failed with " + std::to_string(result.exit_code) + ": " +
                  result.err);
}

std::vector<std::string> Sources(const std::string& folder) {
  std::vector<std::string> sources;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".c") sources.push_back(entry.path().string());
  }
  std::sort(sources.begin(), sources.end());
  return sources;
}

// Objects of the kernels and of the driver, compiled at the first call.
absl::StatusOr<std::vector<std::string>> CommonObjects() {
  static const absl::StatusOr<std::vector<std::string>> objects =
      []() -> absl::StatusOr<std::vector<std::string>> {
    const std::string root = HELX_SOURCE_DIR;
    const std::string folder = FreshFolder("host_kernels");
    std::vector<std::string> argv = {"gcc"};
    argv.insert(argv.end(), kFlags.begin(), kFlags.end());
    argv.insert(argv.end(), {"-I" + root + "/worker/runner", "-c",
                             root + "/tests/unit/worker/engine/golden_runner.c"});
    for (const std::string& source : Sources(root + "/worker/kernels")) argv.push_back(source);
    HELX_RETURN_IF_ERROR(RunChecked(std::move(argv), folder));
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    return paths;
  }();
  return objects;
}

}  // namespace

std::string ModelsFolder() {
  const char* folder = std::getenv("HELX_MODELS");
  return folder == nullptr ? "" : folder;
}

std::string FreshFolder(const std::string& name) {
  // A folder of this program's own: tests run side by side.
  const fs::path program = fs::read_symlink("/proc/self/exe").filename();
  const fs::path folder = fs::path(HELX_BUILD_DIR) / "test_folders" / program / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

absl::StatusOr<std::string> RealModel(const std::string& name) {
  return ReadFile(ModelsFolder() + "/" + name + "/model.tflite");
}

const target::Board& HostBoard() {
  static const target::Board board = [] {
    target::Board roomy = *target::FindBoard("corstone-300");
    roomy.isa = target::Isa::kPortable;
    for (MemoryRegion& region : roomy.regions) region.bytes = 1u << 30;
    return roomy;
  }();
  return board;
}

absl::StatusOr<std::string> BuildForHost(const GeneratedModel& model, const std::string& folder) {
  HELX_ASSIGN_OR_RETURN(const std::vector<std::string> objects, CommonObjects());
  for (const auto& [name, content] : model.files) {
    HELX_RETURN_IF_ERROR(WriteFile(folder + "/" + name, content));
  }
  const std::string root = HELX_SOURCE_DIR;
  std::vector<std::string> argv = {"gcc"};
  argv.insert(argv.end(), kFlags.begin(), kFlags.end());
  argv.insert(argv.end(),
              {"-I" + root + "/worker/runner", "-I" + root + "/worker/kernels", "model.c"});
  if (model.files.contains("weights.S")) argv.push_back("weights.S");
  argv.insert(argv.end(), objects.begin(), objects.end());
  argv.insert(argv.end(), {"-lm", "-o", "model"});
  HELX_RETURN_IF_ERROR(RunChecked(std::move(argv), folder));
  return folder + "/model";
}

absl::StatusOr<std::vector<std::vector<std::string>>> RunOnHost(
    const std::string& program, const std::vector<std::string>& case_folders, size_t outputs,
    bool carry) {
  const std::string folder = fs::path(program).parent_path().string();
  std::vector<std::string> argv = {program, folder + "/got-", carry ? "carry" : "reset"};
  argv.insert(argv.end(), case_folders.begin(), case_folders.end());
  HELX_RETURN_IF_ERROR(RunChecked(std::move(argv), folder));
  std::vector<std::vector<std::string>> results(case_folders.size());
  for (size_t c = 0; c < case_folders.size(); ++c) {
    for (size_t o = 0; o < outputs; ++o) {
      HELX_ASSIGN_OR_RETURN(std::string bytes,
                            ReadFile(folder + "/got-" + std::to_string(c) + "-" +
                                     std::to_string(o) + ".bin"));
      results[c].push_back(std::move(bytes));
    }
  }
  return results;
}

std::vector<std::string> ModelsWithGoldens() {
  std::vector<std::string> models;
  if (ModelsFolder().empty()) return models;
  for (const auto& entry : fs::directory_iterator(ModelsFolder())) {
    if (fs::exists(entry.path() / "case0" / "output-0.bin")) {
      models.push_back(entry.path().filename().string());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

namespace {

std::vector<std::string> Numbered(const std::string& stem) {
  std::vector<std::string> folders;
  for (int i = 0;; ++i) {
    const std::string folder = stem + std::to_string(i);
    if (!fs::exists(folder)) return folders;
    folders.push_back(folder);
  }
}

}  // namespace

std::vector<std::string> CaseFolders(const std::string& model) {
  return Numbered(ModelsFolder() + "/" + model + "/case");
}

std::vector<std::string> SequenceFolders(const std::string& model) {
  return Numbered(ModelsFolder() + "/" + model + "/seq/step");
}

std::string GoldenDifference(const std::string& actual, const std::string& expected, DType dtype) {
  if (actual.size() != expected.size()) {
    return std::to_string(actual.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  if (dtype != DType::kFloat32) {
    size_t differing = 0;
    for (size_t i = 0; i < actual.size(); ++i) differing += actual[i] != expected[i] ? 1 : 0;
    return differing == 0 ? "" : std::to_string(differing) + " of " +
                                     std::to_string(actual.size()) + " bytes differ";
  }
  std::vector<float> a(actual.size() / 4);
  std::vector<float> b(a.size());
  std::memcpy(a.data(), actual.data(), actual.size());
  std::memcpy(b.data(), expected.data(), expected.size());
  float largest = 0;
  for (float v : b) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < a.size(); ++i) {
    // Also catches a NaN on one side.
    const bool close = std::isnan(a[i]) ? std::isnan(b[i])
                                        : std::fabs(a[i] - b[i]) <= 1e-4f * largest || a[i] == b[i];
    if (!close) {
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + " instead of " +
             std::to_string(b[i]) + " (largest magnitude " + std::to_string(largest) + ")";
    }
  }
  return "";
}

void ExpectGolden(const std::string& actual, const std::string& expected, DType dtype,
                  const std::string& where) {
  const std::string difference = GoldenDifference(actual, expected, dtype);
  EXPECT_TRUE(difference.empty()) << where << ": " << difference;
}

BaselineTable TflmBaseline() {
  std::istringstream text(*ReadFile(HELX_SOURCE_DIR "/tests/bench/models/tflm_baseline.tsv"));
  std::vector<std::string> names;
  BaselineTable table;
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    std::string model;
    std::getline(cells, model, '\t');
    std::string cell;
    for (size_t i = 0; std::getline(cells, cell, '\t'); ++i) {
      if (model == "model") {
        names.push_back(cell);
      } else if (!cell.empty()) {
        table[model][names[i]] = std::stod(cell);
      }
    }
  }
  return table;
}

}  // namespace helx::engine
