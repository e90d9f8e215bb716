// Tensor evidence end to end: freeze, build, run-build, replay; references; stored results verified
// by another process; input sequences; bisection. Expected outputs are those of tflite-micro's
// reference kernels (corpus/models/digits, HELX_MODELS).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>

#include "client/cpp/result_client.h"
#include "core/base/digest.h"
#include "core/base/file.h"
#include "core/base/sha256.h"
#include "core/bundle/export.h"
#include "core/bundle/observations.h"
#include "core/bundle/reader.h"
#include "tests/integration/golden_models.h"
#include "tests/integration/service.h"

namespace helx::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kDigits = std::string(HELX_SOURCE_DIR) + "/corpus/models/digits";

std::string Two(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }
std::string Image(int number) { return Slurp(kDigits + "/inputs/" + Two(number) + ".bin"); }
std::string ScoresFile(int number) {
  return kDigits + "/expected/s" + Two(number) + "/output-0.bin";
}

std::string ImageTensor(const std::string& file) {
  return "{index: 0, name: image, dtype: int8, shape: [1, 8, 8, 1], file: " + file + "}";
}
std::string ScoresTensor(const std::string& file) {
  return "{index: 0, name: Identity, dtype: int8, shape: [1, 10], file: " + file + "}";
}

// One service for the whole file: its store grows, nothing else is shared.
class TensorIo : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    service_ = new Service;
    service_->Start();
  }
  static void TearDownTestSuite() {
    delete service_;
    service_ = nullptr;
  }
  void SetUp() override {
    ASSERT_TRUE(service_->running());
    fs::copy_file(kDigits + "/digits.tflite", Path("model.tflite"));
  }

  std::string Path(const std::string& name) const { return scratch_.path() + "/" + name; }
  void Write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    Spill(Path(name), content);
  }
  CommandResult Helxctl(std::vector<std::string> arguments) const {
    return service_->HelxctlIn(scratch_.path(), std::move(arguments));
  }
  Json File(const std::string& name) const {
    const auto value = ParseJson(Slurp(Path(name)));
    EXPECT_TRUE(value.ok()) << name;
    return value.ok() ? *value : Json();
  }
  // An experiment that feeds one digit and, if asked, holds the scores to those of the same digit.
  void WriteDigit(const std::string& name, int number, bool reference = true) const {
    Write("in.bin", Image(number));
    std::string yaml = "name: " + name +
                       "\nmodel: model.tflite\ndefaults:\n  fvp:\n    tensor_io:\n" +
                       "      inputs: [" + ImageTensor("in.bin") + "]\n";
    if (reference) {
      Write("out.bin", Slurp(ScoresFile(number)));
      yaml += "      references: [{origin: other, description: tflite-micro, tensors: [" +
              ScoresTensor("out.bin") + "]}]\n";
    }
    Write(name + ".yaml", yaml);
  }

  static Service* service_;
  ScratchFolder scratch_;
};
Service* TensorIo::service_ = nullptr;

std::vector<std::string> AttemptKinds(const Json& job) {
  std::vector<std::string> kinds;
  for (const Json& attempt : job["attempts"]) kinds.push_back(attempt["kind"]);
  return kinds;
}

// Makes the manifest true again of files that were changed.
void Rehash(const std::string& bundle) {
  Json manifest = *ParseJson(Slurp(bundle + "/manifest.json"));
  for (Json& artifact : manifest["artifacts"]) {
    const std::string content = Slurp(bundle + "/" + artifact["path"].get<std::string>());
    artifact["sha256"] = Sha256Hex(content);
    artifact["size_bytes"] = content.size();
  }
  Spill(bundle + "/manifest.json", *CanonicalJson(manifest));
}

// Changes a canonical JSON file.
void Edit(const std::string& path, const std::function<void(Json&)>& edit) {
  Json value = *ParseJson(Slurp(path));
  edit(value);
  Spill(path, *CanonicalJson(value));
}

TEST_F(TensorIo, FreezeBuildRunBuildReplay) {
  WriteDigit("trial", 7);
  const CommandResult freeze = Helxctl({"freeze", "-c", "trial.yaml", "--json"});
  ASSERT_EQ(freeze.exit_code, 0) << freeze.out << freeze.err;
  const Json request = File("frozen/trial/request.json");
  EXPECT_EQ(request["schema"], "helx.request-file/v1");
  EXPECT_EQ(request["tensors"].size(), 2u);  // the input and the reference, as hexadecimal
  EXPECT_EQ(freeze.json()["frozen"][0]["identity"],
            "helx.request/v1:sha256:" + Sha256Hex(*CanonicalJson(request["request"])));

  const CommandResult build = Helxctl({"build", "--frozen", "frozen/trial/request.json", "--json"});
  ASSERT_EQ(build.exit_code, 0) << build.out << build.err << service_->Log();
  EXPECT_EQ(build.json()["jobs"][0]["kind"], "build");
  EXPECT_EQ(File("builds/trial/result.json")["executed"], false);
  EXPECT_EQ(File("builds/trial/result.json")["tensors"]["inputs"].size(), 1u);
  EXPECT_EQ(Slurp(Path("builds/trial/tensors/inputs/0/input-0.bin")), Image(7));

  // From here on nothing but the build bundle is left.
  for (const char* gone : {"in.bin", "out.bin", "model.tflite", "trial.yaml", "frozen"}) {
    fs::remove_all(Path(gone));
  }
  const CommandResult run = Helxctl({"run-build", "builds/trial", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err << service_->Log();
  const Json job = run.json()["jobs"][0];
  EXPECT_EQ(job["kind"], "run_build");
  EXPECT_EQ(job["assessment"], "match");
  EXPECT_THAT(AttemptKinds(job), ::testing::ElementsAre("freeze", "run"));
  EXPECT_EQ(Slurp(Path("results/trial/tensors/outputs/0/output-0.bin")), Slurp(ScoresFile(7)));
  EXPECT_EQ(Slurp(Path("results/trial/build/model.elf")),
            Slurp(Path("builds/trial/build/model.elf")));

  const CommandResult replay = Helxctl({"replay", "results/trial", "--json"});
  ASSERT_EQ(replay.exit_code, 0) << replay.out << replay.err << service_->Log();
  const Json again = replay.json()["jobs"][0];
  EXPECT_EQ(again["kind"], "replay");
  EXPECT_EQ(again["cached"], false);
  EXPECT_EQ(AttemptKinds(again).back(), "run");
  EXPECT_THAT(AttemptKinds(again), ::testing::Not(::testing::Contains("build")));
  EXPECT_EQ(again["content_digest"], job["content_digest"]);
  EXPECT_TRUE(again["issues"].empty());
  EXPECT_EQ(File("replays/trial/result.json"), File("results/trial/result.json"));

  // By its name on the server, too: nothing is uploaded then.
  EXPECT_EQ(Helxctl({"replay", "trial", "-o", "named"}).exit_code, 0);
  EXPECT_EQ(File("named/trial/result.json"), File("results/trial/result.json"));
}

TEST_F(TensorIo, AChangedPolicyNeedsANewBuild) {
  WriteDigit("bound", 1);
  ASSERT_EQ(Helxctl({"build", "-c", "bound.yaml", "-o", "one"}).exit_code, 0);
  WriteDigit("bound", 2);
  ASSERT_EQ(Helxctl({"build", "-c", "bound.yaml", "-o", "two"}).exit_code, 0);
  EXPECT_NE(Slurp(Path("one/bound/build/model.elf")), Slurp(Path("two/bound/build/model.elf")));
  // The older build goes on with the inputs it was built for, whatever the files say by now.
  ASSERT_EQ(Helxctl({"run-build", "one/bound"}).exit_code, 0);
  EXPECT_EQ(Slurp(Path("results/bound/tensors/outputs/0/output-0.bin")), Slurp(ScoresFile(1)));
  // Whoever changes a build's policy, inputs or image in place has no build any more.
  for (const std::string& file : {std::string("request.json"), std::string("build/model.elf"),
                                  std::string("tensors/inputs/0/input-0.bin")}) {
    fs::remove_all(Path("changed"));
    fs::copy(Path("one/bound"), Path("changed"), fs::copy_options::recursive);
    Spill(Path("changed/" + file), Slurp(Path("two/bound/" + file)));
    const CommandResult refused = Helxctl({"run-build", "changed"});
    EXPECT_EQ(refused.exit_code, 6) << file << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(file));
  }
}

// A whole bundle forged with care: manifest, result and request agree, and only the image is
// another request's.
TEST_F(TensorIo, AnImageOfAnotherRequestIsRefusedWhoeverSendsIt) {
  WriteDigit("first", 3);
  ASSERT_EQ(Helxctl({"build", "-c", "first.yaml"}).exit_code, 0);
  WriteDigit("second", 4);
  ASSERT_EQ(Helxctl({"build", "-c", "second.yaml"}).exit_code, 0);
  const std::string image = Slurp(Path("builds/second/build/model.elf"));
  Spill(Path("builds/first/build/model.elf"), image);
  Json result = File("builds/first/result.json");
  result["image_sha256"] = Sha256Hex(image);
  for (Json& file : result["files"]) {
    if (file["path"] != "build/model.elf") continue;
    file["sha256"] = Sha256Hex(image);
    file["size"] = image.size();
  }
  Spill(Path("builds/first/result.json"), *CanonicalJson(result));
  Rehash(Path("builds/first"));
  const CommandResult refused = Helxctl({"run-build", "builds/first"});
  EXPECT_EQ(refused.exit_code, 6);
  EXPECT_THAT(refused.err, HasSubstr("compiled_digest_mismatch"));
}

// A result with two samples, held to references: every file changed, shortened, lost or replaced by
// a link, then forgeries whose manifest is true.
TEST_F(TensorIo, ARealBundleRefusesEveryTampering) {
  Write("in.bin", Image(1));
  Write("out.bin", Slurp(ScoresFile(1)));
  const std::string reference =
      "{origin: files, description: d, tensors: [" + ScoresTensor("out.bin") + "]}";
  Write("real.yaml",
        "name: real\nmodel: model.tflite\ndefaults:\n  samples: 2\n  fvp:\n    tensor_io:\n" +
            std::string("      inputs: [") + ImageTensor("in.bin") + "]\n" + "      references: [" +
            reference + ", " + reference + "]\n");
  ASSERT_EQ(Helxctl({"run", "-c", "real.yaml"}).exit_code, 0) << service_->Log();
  ASSERT_TRUE(LoadBundle(Path("results/real")).ok());
  int tamperings = 0;
  const auto refuses = [&](const std::string& code,
                           const std::function<void(const std::string&)>& tamper) {
    const std::string bundle = Path("tampered");
    fs::remove_all(bundle);
    fs::copy(Path("results/real"), bundle, fs::copy_options::recursive);
    tamper(bundle);
    const auto loaded = LoadBundle(bundle);
    EXPECT_EQ(loaded.ok() ? "accepted" : ErrorCodeOf(loaded.status()), code) << loaded.status();
    ++tamperings;
  };
  const Json manifest = File("results/real/manifest.json");
  for (const Json& artifact : manifest["artifacts"]) {
    const std::string file = "/" + artifact["path"].get<std::string>();
    SCOPED_TRACE(file);
    const std::string content = Slurp(Path("results/real") + file);
    fs::remove(Path("aside"));
    Spill(Path("aside"), content);
    if (!content.empty()) {
      refuses("artifact_modified", [&](const std::string& bundle) {
        std::string changed = content;
        changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
        Spill(bundle + file, changed);
      });
      refuses("artifact_size",
              [&](const std::string& bundle) { Spill(bundle + file, content.substr(1)); });
    }
    refuses("artifact_missing", [&](const std::string& bundle) { fs::remove(bundle + file); });
    refuses("special_file", [&](const std::string& bundle) {
      fs::remove(bundle + file);
      fs::create_symlink(Path("aside"), bundle + file);
    });
  }
  refuses("unlisted_file", [](const std::string& bundle) { Spill(bundle + "/more.txt", "x"); });
  refuses("manifest_missing",
          [](const std::string& bundle) { fs::remove(bundle + "/manifest.json"); });
  const auto edited = [&](const std::string& code, const std::string& file,
                          const std::function<void(Json&)>& edit) {
    SCOPED_TRACE(code);
    refuses(code, [&](const std::string& bundle) {
      Edit(bundle + file, edit);
      if (file != "/manifest.json") Rehash(bundle);
    });
  };
  edited("manifest_version", "/manifest.json", [](Json& m) { m["schema_version"] = 2; });
  edited("unsafe_path", "/manifest.json", [](Json& m) { m["artifacts"][0]["path"] = "../aside"; });
  edited("bundle_incomplete", "/manifest.json", [](Json& m) { m["status"] = "failed"; });
  edited("validity_mismatch", "/manifest.json", [](Json& m) { m["validity"] = "invalid"; });
  edited("media_type_mismatch", "/manifest.json",
         [](Json& m) { m["artifacts"][0]["media_type"] = "image/png"; });
  edited("core_mismatch", "/result.json", [](Json& r) { r["core"] = "cortex-m4"; });
  edited("memory_mismatch", "/result.json",
         [](Json& r) { r["measurements"]["memory"]["rom_bytes"]["value"] = 1; });
  edited("measurement_basis", "/result.json",
         [](Json& r) { r["measurements"]["samples"][0]["instructions"]["basis"] = "silicon"; });
  edited("file_mismatch", "/build/memory.json", [](Json& m) { m["operators"][0]["macs"] = 1; });
  edited("verdict_mismatch", "/result.json", [](Json& r) {
    r["measurements"]["samples"][1]["verification"]["tensors"][0]["max_abs_error"] = "1";
  });
  edited("verdict_missing", "/result.json",
         [](Json& r) { r["measurements"]["samples"][0]["verification"] = nullptr; });
  edited("sample_count", "/result.json", [](Json& r) { r["measurements"]["samples"].erase(1); });
  edited("runner_digest_mismatch", "/result.json",
         [](Json& r) { r["tensors"]["request_digest"] = std::string(64, '0'); });
  edited("intent_mismatch", "/result.json",
         [](Json& r) { r["tensors"]["input_intent"] = "implicit_zeros"; });
  edited("policy_mismatch", "/result.json",
         [](Json& r) { r["tensors"]["policy"]["default"]["absolute"] = "9"; });
  edited("signature_mismatch", "/result.json",
         [](Json& r) { r["measurements"]["samples"][0]["signatures"][0] = std::string(64, 'a'); });
  const auto rewritten = [&](const std::string& code, const std::string& file,
                             const std::string& content) {
    SCOPED_TRACE(code);
    refuses(code, [&](const std::string& bundle) {
      Spill(bundle + file, content);
      Rehash(bundle);
    });
  };
  rewritten("signature_mismatch", "/tensors/outputs/1/output-0.bin", Slurp(ScoresFile(2)));
  rewritten("input_artifact_mismatch", "/tensors/inputs/0/input-0.bin", Image(2));
  rewritten("reference_artifact_mismatch", "/tensors/references/0/output-0.bin",
            Slurp(ScoresFile(2)));
  EXPECT_GE(tamperings, 60);
}

TEST_F(TensorIo, ABundleRunsOnAServerThatNeverSawIt) {
  WriteDigit("moved", 5);
  ASSERT_EQ(Helxctl({"build", "-c", "moved.yaml"}).exit_code, 0);
  ServiceOptions options;
  options.workers = 1;
  Service other(options);
  ASSERT_NO_FATAL_FAILURE(other.Start());
  const CommandResult run =
      other.HelxctlIn(scratch_.path(), {"run-build", "builds/moved", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err << other.Log();
  EXPECT_THAT(AttemptKinds(run.json()["jobs"][0]), ::testing::ElementsAre("freeze", "run"));
  EXPECT_EQ(Slurp(Path("results/moved/tensors/outputs/0/output-0.bin")), Slurp(ScoresFile(5)));
}

TEST_F(TensorIo, BundlesOfTheWrongKindAreRefusedBeforeAnythingIsSent) {
  WriteDigit("kind", 6);
  ASSERT_EQ(Helxctl({"build", "-c", "kind.yaml"}).exit_code, 0);
  ASSERT_EQ(Helxctl({"run-build", "builds/kind"}).exit_code, 0);
  const CommandResult replayed = Helxctl({"replay", "builds/kind"});
  EXPECT_EQ(replayed.exit_code, 2);
  EXPECT_THAT(replayed.err, HasSubstr("run-build"));
  const CommandResult rerun = Helxctl({"run-build", "results/kind"});
  EXPECT_EQ(rerun.exit_code, 2);
  EXPECT_THAT(rerun.err, HasSubstr("replay"));
  Write("only.yaml", "name: only\nmodel: model.tflite\ndefaults: {fvp: {enabled: false}}\n");
  ASSERT_EQ(Helxctl({"build", "-c", "only.yaml"}).exit_code, 0);
  const CommandResult only = Helxctl({"run-build", "builds/only"});
  EXPECT_EQ(only.exit_code, 2);
  EXPECT_THAT(only.err, HasSubstr("fvp.enabled"));
  EXPECT_FALSE(fs::exists(Path("results/only")));
  EXPECT_EQ(Helxctl({"build"}).exit_code, 2);
  EXPECT_EQ(Helxctl({"build", "-c", "only.yaml", "--frozen", "x"}).exit_code, 2);
  EXPECT_EQ(Helxctl({"build", "--frozen", "absent/request.json"}).exit_code, 2);
  EXPECT_EQ(Helxctl({"run-build", "./absent"}).exit_code, 6);
}

TEST_F(TensorIo, FreezingWritesNothingWhenItRefuses) {
  Write("broken.tflite", "TFL3");
  Write("two.yaml", "name: two\nmodel: [model.tflite, broken.tflite]\n");
  const CommandResult freeze = Helxctl({"freeze", "-c", "two.yaml", "--json"});
  EXPECT_EQ(freeze.exit_code, 2) << freeze.out;
  EXPECT_EQ(freeze.json()["refusal"]["fault"], "USER");
  EXPECT_FALSE(fs::exists(Path("frozen")));
}

TEST_F(TensorIo, ReferenceDirMatchesAndMismatchesExactly) {
  WriteDigit("files", 8, false);
  const std::string golden = Slurp(ScoresFile(8));
  Write("goldens/output-0.bin", golden);
  const CommandResult match =
      Helxctl({"run", "-c", "files.yaml", "--reference-dir", "goldens", "--json"});
  ASSERT_EQ(match.exit_code, 0) << match.out << match.err << service_->Log();
  EXPECT_EQ(match.json()["jobs"][0]["assessment"], "match");
  const Json reference = File("results/files/result.json")["tensors"]["references"][0];
  EXPECT_EQ(reference["origin"], "files");
  EXPECT_EQ(Helxctl({"results", "verify", "results/files"}).exit_code, 0);

  std::string changed = golden;
  changed[6] = static_cast<char>(changed[6] ^ 8);
  Write("changed/output-0.bin", changed);
  const CommandResult mismatch =
      Helxctl({"run", "-c", "files.yaml", "--reference-dir", "changed", "-o", "kept"});
  EXPECT_EQ(mismatch.exit_code, 1) << mismatch.out << mismatch.err;
  EXPECT_THAT(mismatch.err, HasSubstr("kept/files"));
  const Json verdict =
      File("kept/files/result.json")["measurements"]["samples"][0]["verification"]["tensors"][0];
  EXPECT_EQ(verdict["elements"], 10);
  EXPECT_EQ(verdict["mismatches"], 1);
  EXPECT_EQ(verdict["max_abs_error"], "8");
  EXPECT_EQ(verdict["first_difference"]["position"], Json({0, 6}));
  EXPECT_EQ(verdict["first_difference"]["actual"], std::to_string(static_cast<int8_t>(golden[6])));
  EXPECT_EQ(verdict["first_difference"]["reference"],
            std::to_string(static_cast<int8_t>(changed[6])));
  // The mismatching bundle is whole: it can be shown, verified and replayed.
  EXPECT_EQ(Helxctl({"show", "kept/files"}).exit_code, 0);
  EXPECT_EQ(Helxctl({"results", "verify", "kept/files"}).exit_code, 1);
  EXPECT_EQ(Helxctl({"replay", "kept/files"}).exit_code, 1);

  // What cannot be a reference is refused before anything is sent.
  Write("short/output-0.bin", golden.substr(1));
  Write("long/output-0.bin", golden + "x");
  Write("empty/other.bin", "x");
  for (const char* folder : {"short", "long", "empty", "absent"}) {
    const CommandResult refused =
        Helxctl({"run", "-c", "files.yaml", "--reference-dir", folder, "-o", "none"});
    EXPECT_EQ(refused.exit_code, 2) << folder << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("output-0.bin")) << folder;
  }
  WriteDigit("twice", 8);
  EXPECT_EQ(
      Helxctl({"run", "-c", "twice.yaml", "--reference-dir", "goldens", "-o", "none"}).exit_code,
      2);
  EXPECT_FALSE(fs::exists(Path("none")));
}

// Another process (helxctl) asks the daemon about a result that the daemon holds: nothing is
// fetched, nothing runs.
TEST_F(TensorIo, AStoredResultIsVerifiedOverTheWire) {
  WriteDigit("stored", 9, false);
  ASSERT_EQ(Helxctl({"run", "-c", "stored.yaml"}).exit_code, 0);
  const size_t jobs = Helxctl({"list", "--json"}).json()["jobs"].size();

  const std::string golden = Slurp(ScoresFile(9));
  Write("goldens/output-0.bin", golden);
  const CommandResult match =
      Helxctl({"compare", "stored", "--reference-dir", "goldens", "--json"});
  ASSERT_EQ(match.exit_code, 0) << match.out << match.err;
  EXPECT_EQ(match.json()["assessment"], "match");
  std::string changed = golden;
  changed[2] = static_cast<char>(changed[2] ^ 2);
  Write("changed/output-0.bin", changed);
  const CommandResult mismatch =
      Helxctl({"compare", "stored", "--reference-dir", "changed", "--json"});
  EXPECT_EQ(mismatch.exit_code, 1);
  const Json over_the_wire = mismatch.json()["samples"][0]["verification"];
  EXPECT_EQ(over_the_wire["tensors"][0]["mismatches"], 1);
  EXPECT_EQ(over_the_wire["tensors"][0]["first_difference"]["position"], Json({0, 2}));
  // The same offline, from the folder.
  const CommandResult offline =
      Helxctl({"compare", "results/stored", "--reference-dir", "changed", "--json"});
  EXPECT_EQ(offline.exit_code, 1);
  EXPECT_EQ(offline.json()["samples"][0]["verification"], over_the_wire);
  EXPECT_EQ(Helxctl({"compare", "stored", "--reference-dir", "changed", "--tolerance", "0:2:0"})
                .exit_code,
            0);
  EXPECT_EQ(Helxctl({"compare", "stored", "results/stored"}).exit_code, 0);
  EXPECT_EQ(
      Helxctl({"compare", "stored", "--reference-dir", "changed", "--absolute", "-1"}).exit_code,
      2);
  EXPECT_EQ(Helxctl({"compare", "stored", "--reference-dir", "goldens", "--sample", "1"}).exit_code,
            6);

  const CommandResult export_stored =
      Helxctl({"results", "export", "stored", "--format", "json", "--output", "wire.json"});
  ASSERT_EQ(export_stored.exit_code, 0) << export_stored.err;
  ASSERT_EQ(
      Helxctl({"results", "export", "results/stored", "--format", "json", "--output", "view.json"})
          .exit_code,
      0);
  EXPECT_EQ(Slurp(Path("wire.json")), Slurp(Path("view.json")));
  EXPECT_EQ(File("view.json")["schema_version"], "1.0-draft");
  EXPECT_EQ(Helxctl({"results", "export", "results/stored", "--format", "xml"}).exit_code, 2);
  EXPECT_EQ(Helxctl({"results", "export", "stored", "--output", "no/such/place"}).exit_code, 2);
  // An export takes the place of a file only, and never of evidence.
  fs::create_symlink("view.json", Path("link.json"));
  for (const std::string output :
       {"link.json", "/dev/null", "results/stored/manifest.json", "results/stored/view.json"}) {
    EXPECT_EQ(Helxctl({"results", "export", "results/stored", "-o", output}).exit_code, 2)
        << output;
  }
  EXPECT_TRUE(fs::is_symlink(Path("link.json")));
  EXPECT_EQ(Helxctl({"results", "verify", "results/stored"}).exit_code, 0);

  // The library's own operations, remote and offline: the same answers.
  const auto connection = client::Connection::Open(
      service_->address(), client::Environment(std::map<std::string, std::string, std::less<>>{
                               {"HOME", scratch_.path()}}));
  ASSERT_TRUE(connection.ok()) << connection.status();
  client::ResultClient results(*connection);
  const auto stored = results.GetNewest("stored");
  ASSERT_TRUE(stored.ok()) << stored.status();
  const Digest digest = *client::FromProto(stored->bundle());
  const auto bundle = LoadBundle(Path("results/stored"));
  ASSERT_TRUE(bundle.ok()) << bundle.status();
  const auto verified = results.Verify(digest);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->content_digest(), bundle->content_digest);
  EXPECT_EQ(verified->artifacts(), static_cast<int64_t>(bundle->manifest.artifacts.size()));
  const auto identity = results.GetInputIdentity(digest);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(*identity->value, "helx.inputs/v1:sha256:" + Sha256Hex(*identity->canonical_json));
  EXPECT_EQ(*identity->value, *BundleInputIdentity(*bundle)->value);
  EXPECT_EQ(*results.Export(digest), *RenderExport(*bundle));
  EXPECT_EQ(*ParseJson(*results.Observe(digest)), *Observations(*bundle));
  TensorData reference{bundle->result.outputs[0], changed};
  const auto verdict = results.VerifySample(digest, 0, {"files", "changed"}, {reference}, {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_EQ(VerificationToJson(*verdict), over_the_wire);
  reference.spec.dtype = DType::kUint8;
  EXPECT_TRUE(absl::IsInvalidArgument(
      results.VerifySample(digest, 0, {"files", "changed"}, {reference}, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      results.VerifySample(digest, 0, {"nobody", ""}, {reference}, {}).status()));
  EXPECT_TRUE(
      absl::IsNotFound(results.Verify(DigestOf(std::string_view("no such bundle"))).status()));
  EXPECT_EQ(Helxctl({"list", "--json"}).json()["jobs"].size(), jobs);
}

// One input set per sample: each sample's outputs are its own set's, and the inputs have an
// identity of their own.
TEST_F(TensorIo, AnInputSequenceFeedsOneSetPerSample) {
  std::string sets, references;
  for (int i = 0; i < 4; ++i) {
    Write("in-" + std::to_string(i) + ".bin", Image(10 + i));
    Write("out-" + std::to_string(i) + ".bin", Slurp(ScoresFile(10 + i)));
    const std::string separator = i == 0 ? "" : ", ";
    sets += separator + "[" + ImageTensor("in-" + std::to_string(i) + ".bin") + "]";
    references += separator + "{origin: other, description: step, tensors: [" +
                  ScoresTensor("out-" + std::to_string(i) + ".bin") + "]}";
  }
  const std::string yaml =
      "name: steps\nmodel: model.tflite\ndefaults:\n  samples: 4\n  state: carry\n  fvp:\n"
      "    tensor_io:\n      input_sequence: [" +
      sets + "]\n      references: [" + references + "]\n";
  Write("steps.yaml", yaml);
  const CommandResult run = Helxctl({"run", "-c", "steps.yaml"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err << service_->Log();
  const Json result = File("results/steps/result.json");
  EXPECT_TRUE(result["tensors"]["inputs"].is_null());
  EXPECT_EQ(result["tensors"]["input_sequence"].size(), 4u);
  for (int i = 0; i < 4; ++i) {
    const std::string sample = std::to_string(i);
    EXPECT_EQ(Slurp(Path("results/steps/tensors/outputs/" + sample + "/output-0.bin")),
              Slurp(ScoresFile(10 + i)));
    EXPECT_EQ(Slurp(Path("results/steps/tensors/inputs/" + sample + "/input-0.bin")),
              Image(10 + i));
    EXPECT_EQ(result["measurements"]["samples"][i]["verification"]["reference_index"], i);
  }
  ASSERT_EQ(Helxctl({"results", "export", "results/steps", "-o", "view.json"}).exit_code, 0);
  const Json workload = File("view.json")["workload"];
  EXPECT_TRUE(workload["input_identity"].is_null());
  EXPECT_FALSE(workload["input_identity_unavailable_reason"].get<std::string>().empty());
  // The identity by its definition (docs/formats.md).
  std::string preimage = "{\"input_sets\":[";
  for (int i = 0; i < 4; ++i) {
    preimage += std::string(i == 0 ? "" : ",") +
                "[{\"dtype\":\"int8\",\"index\":0,\"name\":\"image\",\"sha256\":\"" +
                Sha256Hex(Image(10 + i)) + "\",\"shape\":[1,8,8,1]}]";
  }
  preimage += "],\"schema\":\"helx.input-sequence/v1\",\"storage\":\"little-endian\"}";
  EXPECT_EQ(workload["input_sequence_identity"],
            "helx.input-sequence/v1:sha256:" + Sha256Hex(preimage));

  // One wrong step is that step's mismatch alone.
  std::string wrong = Slurp(ScoresFile(12));
  wrong[0] = static_cast<char>(wrong[0] ^ 1);
  Write("out-2.bin", wrong);
  EXPECT_EQ(Helxctl({"run", "-c", "steps.yaml", "-o", "wrong"}).exit_code, 1);
  const Json samples = File("wrong/steps/result.json")["measurements"]["samples"];
  for (int i = 0; i < 4; ++i) EXPECT_EQ(samples[i]["verification"]["matched"], i != 2) << i;
  // Replayed, the sequence is fed again.
  EXPECT_EQ(Helxctl({"replay", "results/steps"}).exit_code, 0);
  EXPECT_EQ(File("replays/steps/result.json"), result);

  // --reference-dir with several samples: one subfolder each.
  Write("only-inputs.yaml",
        "name: only-inputs\nmodel: model.tflite\ndefaults:\n  samples: 4\n"
        "  state: carry\n  fvp:\n    tensor_io:\n      input_sequence: [" +
            sets + "]\n");
  for (int i = 0; i < 4; ++i) {
    Write("goldens/" + std::to_string(i) + "/output-0.bin", Slurp(ScoresFile(10 + i)));
  }
  EXPECT_EQ(Helxctl({"run", "-c", "only-inputs.yaml", "--reference-dir", "goldens"}).exit_code, 0);

  for (const auto& [line, code] : std::map<std::string, std::string>{
           {"  samples: 3\n  state: carry\n", "sequence_count"},
           {"  samples: 4\n", "sequence_acquisition"},
           {"  samples: 4\n  state: carry\n  warmup: 1\n", "sequence_acquisition"}}) {
    Write("bad.yaml", "name: bad\nmodel: model.tflite\ndefaults:\n" + line +
                          "  fvp:\n    tensor_io:\n      input_sequence: [" + sets + "]\n");
    const CommandResult bad = Helxctl({"run", "-c", "bad.yaml"});
    EXPECT_EQ(bad.exit_code, 2) << code;
    EXPECT_THAT(bad.err, HasSubstr(code));
  }
  EXPECT_FALSE(fs::exists(Path("results/bad")));
}

// Inputs are refilled and, with reset, every invocation is the first: warm-ups and earlier samples
// leave no trace.
TEST_F(TensorIo, EveryInvocationStartsFromTheSameInputs) {
  Write("in.bin", Image(0));
  const auto experiment = [&](const std::string& name, const std::string& acquisition) {
    Write(name + ".yaml", "name: " + name + "\nmodel: model.tflite\ndefaults:\n" + acquisition +
                              "  fvp:\n    tensor_io:\n      inputs: [" + ImageTensor("in.bin") +
                              "]\n");
    const CommandResult run = Helxctl({"run", "-c", name + ".yaml"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return File("results/" + name + "/result.json")["measurements"]["samples"];
  };
  const Json one = experiment("one", "  samples: 1\n");
  for (const std::string& state : {std::string("reset"), std::string("carry")}) {
    const Json many =
        experiment("many-" + state, "  warmup: 3\n  samples: 3\n  state: " + state + "\n");
    ASSERT_EQ(many.size(), 3u);
    for (const Json& sample : many) {
      EXPECT_EQ(sample["signatures"], one[0]["signatures"]);
      EXPECT_EQ(sample["instructions"], one[0]["instructions"]);
    }
  }
}

}  // namespace
}  // namespace helx::testing
