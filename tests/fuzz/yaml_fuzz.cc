// Documents: the strict YAML reader and the experiment grammar over it. What is accepted survives
// being saved, and what the YAML reader turns into JSON is YAML again with the same value.
#include "core/base/file.h"
#include "core/base/strict_yaml.h"
#include "core/experiment/document.h"
#include "tests/fuzz/fuzz_target.h"

namespace helx::fuzz {
namespace {

absl::StatusOr<std::string> FourBytes(const std::string& path) {
  if (path.size() > 8) return NotFound("no file " + path);
  return std::string("\x01\x00\x01\x00", 4);
}

void CheckJson(std::string_view text) {
  const auto document = ParseYaml(text, "fuzz.yaml");
  if (!document.ok()) {
    Require(!ErrorCodeOf(document.status()).empty(), "a YAML error carries a code");
    return;
  }
  const auto json = (*document)->root().ToJson();
  if (!json.ok()) return;
  const std::string again_text = json->dump();
  const auto again = ParseYaml(again_text, "again.json");
  // JSON escapes may name characters that a document may not hold.
  if (!again.ok()) return;
  const auto again_json = (*again)->root().ToJson();
  Require(again_json.ok() && *again_json == *json, "JSON of a document reads as the same value");
}

void CheckExperiment(std::string_view text) {
  const auto experiment = ParseExperiment(text, "fuzz.yaml", FourBytes);
  if (!experiment.ok()) {
    Require(!ErrorCodeOf(experiment.status()).empty(), "a refusal carries a code");
    return;
  }
  const std::string saved = SaveExperiment(*experiment);
  const auto again = ParseExperiment(saved, "saved.yaml", FourBytes);
  Require(again.ok() && *again == *experiment, "a saved experiment parses to an equal one");
  for (const JobEntry& job : experiment->jobs) {
    const auto canonical = CanonicalJson(JobDocument(job, DigestOf(std::string_view("model"))));
    Require(canonical.ok() && ParseJobDocument(*canonical).ok(), "a job document reads back");
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "name: kws-m55\nmodel: kws.tflite\ndefaults:\n  engine: builtin\n  platform: corstone-300\n"
      "  warmup: 0\n  samples: 1\n  state: reset\n  fvp:\n    enabled: true\n    tensor_io:\n"
      "      inputs:\n        - {index: 0, name: x, dtype: int8, shape: [1, 4], hex: \"00ff0102\"}\n"
      "        - {index: 1, name: y, dtype: bool, shape: [4], file: x.bin}\n"
      "      references:\n        - origin: files\n          description: \"by hand\"\n"
      "          tensors: [{index: 0, name: o, dtype: int16, shape: [], hex: \"0100\"}]\n"
      "      comparison:\n        default: {absolute: 0, relative: 1e-3}\n"
      "        per_tensor: [{output: 0, absolute: 1, relative: 0}]\n        nan: match_both\n"
      "runs:\n  - {name: m4, platform: mps2-m4}\n",
      "name: seq\nmodel: [a.tflite, b/c.tflite]\ndefaults:\n  samples: 2\n  state: carry\n  fvp:\n"
      "    tensor_io:\n      input_sequence: [[{index: 0, name: x, dtype: float16, shape: [2], hex: "
      "\"00000000\"}], [{index: 0, name: x, dtype: float16, shape: [2], hex: \"00010000\"}]]\n",
      "{\"name\": \"j\", \"model\": \"m.tflite\", \"defaults\": {\"fvp\": {\"tensor_io\": {}}}}",
      "a: &x [1, *x]\n---\nb: !!int 3\n? c\n: |\n  text\n...\n",
  };
}

}  // namespace helx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  helx::fuzz::CheckJson(text);
  helx::fuzz::CheckExperiment(text);
  return 0;
}
