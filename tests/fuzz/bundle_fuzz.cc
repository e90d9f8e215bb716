// The files of a bundle: manifest.json, result.json, request.json. Each accepts canonical text only,
// so what is accepted is written back byte for byte.
#include "core/base/hex.h"
#include "core/bundle/manifest.h"
#include "core/bundle/request_file.h"
#include "core/bundle/result.h"
#include "tests/fuzz/fuzz_target.h"

namespace helx::fuzz {
namespace {

const TensorSpec kInput{0, "in", DType::kInt8, {4}};
const TensorSpec kOutput{0, "out", DType::kFloat32, {}};

FrozenRequest Request() {
  FrozenRequest request;
  request.model = DigestOf(std::string_view("model"));
  request.engine = {"builtin", "1.0.0", ""};
  request.toolchain = {"arm-none-eabi-gcc", "12.2.1", "15:12.2.rel1-1"};
  request.target = {"qemu-system-arm", "7.2", "mps3-an547"};
  request.platform = "corstone-300";
  request.acquisition = {0, 1, "reset", true};
  request.tensors.explicit_inputs = true;
  request.tensors.input_sets = {{{kInput, DigestOf(std::string_view("abcd"))}}};
  request.tensors.outputs = {kOutput};
  request.tensors.references = {{"files", "by hand", {{kOutput, DigestOf(std::string_view("wxyz"))}}}};
  return request;
}

std::string Result() {
  const FrozenRequest request = Request();
  ResultDocument result;
  result.request_identity = *request.Identity();
  result.platform = request.platform;
  result.core = "cortex-m55";
  result.files = {{"build/model.elf", request.model}};
  result.engine = request.engine;
  result.toolchain = request.toolchain;
  result.target = request.target;
  result.acquisition = request.acquisition;
  result.image_sha256 = request.model.hash;
  result.model = request.model;
  result.executed = true;
  result.input_intent = "explicit";
  result.inputs = {{{kInput, "tensors/input-0.bin", DigestOf(std::string_view("abcd"))}}};
  result.outputs = {kOutput};
  result.references = request.tensors.references;
  result.reference_paths = {{"tensors/reference-0-output-0.bin"}};
  result.tensor_request_digest = *request.tensors.DigestHex();
  Sample sample;
  sample.instructions = {1234, "qemu-icount", "exact", ""};
  sample.signatures = {request.model.hash};
  sample.output_tensors = {"tensors/sample-0-output-0.bin"};
  TensorVerdict verdict;
  verdict.elements = 1;
  verdict.mismatches = 1;
  verdict.max_abs_error = "0.25";
  verdict.first_difference = {{}, "0.75", "0.5"};
  sample.verification = {0, false, {verdict}};
  result.samples = {sample};
  MemoryFigures& memory = result.memory;
  for (Metric* metric : {&memory.rom_bytes, &memory.text_bytes, &memory.rodata_bytes,
                         &memory.weight_bytes, &memory.ram_bytes, &memory.arena_bytes,
                         &memory.variable_bytes}) {
    *metric = {1024, "elf", "exact", ""};
  }
  memory.stack_high_water_bytes = {std::nullopt, "runner", "exact", "not painted"};
  return *result.Canonical();
}

std::string ManifestText() {
  Manifest manifest;
  manifest.issues = {{"slow", "info", "took long", Json{{"ms", 5}}}};
  manifest.artifacts = {
      {"request.json", "application/json", DigestOf(std::string_view("a")), ArtifactRole::kCore},
      {"tensors/input-0.bin", "application/octet-stream", DigestOf(std::string_view("b")),
       ArtifactRole::kEvidence}};
  return *manifest.Canonical();
}

void CheckRequestFile(std::string_view text) {
  const auto content = ParseRequestFile(text);
  if (!content.ok()) {
    Require(!ErrorCodeOf(content.status()).empty(), "a refusal of request.json carries a code");
    return;
  }
  std::vector<std::string> tensors;
  for (const auto& [hash, bytes] : content->tensors) tensors.push_back(bytes);
  const auto again = RequestFile(content->request, tensors);
  Require(again.ok() && *again == text, "request.json is written back as it was");
}

}  // namespace

std::vector<std::string> Seeds() {
  return {ManifestText(), Result(), *RequestFile(Request(), {"abcd", "wxyz"})};
}

}  // namespace helx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using helx::fuzz::Require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto manifest = helx::Manifest::Parse(text);
  if (manifest.ok()) {
    const auto again = manifest->Canonical();
    Require(again.ok() && *again == text, "manifest.json is written back as it was");
  } else {
    Require(!helx::ErrorCodeOf(manifest.status()).empty(), "a manifest's refusal carries a code");
  }
  const auto result = helx::ResultDocument::Parse(text);
  if (result.ok()) {
    const auto again = result->Canonical();
    Require(again.ok() && *again == text, "result.json is written back as it was");
  }
  helx::fuzz::CheckRequestFile(text);
  return 0;
}
