#include "tests/fuzz/model_seeds.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/worker/engine/random_model.h"

namespace helx::fuzz {
namespace {

constexpr uintmax_t kMaxBytes = 48u << 10;

}  // namespace

std::vector<std::string> ModelSeeds() {
  std::vector<std::string> seeds = {engine::RandomLayers(1, 8), engine::RandomChain(1, false)};
  const char* folder = std::getenv("HELX_MODELS");
  if (folder == nullptr) return seeds;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".tflite" && entry.file_size() <= kMaxBytes) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

}  // namespace helx::fuzz
