#include "tests/unit/client/cpp/test_bundle.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "core/base/file.h"
#include "core/base/hex.h"
#include "core/bundle/layout.h"
#include "core/bundle/reader.h"
#include "core/bundle/writer.h"
#include "tests/unit/core/bundle/test_image.h"

namespace helx::client {
namespace {

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "test bundle: %s\n", MessageOf(status).c_str());
  std::abort();
}

template <typename T>
T Require(absl::StatusOr<T> value) {
  Require(value.status());
  return *std::move(value);
}

// The content of the tensors, little-endian. 0.5f is 3f000000, -1.0f is bf800000.
const std::string kInput("\x01\xff", 2);
const std::string kScores("\x0a\xfd\x7f\x05", 4);
const std::string kOtherScores("\x0a\xfd\x7e\x05", 4);
const std::string kMargin("\x00\x00\x00\x3f\x00\x00\x80\xbf", 8);

const TensorSpec kInputSpec{0, "input", DType::kInt8, {2}};
const TensorSpec kScoresSpec{0, "scores", DType::kInt8, {1, 4}};
const TensorSpec kMarginSpec{1, "margin", DType::kFloat32, {2}};

Digest Of(const std::string& bytes) { return DigestOf(std::string_view(bytes)); }

FrozenRequest Request(TestReference reference) {
  FrozenRequest request;
  request.model = Of("a model");
  request.engine = {"builtin", "0.1.0", ""};
  request.toolchain = {"arm-none-eabi-gcc", "12.2.1", "15:12.2.rel1-1"};
  request.target = {"qemu-system-arm", "7.2.22", "mps3-an547 icount shift=5"};
  request.platform = "corstone-300";
  request.acquisition.capture = true;
  request.tensors.explicit_inputs = true;
  request.tensors.input_sets = {{{kInputSpec, Of(kInput)}}};
  request.tensors.outputs = {kScoresSpec, kMarginSpec};
  if (reference != TestReference::kNone) {
    const std::string& scores = reference == TestReference::kMatching ? kScores : kOtherScores;
    request.tensors.references = {
        {"files", "by hand", {{kScoresSpec, Of(scores)}, {kMarginSpec, Of(kMargin)}}}};
  }
  return request;
}

// The verdict computed by hand: only element [0, 2] of the scores can differ, by 127 - 126 = 1.
Verification Verdict(bool matched) {
  Verification verification;
  verification.matched = matched;
  TensorVerdict scores;
  scores.output = 0;
  scores.elements = 4;
  scores.mismatches = matched ? 0 : 1;
  scores.max_abs_error = matched ? "0" : "1";
  if (!matched) scores.first_difference = TensorVerdict::Difference{{0, 2}, "127", "126"};
  TensorVerdict margin;
  margin.output = 1;
  margin.elements = 2;
  margin.max_abs_error = "0";
  verification.tensors = {scores, margin};
  return verification;
}

Metric Exact(int64_t value, const std::string& basis) { return {value, basis, "exact", ""}; }

ResultDocument Result(const FrozenRequest& request, const std::string& image,
                      TestReference reference) {
  ResultDocument result;
  result.request_identity = Require(request.Identity());
  result.platform = request.platform;
  result.core = "cortex-m55";
  result.engine = request.engine;
  result.toolchain = request.toolchain;
  result.target = request.target;
  result.acquisition = request.acquisition;
  result.image_sha256 = Of(image).hash;
  result.model = request.model;
  result.executed = true;
  result.input_intent = "explicit";
  result.inputs = {{{kInputSpec, "tensors/inputs/0/input-0.bin", Of(kInput)}}};
  result.outputs = request.tensors.outputs;
  result.references = request.tensors.references;
  result.comparison = request.tensors.comparison;
  result.tensor_request_digest = Require(request.tensors.DigestHex());
  Sample sample;
  sample.instructions = Exact(1'234'567, "qemu-icount");
  sample.signatures = {Of(kScores).hash, Of(kMargin).hash};
  sample.output_tensors = {"tensors/outputs/0/output-0.bin", "tensors/outputs/0/output-1.bin"};
  if (reference != TestReference::kNone) {
    result.reference_paths = {{"tensors/references/0/output-0.bin", "tensors/references/0/output-1.bin"}};
    sample.verification = Verdict(reference == TestReference::kMatching);
  }
  result.samples = {sample};
  result.memory = TestMemory();
  return result;
}

}  // namespace

void WriteTestBundle(const std::string& folder, TestReference reference) {
  std::filesystem::create_directories(folder);
  const FrozenRequest request = Request(reference);
  const std::vector<uint8_t> compiled = Require(HexDecode(Require(request.tensors.DigestHex())));
  const std::string image =
      TestElf(TestSections(std::string(compiled.begin(), compiled.end())));
  ResultDocument result = Result(request, image, reference);
  BundleWriter writer(folder);
  const auto add = [&writer](const std::string& path, const std::string& content) {
    Require(writer.Add(path, content));
  };
  add(kImagePath, image);
  add(kMemoryPlanPath, TestMemoryPlan());
  result.files = writer.ResultFiles();
  std::vector<std::string> contents = {kInput};
  if (reference != TestReference::kNone) {
    const std::string& scores = reference == TestReference::kMatching ? kScores : kOtherScores;
    contents.push_back(scores);
    contents.push_back(kMargin);
    add("tensors/references/0/output-0.bin", scores);
    add("tensors/references/0/output-1.bin", kMargin);
  }
  add("request.json", Require(RequestFile(request, contents)));
  add("result.json", Require(result.Canonical()));
  add("tensors/inputs/0/input-0.bin", kInput);
  add("tensors/outputs/0/output-0.bin", kScores);
  add("tensors/outputs/0/output-1.bin", kMargin);
  writer.AddIssue({"noted", "info", "an issue to print", Json::object()});
  Require(writer.Finish().status());
  Require(LoadBundle(folder).status());
}

helx::v1::Result StoreTestBundle(const std::string& folder, const std::string& experiment,
                                 FakeServer& server) {
  const std::string text = Require(ReadFile(folder + "/manifest.json"));
  const Manifest manifest = Require(Manifest::Parse(text));
  helx::v1::Result result;
  *result.mutable_bundle() = ToProto(Of(text));
  result.set_manifest(text);
  result.set_content_digest(Require(manifest.ContentDigest()));
  result.set_assessment(helx::v1::NOT_COMPARED);
  FakeServer::State& state = server.state();
  const std::lock_guard lock(state.mutex);
  for (const Artifact& artifact : manifest.artifacts) {
    state.blobs[artifact.digest.hash] = Require(ReadFile(folder + "/" + artifact.path));
  }
  state.results[experiment] = result;
  helx::v1::ResultEntry entry;
  entry.set_experiment(experiment);
  *entry.mutable_bundle() = result.bundle();
  entry.set_content_digest(result.content_digest());
  entry.set_assessment(result.assessment());
  state.entries.push_back(entry);
  return result;
}

}  // namespace helx::client
