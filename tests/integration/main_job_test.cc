// The main job, end to end: helxctl, helxd, workers, compiler and emulated board, held against the real runtime's goldens.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "tests/integration/golden_models.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

namespace fs = std::filesystem;

// Integers byte for byte, floats within 1e-4 of the largest magnitude: checked here too, apart from HELX's own verdict.
void ExpectGolden(const std::string& actual, const std::string& golden, bool is_float,
                  const std::string& what) {
  ASSERT_EQ(actual.size(), golden.size()) << what;
  if (!is_float) {
    EXPECT_TRUE(actual == golden) << what << " differs from the golden";
    return;
  }
  std::vector<float> a(actual.size() / 4), g(golden.size() / 4);
  std::memcpy(a.data(), actual.data(), actual.size());
  std::memcpy(g.data(), golden.data(), golden.size());
  double largest = 0;
  for (float v : g) largest = std::max(largest, std::fabs(static_cast<double>(v)));
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_LE(std::fabs(static_cast<double>(a[i]) - g[i]), 1e-4 * largest) << what << " at " << i;
  }
}

TEST(MainJob, TenModelsEqualTheGoldensOnTheEmulatedM55) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  for (const std::string& model : FirstTenModels()) {
    SCOPED_TRACE(model);
    const GoldenExperiment experiment = MakeGoldenExperiment(ModelsFolder(), model);
    ASSERT_FALSE(experiment.cases.empty());
    service.WriteExperiment(model, experiment.yaml);
    const CommandResult run =
        service.Helxctl({"run", "-c", model + ".yaml", "-o", "out", "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.out << run.err << service.Log();
    const Json answer = run.json();
    ASSERT_EQ(answer["jobs"].size(), experiment.cases.size());
    for (const Json& job : answer["jobs"]) EXPECT_EQ(job["assessment"], "match");
    for (const GoldenCase& golden : experiment.cases) {
      const std::string bundle = service.folder() + "/out/" + model + "/" + golden.run;
      for (size_t o = 0; o < golden.outputs.size(); ++o) {
        ExpectGolden(Slurp(bundle + "/tensors/outputs/0/output-" + std::to_string(o) + ".bin"),
                     golden.outputs[o], golden.is_float[o],
                     golden.run + " output " + std::to_string(o));
      }
    }
  }
}

TEST(MainJob, TheFetchedBundleVerifiesWithTheServerStopped) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExperimentOptions options;
  options.cases = 1;
  service.WriteExperiment("kws",
                  MakeGoldenExperiment(ModelsFolder(), "mlperf_kws_dscnn_int8", options).yaml);
  const CommandResult submit = service.Helxctl({"submit", "kws.yaml", "--wait", "--json"});
  ASSERT_EQ(submit.exit_code, 0) << submit.out << submit.err << service.Log();
  const std::string job = submit.json()["jobs"][0]["job"];
  const CommandResult fetch = service.Helxctl({"results", "fetch", job, "-o", "fetched"});
  ASSERT_EQ(fetch.exit_code, 0) << fetch.err;
  EXPECT_EQ(service.Stop(), 0);
  const CommandResult verify = service.Helxctl({"results", "verify", "fetched", "--json"});
  EXPECT_EQ(verify.exit_code, 0) << verify.out << verify.err;
  EXPECT_EQ(verify.json()["verified"], true);
  EXPECT_EQ(verify.json()["content_digest"], submit.json()["jobs"][0]["content_digest"]);
  const CommandResult show = service.Helxctl({"show", "fetched"});
  EXPECT_EQ(show.exit_code, 0) << show.err;
  EXPECT_NE(show.out.find("corstone-300"), std::string::npos) << show.out;
}

// The same experiment, uncached, in two folders, by two services with a worker each: the same image, counts and content.
TEST(MainJob, RepeatsByteForByte) {
  HELX_NEED_MODELS();
  ExperimentOptions options;
  options.cases = 1;
  std::map<std::string, std::set<std::string>> seen;
  for (int i = 0; i < 2; ++i) {
    ServiceOptions one;
    one.workers = 1;
    Service service(one);
    ASSERT_NO_FATAL_FAILURE(service.Start());
    for (const std::string& model : FirstTenModels()) {
      service.WriteExperiment(model, MakeGoldenExperiment(ModelsFolder(), model, options).yaml);
      const CommandResult run = service.Helxctl(
          {"run", "-c", model + ".yaml", "-o", "out", "--no-cache", "--json"});
      ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
      const std::string bundle = service.folder() + "/out/" + model + "/case0";
      const auto result = ParseJson(Slurp(bundle + "/result.json"));
      ASSERT_TRUE(result.ok());
      seen[model].insert(run.json()["jobs"][0]["content_digest"].get<std::string>() + " " +
                         Slurp(bundle + "/build/model.elf") + " " +
                         (*result)["measurements"]["samples"][0]["instructions"].dump());
    }
  }
  for (const auto& [model, variants] : seen) EXPECT_EQ(variants.size(), 1u) << model;
}

TEST(MainJob, AnIdenticalRequestIsAnsweredFromTheStore) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  ExperimentOptions options;
  options.cases = 1;
  service.WriteExperiment("hello",
                  MakeGoldenExperiment(ModelsFolder(), "tflm_hello_world_int8", options).yaml);
  const Json first = service.Helxctl({"submit", "hello.yaml", "--wait", "--json"}).json();
  const Json second = service.Helxctl({"submit", "hello.yaml", "--wait", "--json"}).json();
  EXPECT_EQ(first["jobs"][0]["cached"], false);
  EXPECT_EQ(second["jobs"][0]["cached"], true);
  EXPECT_EQ(first["jobs"][0]["bundle"], second["jobs"][0]["bundle"]);
  EXPECT_NE(first["jobs"][0]["job"], second["jobs"][0]["job"]);
}

// Capture changes neither the image nor the counts: only whether bytes follow the signatures.
TEST(MainJob, CaptureDoesNotChangeTheCounts) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  const std::string model = "model: " + ModelsFolder() + "/tflm_hello_world_int8/model.tflite\n";
  service.WriteExperiment("plain", "name: plain\n" + model);
  service.WriteExperiment("capture",
                  "name: capture\n" + model + "defaults: {fvp: {tensor_io: {}}}\n");
  std::vector<Json> results;
  std::vector<std::string> images;
  for (const std::string name : {"plain", "capture"}) {
    const CommandResult run = service.Helxctl({"run", "-c", name + ".yaml", "-o", "out"});
    ASSERT_EQ(run.exit_code, 0) << run.err << service.Log();
    const auto result = ParseJson(Slurp(service.folder() + "/out/" + name + "/result.json"));
    ASSERT_TRUE(result.ok());
    results.push_back(*result);
    images.push_back(Slurp(service.folder() + "/out/" + name + "/build/model.elf"));
  }
  EXPECT_EQ(images[0], images[1]);
  const Json& plain = results[0]["measurements"]["samples"][0];
  const Json& capture = results[1]["measurements"]["samples"][0];
  EXPECT_EQ(plain["instructions"], capture["instructions"]);
  EXPECT_EQ(plain["signatures"], capture["signatures"]);
  EXPECT_TRUE(plain["output_tensors"].empty());
  EXPECT_EQ(capture["output_tensors"].size(), 1u);
}

// Every hostile file ends with one clear refusal or a result; the service goes on.
TEST(MainJob, MalformedModelsAreRefusedOrRun) {
  HELX_NEED_MODELS();
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  int refused = 0, ran = 0;
  std::string yaml = "name: malformed\nmodel:\n";
  for (const auto& item : fs::directory_iterator(ModelsFolder() + "/_malformed")) {
    if (item.path().extension() == ".tflite") yaml += "  - " + item.path().string() + "\n";
  }
  service.WriteExperiment("malformed", yaml);
  const CommandResult submit = service.Helxctl({"submit", "malformed.yaml", "--wait", "--json"});
  const Json answer = submit.json();
  ASSERT_TRUE(answer.contains("jobs")) << submit.out << submit.err;
  for (const Json& job : answer["jobs"]) {
    if (job["phase"] == "SUCCEEDED") {
      ++ran;
      continue;
    }
    ++refused;
    EXPECT_EQ(job["phase"], "FAILED") << job.dump(2);
    EXPECT_EQ(job["failure"]["fault"], "USER") << job.dump(2);
    EXPECT_FALSE(job["failure"]["message"].get<std::string>().empty());
  }
  EXPECT_GT(refused, 50);
  std::printf("malformed: %d refused, %d ran\n", refused, ran);
  ExperimentOptions options;
  options.cases = 1;
  service.WriteExperiment("after",
                  MakeGoldenExperiment(ModelsFolder(), "tflm_hello_world_int8", options).yaml);
  EXPECT_EQ(service.Helxctl({"submit", "after.yaml", "--wait"}).exit_code, 0);
}

// Without the compiler or the emulator every job ends with one error that names what to install.
TEST(MainJob, AMissingToolIsNamed) {
  const std::map<std::string, std::string> missing = {{"arm-none-eabi-gcc", "gcc-arm-none-eabi"},
                                                      {"qemu-system-arm", "qemu-system-arm"}};
  for (const auto& [program, package] : missing) {
    SCOPED_TRACE(program);
    ScratchFolder tools;
    for (const std::string name : {"bwrap", "true", "arm-none-eabi-gcc", "arm-none-eabi-ar",
                                   "arm-none-eabi-objcopy", "qemu-system-arm", "dpkg-query"}) {
      if (name != program && fs::exists("/usr/bin/" + name)) {
        fs::create_symlink("/usr/bin/" + name, tools.path() + "/" + name);
      }
    }
    ServiceOptions options;
    options.workers = 1;
    options.environment = {"PATH=" + tools.path()};
    Service service(options);
    ASSERT_NO_FATAL_FAILURE(service.Start());
    const std::string digits = std::string(HELX_SOURCE_DIR) + "/corpus/models/digits/digits.tflite";
    service.WriteExperiment("digits", "name: digits\nmodel: " + digits + "\n");
    const CommandResult submit = service.Helxctl({"submit", "digits.yaml", "--wait", "--json"});
    EXPECT_EQ(submit.exit_code, 7) << submit.out << submit.err;
    const Json answer = submit.json();
    ASSERT_TRUE(answer.contains("jobs")) << submit.out;
    EXPECT_EQ(answer["jobs"][0]["failure"]["fault"], "INFRA") << answer.dump(2);
    const std::string message = answer["jobs"][0]["failure"]["message"];
    EXPECT_NE(message.find(package), std::string::npos) << message;
  }
}

TEST(MainJob, AnUnknownEngineOrPlatformIsRefusedWithTheNearestName) {
  Service service;
  ASSERT_NO_FATAL_FAILURE(service.Start());
  const std::string digits = std::string(HELX_SOURCE_DIR) + "/corpus/models/digits/digits.tflite";
  service.WriteExperiment("engine",
                  "name: e\nmodel: " + digits + "\ndefaults: {engine: bultin}\n");
  const CommandResult engine = service.Helxctl({"submit", "engine.yaml", "--wait", "--json"});
  EXPECT_EQ(engine.exit_code, 2) << engine.out << engine.err;
  EXPECT_NE(engine.out.find("builtin"), std::string::npos) << engine.out;
  service.WriteExperiment("platform",
                  "name: p\nmodel: " + digits + "\ndefaults: {platform: corstone-30}\n");
  const CommandResult platform = service.Helxctl({"submit", "platform.yaml", "--wait", "--json"});
  EXPECT_EQ(platform.exit_code, 2) << platform.out << platform.err;
  EXPECT_NE(platform.out.find("corstone-300"), std::string::npos) << platform.out;
}

}  // namespace
}  // namespace helx::testing
