// LoadBundle of a 32 MiB bundle against SHA-256 over the same bytes.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "core/base/sha256.h"
#include "core/base/splitmix64.h"
#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

constexpr size_t kOutputBytes = size_t{8} << 20;

std::string RandomBytes(size_t count) {
  SplitMix64 random(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

// One sample of one int8 output of 8 MiB that matches its reference: the output, the reference, and
// the reference again in request.json as 16 MiB of hexadecimal.
BundleParts BigParts() {
  BundleParts parts = ExampleParts();
  const std::string bytes = RandomBytes(kOutputBytes);
  const TensorSpec spec{0, "out", DType::kInt8, {static_cast<int64_t>(kOutputBytes)}};
  const Digest digest = DigestOf(bytes);
  for (const char* path :
       {"tensors/outputs/0/output-1.bin", "tensors/outputs/1/output-0.bin",
        "tensors/outputs/1/output-1.bin", "tensors/references/0/output-1.bin",
        "tensors/references/1/output-0.bin", "tensors/references/1/output-1.bin"}) {
    parts.files.erase(path);
  }
  parts.files["tensors/outputs/0/output-0.bin"] = bytes;
  parts.files["tensors/references/0/output-0.bin"] = bytes;
  parts.tensor_contents.push_back(bytes);
  parts.request.acquisition = {0, 1, "reset", true};
  parts.request.tensors.outputs = {spec};
  parts.request.tensors.references = {{"files", "the same bytes", {{spec, digest}}}};
  parts.result.acquisition = parts.request.acquisition;
  parts.result.outputs = {spec};
  parts.result.references = parts.request.tensors.references;
  parts.result.reference_paths = {{"tensors/references/0/output-0.bin"}};
  parts.result.samples.resize(1);
  Sample& sample = parts.result.samples[0];
  sample.signatures = {digest.hash};
  sample.output_tensors = {"tensors/outputs/0/output-0.bin"};
  TensorVerdict verdict;
  verdict.elements = static_cast<int64_t>(kOutputBytes);
  verdict.max_abs_error = "0";
  sample.verification = {0, true, {verdict}};
  parts.Rebind();
  return parts;
}

struct Folder {
  std::string path = WriteFolder(BigParts());
  std::map<std::string, std::string> files = BundleFiles(BigParts());
  int64_t bytes = 0;

  Folder() {
    for (const auto& [name, content] : files) bytes += static_cast<int64_t>(content.size());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

const Folder& TheFolder() {
  static const Folder folder;
  return folder;
}

void Sha256OfTheBytes(benchmark::State& state) {
  const auto& files = TheFolder().files;  // made outside the measurement
  for (auto _ : state) {
    for (const auto& [name, content] : files) {
      benchmark::DoNotOptimize(Sha256Hex(content));
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * TheFolder().bytes);
}
BENCHMARK(Sha256OfTheBytes)->Unit(benchmark::kMillisecond);

void LoadBundleFolder(benchmark::State& state) {
  for (auto _ : state) {
    const auto bundle = LoadBundle(TheFolder().path);
    if (!bundle.ok()) {
      state.SkipWithError(bundle.status().ToString().c_str());
      return;
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * TheFolder().bytes);
}
BENCHMARK(LoadBundleFolder)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace helx

BENCHMARK_MAIN();
