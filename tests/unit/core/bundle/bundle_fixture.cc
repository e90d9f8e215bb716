#include "tests/unit/core/bundle/bundle_fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/bundle/layout.h"
#include "core/bundle/request_file.h"
#include "tests/unit/core/bundle/test_image.h"

namespace helx {
namespace {

// Little-endian float32 texts: 0.5, 0.75.
const std::string kHalf("\0\0\0\x3f", 4);
const std::string kThreeQuarters("\0\0\x40\x3f", 4);

Metric Exact(int64_t value, const char* basis) { return {value, basis, "exact", ""}; }

void CopyHead(const FrozenRequest& request, ResultDocument* result) {
  result->platform = request.platform;
  result->core = "cortex-m55";
  result->engine = request.engine;
  result->toolchain = request.toolchain;
  result->target = request.target;
  result->acquisition = request.acquisition;
  result->model = request.model;
  result->executed = true;
  result->input_intent = request.tensors.explicit_inputs ? "explicit" : "implicit_zeros";
  result->outputs = request.tensors.outputs;
  result->references = request.tensors.references;
  result->comparison = request.tensors.comparison;
  result->memory = TestMemory();
}

FrozenRequest ExampleRequest(bool explicit_policy) {
  FrozenRequest request;
  request.model = DigestOf(std::string_view("the model"));
  request.engine = {"builtin", "1.0.0", ""};
  request.toolchain = {"arm-none-eabi-gcc", "12.2.1", "15:12.2.rel1-1"};
  request.target = {"qemu-system-arm", "7.2.9", "mps3-an547, icount shift 0"};
  request.platform = "corstone-300";
  request.acquisition = {1, 2, "reset", explicit_policy};
  request.tensors.explicit_inputs = explicit_policy;
  request.tensors.outputs = {{0, "out", DType::kInt8, {2, 2}}, {1, "score", DType::kFloat32, {}}};
  const TensorSpec in{0, "in", DType::kInt8, {1, 4}};
  const TensorSpec flag{1, "flag", DType::kBool, {}};
  if (!explicit_policy) {
    request.tensors.input_sets = {{{in, ZeroDigest(4)}, {flag, ZeroDigest(1)}}};
    return request;
  }
  request.tensors.input_sets = {{{in, DigestOf(std::string_view("\x01\x02\x03\xff"))},
                                 {flag, DigestOf(std::string_view("\x01"))}}};
  request.tensors.comparison.per_tensor = {{0, {"1", "0"}}};
  return request;
}

Verification Verdict(int64_t reference, bool score_matches) {
  Verification verification;
  verification.reference_index = reference;
  verification.matched = score_matches;
  // Output 0 is off by one in its last element, within the tolerance of 1.
  TensorVerdict out;
  out.output = 0;
  out.elements = 4;
  out.max_abs_error = "1";
  TensorVerdict score;
  score.output = 1;
  score.elements = 1;
  score.max_abs_error = score_matches ? "0" : "0.25";
  if (!score_matches) {
    score.mismatches = 1;
    score.first_difference = {{}, "0.75", "0.5"};
  }
  verification.tensors = {out, score};
  return verification;
}

}  // namespace

void BundleParts::Rebind() {
  const std::string digest = *request.tensors.DigestHex();
  const auto raw = *HexDecode(digest);
  result.tensor_request_digest = digest;
  result.request_identity = *request.Identity();
  files[kMemoryPlanPath] = TestMemoryPlan();
  SetImage(TestElf(TestSections(std::string(raw.begin(), raw.end()))));
}

void BundleParts::SetImage(const std::string& elf) {
  files[kImagePath] = elf;
  result.image_sha256 = Sha256Hex(elf);
  NameFiles();
}

void BundleParts::NameFiles() {
  result.files.clear();
  const Manifest manifest = ManifestOf(files);
  for (const Artifact* artifact : FilesOfResult(manifest)) {
    result.files.push_back({artifact->path, artifact->digest});
  }
}

BundleParts ExampleParts() {
  BundleParts parts;
  parts.request = ExampleRequest(true);
  const std::string in = "\x01\x02\x03\xff", flag = "\x01";
  const std::string out = "\x05\x06\x07\x08", out_reference = "\x05\x06\x07\x09";
  parts.tensor_contents = {in, flag, out_reference, kHalf};
  const std::vector<TensorSpec>& outputs = parts.request.tensors.outputs;
  for (int i = 0; i < 2; ++i) {
    parts.request.tensors.references.push_back(
        {"files",
         "calculated by hand",
         {{outputs[0], DigestOf(out_reference)}, {outputs[1], DigestOf(kHalf)}}});
  }
  CopyHead(parts.request, &parts.result);
  const auto& inputs = parts.request.tensors.input_sets[0];
  parts.result.inputs = {{{inputs[0].spec, "tensors/inputs/0/input-0.bin", inputs[0].digest},
                          {inputs[1].spec, "tensors/inputs/0/input-1.bin", inputs[1].digest}}};
  parts.files["tensors/inputs/0/input-0.bin"] = in;
  parts.files["tensors/inputs/0/input-1.bin"] = flag;
  for (int i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);
    const std::string& score = i == 0 ? kHalf : kThreeQuarters;
    parts.files["tensors/references/" + n + "/output-0.bin"] = out_reference;
    parts.files["tensors/references/" + n + "/output-1.bin"] = kHalf;
    parts.files["tensors/outputs/" + n + "/output-0.bin"] = out;
    parts.files["tensors/outputs/" + n + "/output-1.bin"] = score;
    parts.result.reference_paths.push_back(
        {"tensors/references/" + n + "/output-0.bin", "tensors/references/" + n + "/output-1.bin"});
    Sample sample;
    sample.index = i;
    sample.instructions = Exact(123456, "qemu-icount");
    sample.signatures = {Sha256Hex(out), Sha256Hex(score)};
    sample.output_tensors = {"tensors/outputs/" + n + "/output-0.bin",
                             "tensors/outputs/" + n + "/output-1.bin"};
    sample.verification = Verdict(i, i == 0);
    parts.result.samples.push_back(sample);
  }
  parts.files["build/src/model.c"] = "int model;\n";
  parts.files["logs/run.log"] = "boot\n";
  parts.files["timing.json"] = "{\"wall_us\":1}";
  parts.Rebind();
  return parts;
}

BundleParts PlainParts() {
  BundleParts parts;
  parts.request = ExampleRequest(false);
  parts.request.probe = true;
  CopyHead(parts.request, &parts.result);
  for (int i = 0; i < 2; ++i) {
    Sample sample;
    sample.index = i;
    sample.instructions = {std::nullopt, "qemu-icount", "exact", "it reports between operators"};
    sample.signatures = {Sha256Hex(std::string_view("abcd")), Sha256Hex(kHalf)};
    parts.result.samples.push_back(sample);
  }
  parts.Rebind();
  return parts;
}

BundleParts SequenceParts() {
  BundleParts parts = ExampleParts();
  auto& sets = parts.request.tensors.input_sets;
  sets.push_back(sets[0]);
  parts.request.acquisition = {0, 2, "carry", true};
  parts.result.acquisition = parts.request.acquisition;
  auto& retained = parts.result.inputs.emplace_back(parts.result.inputs[0]);
  for (size_t i = 0; i < retained.size(); ++i) {
    const std::string bytes = parts.files[retained[i].path];
    retained[i].path = InputPath(1, i);
    parts.files[retained[i].path] = bytes;
  }
  parts.Rebind();
  return parts;
}

std::map<std::string, std::string> BundleFiles(const BundleParts& parts) {
  std::map<std::string, std::string> files = parts.files;
  files["request.json"] = *RequestFile(parts.request, parts.tensor_contents);
  files["result.json"] = *parts.result.Canonical();
  return files;
}

Manifest ManifestOf(const std::map<std::string, std::string>& files) {
  Manifest manifest;
  for (const auto& [path, content] : files) {
    const auto kind = KindOfFile(path);
    const FileKind file = kind.value_or(FileKind{"text/plain", ArtifactRole::kEvidence});
    manifest.artifacts.push_back(
        {path, std::string(file.media_type), DigestOf(content), file.role});
  }
  return manifest;
}

std::string WriteFolder(const std::map<std::string, std::string>& files,
                        const std::string& manifest) {
  std::string folder = testing::TempDir() + "helx_bundle_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return "";
  const auto write = [&folder](const std::string& path, const std::string& content) {
    const std::filesystem::path full = std::filesystem::path(folder) / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << content;
  };
  for (const auto& [path, content] : files) write(path, content);
  write("manifest.json", manifest);
  return folder;
}

std::string WriteFolder(const BundleParts& parts) {
  const auto files = BundleFiles(parts);
  return WriteFolder(files, *ManifestOf(files).Canonical());
}

}  // namespace helx
