#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/sha256.h"
#include "core/capi/helx_core.h"
#include "tests/unit/core/bundle/bundle_fixture.h"

namespace helx {
namespace {

helx_bytes Bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Owns a call's buffer.
class Answer {
 public:
  ~Answer() { helx_free(&buffer_); }
  helx_buffer* out() { return &buffer_; }
  std::string text() const {
    return std::string(reinterpret_cast<const char*>(buffer_.data), buffer_.size);
  }
  Json json() const {
    const auto value = ParseJson(text());
    EXPECT_TRUE(value.ok()) << value.status() << "\n" << text();
    return value.ok() ? *value : Json::object();
  }
  std::string code() const { return json().value("code", ""); }

 private:
  helx_buffer buffer_ = {nullptr, 0};
};

constexpr char kInt64Spec[] = R"({"dtype":"int64","index":3,"name":"t","shape":[1]})";

Json CompareInt64(int64_t actual, int64_t reference, const std::string& policy, int want = 0) {
  const std::string_view a(reinterpret_cast<const char*>(&actual), 8);
  const std::string_view r(reinterpret_cast<const char*>(&reference), 8);
  Answer answer;
  EXPECT_EQ(helx_compare(Bytes(kInt64Spec), Bytes(a), Bytes(r), Bytes(policy), answer.out()), want)
      << answer.text();
  return answer.json();
}

// 2^53 and 2^53 + 1 are the same double.
TEST(CApi, ComparesExactly) {
  const int64_t big = int64_t{1} << 53;
  const Json verdict = CompareInt64(big + 1, big, "{}");
  EXPECT_EQ(verdict["matched"], false);
  EXPECT_EQ(verdict["output"], 3);
  EXPECT_EQ(verdict["max_abs_error"], "1");
  EXPECT_EQ(verdict["first_difference"]["actual"], "9007199254740993");
  EXPECT_EQ(CompareInt64(big + 1, big, R"({"default":{"absolute":1}})")["matched"], true);
  EXPECT_EQ(CompareInt64(big + 1, big, R"({"default":{"absolute":"1e0"}})")["matched"], true);
  EXPECT_EQ(CompareInt64(4, 2, R"({"per_tensor":[{"output":3,"relative":1}]})")["matched"], true);
  EXPECT_EQ(CompareInt64(4, 2, R"({"per_tensor":[{"output":0,"relative":1}]})")["matched"], false);
}

TEST(CApi, ErrorsCarryCodeAndMessage) {
  EXPECT_EQ(CompareInt64(0, 0, R"({"default":{"absolute":-1}})", 3)["code"], "negative_number");
  EXPECT_EQ(CompareInt64(0, 0, R"({"default":{"absolute":"nan"}})", 3)["code"], "not_finite");
  EXPECT_EQ(CompareInt64(0, 0, R"({"defaults":{}})", 3)["code"], "invalid_argument");
  EXPECT_EQ(CompareInt64(0, 0, "[", 3)["code"], "invalid_argument");
  EXPECT_EQ(CompareInt64(0, 0, R"({"per_tensor":[{"output":0},{"output":0}]})", 3)["code"],
            "wrong_order");
  Answer length;
  EXPECT_EQ(helx_tensor_check(Bytes(kInt64Spec), Bytes("1234567"), length.out()), 3);
  EXPECT_EQ(length.code(), "wrong_length");
  EXPECT_NE(length.json()["message"].get<std::string>().find("needs 8"), std::string::npos);
  Answer model;
  EXPECT_EQ(helx_model_tensors(Bytes("no model"), model.out()), 3);
  EXPECT_EQ(helx_model_tensors(Bytes(""), nullptr), 3);
  helx_free(nullptr);
}

// The specification's example preimage; its digest by sha256sum.
TEST(CApi, IdentifiesInputs) {
  Answer answer;
  const std::string sets = R"([[{"dtype":"int8","index":0,"name":"input","shape":[2],"sha256":")" +
                           Sha256Hex(std::string_view("\x01\x02")) + R"("}]])";
  ASSERT_EQ(helx_input_identity(Bytes(sets), answer.out()), 0) << answer.text();
  const std::string preimage =
      R"({"inputs":[{"dtype":"int8","index":0,"name":"input","sha256":")" +
      Sha256Hex(std::string_view("\x01\x02")) +
      R"(","shape":[2]}],"schema":"helx.inputs/v1","storage":"little-endian"})";
  EXPECT_EQ(answer.json()["canonical_json"], preimage);
  EXPECT_EQ(answer.json()["value"], "helx.inputs/v1:sha256:" + Sha256Hex(preimage));
  Answer none;
  ASSERT_EQ(helx_input_identity(Bytes("[]"), none.out()), 0);
  EXPECT_EQ(none.json()["value"], nullptr);
  EXPECT_TRUE(none.json()["unavailable_reason"].is_string());
}

TEST(CApi, ReadsDocumentsAsJson) {
  Answer answer;
  const std::string yaml =
      "name: kws\nmodel: [a.tflite]\ndefaults:\n  samples: 2\n  fvp: {enabled: true, tensor_io: "
      "{comparison: {default: {absolute: 0.5, relative: 0}}}}\n";
  ASSERT_EQ(helx_document_json(Bytes(yaml), Bytes("e.yaml"), answer.out()), 0) << answer.text();
  EXPECT_EQ(answer.text(),
            R"({"defaults":{"fvp":{"enabled":true,"tensor_io":{"comparison":{"default":)"
            R"({"absolute":0.5,"relative":0}}}},"samples":2},"model":["a.tflite"],"name":"kws"})");
  for (const char* doubtful : {"name: no\n", "name: 0x10\n", "name: 010\n", "name: -0.5\n"}) {
    Answer refusal;
    EXPECT_EQ(helx_document_json(Bytes(doubtful), Bytes("e.yaml"), refusal.out()), 3) << doubtful;
    EXPECT_EQ(refusal.code(), "ambiguous_text");
  }
  Answer quoted;
  ASSERT_EQ(helx_document_json(Bytes("name: \"no\"\n"), Bytes("e.yaml"), quoted.out()), 0);
  EXPECT_EQ(quoted.text(), R"({"name":"no"})");
}

TEST(CApi, ParsesAndSavesExperiments) {
  const std::string folder = testing::TempDir();
  ASSERT_TRUE(WriteFile(folder + "/capi_x.bin", "\x01\x02").ok());
  const std::string json =
      R"({"name":"kws","model":"a.tflite","defaults":{"fvp":{"tensor_io":{"inputs":[{"index":0,)"
      R"("name":"input","dtype":"int8","shape":[2],"file":"capi_x.bin"}]}}}})";
  helx_experiment* experiment = nullptr;
  Answer parsed, described, saved, bytes, document, missing;
  ASSERT_EQ(
      helx_experiment_parse(Bytes(json), Bytes("e.json"), Bytes(folder), &experiment, parsed.out()),
      0)
      << parsed.text();
  ASSERT_EQ(helx_experiment_describe(experiment, described.out()), 0);
  const Json job = described.json()["jobs"][0];
  EXPECT_EQ(job["bundle_path"], "kws");
  EXPECT_EQ(job["model_path"], "a.tflite");
  const std::string sha = Sha256Hex(std::string_view("\x01\x02"));
  EXPECT_EQ(job["tensors"], Json::array({Json{{"sha256", sha}, {"size", 2}}}));
  ASSERT_EQ(helx_experiment_tensor(experiment, Bytes(sha), bytes.out()), 0);
  EXPECT_EQ(bytes.text(), "\x01\x02");
  EXPECT_EQ(helx_experiment_tensor(experiment, Bytes("00"), missing.out()), 5);
  ASSERT_EQ(helx_experiment_save(experiment, saved.out()), 0);
  EXPECT_NE(saved.text().find("hex: \"0102\""), std::string::npos) << saved.text();
  ASSERT_EQ(helx_experiment_job_document(experiment, 0, Bytes(sha), 2, document.out()), 0);
  EXPECT_EQ(document.json()["schema"], "helx.document/v1");
  Answer no_job, no_digest;
  EXPECT_EQ(helx_experiment_job_document(experiment, 1, Bytes(sha), 2, no_job.out()), 5);
  EXPECT_EQ(helx_experiment_job_document(experiment, 0, Bytes("xy"), 2, no_digest.out()), 3);
  helx_experiment_free(experiment);

  Answer refused;
  EXPECT_EQ(helx_experiment_parse(Bytes("name: kws\n"), Bytes("e.yaml"), Bytes(folder), &experiment,
                                  refused.out()),
            3);
  EXPECT_EQ(refused.code(), "missing_key");
  EXPECT_EQ(experiment, nullptr);
  helx_experiment_free(nullptr);
}

TEST(CApi, OpensVerifiesAndExportsBundles) {
  const BundleParts parts = ExampleParts();
  const std::string folder = WriteFolder(parts);
  helx_bundle* bundle = nullptr;
  Answer opened, view, output, artifact, identity, observed, exported;
  ASSERT_EQ(helx_bundle_open(Bytes(folder), &bundle, opened.out()), 0) << opened.text();
  ASSERT_EQ(helx_bundle_view(bundle, view.out()), 0);
  EXPECT_EQ(view.json()["assessment"], "mismatch");
  EXPECT_EQ(view.json()["result"]["schema"], "helx.result/4");
  EXPECT_EQ(view.json()["manifest"]["status"], "complete");
  ASSERT_EQ(helx_bundle_output(bundle, 0, 0, output.out()), 0);
  EXPECT_EQ(output.text(), "\x05\x06\x07\x08");
  ASSERT_EQ(helx_bundle_artifact(bundle, Bytes("timing.json"), artifact.out()), 0);
  EXPECT_EQ(artifact.text(), "{\"wall_us\":1}");
  ASSERT_EQ(helx_bundle_input_identity(bundle, identity.out()), 0);
  ASSERT_EQ(helx_bundle_observations(bundle, observed.out()), 0);
  EXPECT_EQ(observed.json()["workload"]["input_identity"], identity.json()["value"]);
  ASSERT_EQ(helx_bundle_export(bundle, exported.out()), 0);
  EXPECT_EQ(exported.json(), observed.json());

  const Json specs = Json::array(
      {SpecToJson(parts.request.tensors.outputs[0]), SpecToJson(parts.request.tensors.outputs[1])});
  const std::string half("\0\0\0\x3f", 4);
  const helx_bytes references[] = {Bytes("\x05\x06\x07\x09"), Bytes(half)};
  // Sample 0's last byte differs by one, which zero tolerance refuses and an override of 1 allows.
  const auto verify = [&](size_t sample, size_t count, const char* policy, Answer* answer) {
    return helx_bundle_verify(bundle, sample, Bytes(specs.dump()), references, count, Bytes(policy),
                              answer->out());
  };
  // 2^64 + 1 is beyond 64 bits, and a tolerance like any other; the core's rule decides.
  for (const auto& [number, code] :
       {std::pair<std::string, std::string>{"18446744073709551617", ""},
        {"\"18446744073709551617\"", ""},
        {"1e300", ""},
        {"1e400", "not_finite"},
        {"1" + std::string(400, '0'), "not_finite"},
        {"-18446744073709551617", "negative_number"},
        {"\"nan\"", "not_finite"},
        {"\"one\"", "not_a_number"},
        {"true", "not_a_number"}}) {
    Answer answer;
    const std::string policy = R"({"default":{"absolute":)" + number + "}}";
    EXPECT_EQ(verify(0, 2, policy.c_str(), &answer), code.empty() ? 0 : 3) << number;
    EXPECT_EQ(code.empty() ? "" : answer.code(), code) << answer.text();
    EXPECT_EQ(answer.json().value("matched", false), code.empty()) << number;
  }
  Answer strict, tolerant, count, sample;
  ASSERT_EQ(verify(0, 2, "{}", &strict), 0) << strict.text();
  EXPECT_EQ(strict.json()["matched"], false);
  EXPECT_EQ(strict.json()["tensors"][0]["first_difference"]["position"], Json::array({1, 1}));
  ASSERT_EQ(verify(0, 2, R"({"per_tensor":[{"output":0,"absolute":1}]})", &tolerant), 0);
  EXPECT_EQ(tolerant.json()["matched"], true);
  EXPECT_EQ(verify(0, 1, "{}", &count), 3);
  EXPECT_EQ(verify(2, 2, "{}", &sample), 5);
  helx_bundle_free(bundle);

  std::filesystem::resize_file(folder + "/tensors/inputs/0/input-0.bin", 3);
  Answer tampered;
  EXPECT_EQ(helx_bundle_open(Bytes(folder), &bundle, tampered.out()), 15);
  EXPECT_EQ(tampered.code(), "artifact_size");
  EXPECT_EQ(bundle, nullptr);
  helx_bundle_free(nullptr);
  Answer null;
  EXPECT_EQ(helx_bundle_view(nullptr, null.out()), 3);
}

TEST(CApi, OneRuleForTolerances) {
  const auto number = [](const std::string& text) {
    Answer answer;
    return helx_tolerance_number(Bytes(text), answer.out()) == 0 ? answer.json().get<std::string>()
                                                                 : answer.code();
  };
  EXPECT_EQ(number("18446744073709551617"), "18446744073709551616");
  EXPECT_EQ(number("0.1000"), "0.1");
  EXPECT_EQ(number("-0.0"), "0");
  EXPECT_EQ(number("1e-400"), "not_finite");
  EXPECT_EQ(number("1" + std::string(400, '0')), "not_finite");
  EXPECT_EQ(number("inf"), "not_finite");
  EXPECT_EQ(number("-1"), "negative_number");
  EXPECT_EQ(number(""), "not_a_number");
  EXPECT_EQ(number("0x1p3"), "not_a_number");
}

// Nothing but the C functions is visible, so that C++ and Python may load different builds of it.
TEST(CApi, ExportsOnlyItsFunctions) {
  FILE* nm = popen("nm -D --defined-only " HELX_BUILD_DIR "/lib/libhelx_core.so", "r");
  ASSERT_NE(nm, nullptr);
  char line[512];
  int functions = 0;
  while (fgets(line, sizeof(line), nm) != nullptr) {
    const std::string text = line;
    const std::string symbol = text.substr(text.rfind(' ') + 1);
    EXPECT_EQ(symbol.rfind("helx_", 0), 0u) << text;
    ++functions;
  }
  EXPECT_EQ(pclose(nm), 0);
  EXPECT_EQ(functions, 23);
}

TEST(CApi, ReadsTheInterfaceOfARealModel) {
  const char* models = std::getenv("HELX_MODELS");
  if (models == nullptr) {
    const char* required = std::getenv("HELX_REQUIRE_MODELS");
    ASSERT_FALSE(required != nullptr && std::string(required) == "1") << "HELX_MODELS is not set";
    GTEST_SKIP() << "HELX_MODELS is not set";
  }
  const auto model = ReadFile(std::string(models) + "/tflm_hello_world_int8/model.tflite");
  ASSERT_TRUE(model.ok()) << model.status();
  Answer answer;
  ASSERT_EQ(helx_model_tensors(Bytes(*model), answer.out()), 0) << answer.text();
  for (const char* side : {"inputs", "outputs"}) {
    const Json spec = answer.json()[side][0];
    EXPECT_EQ(spec["index"], 0);
    EXPECT_EQ(spec["dtype"], "int8");
    EXPECT_EQ(spec["shape"], Json::array({1, 1}));
  }
}

}  // namespace
}  // namespace helx
