// The program from its arguments to its exit code, against a server in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "client/cli/command.h"
#include "core/base/file.h"
#include "tests/unit/client/cpp/fake_server.h"
#include "tests/unit/client/cpp/temporary_folder.h"
#include "tests/unit/client/cpp/test_bundle.h"

namespace helx::cli {
namespace {

using client::FakeServer;
using client::StoreTestBundle;
using client::TemporaryFolder;
using client::TestReference;
using client::WriteTestBundle;
using testing::HasSubstr;
using testing::Not;

struct Answer {
  int code = -1;
  std::string out;
  std::string err;
  Json json() const {
    auto value = ParseJson(out);
    return value.ok() ? *value : Json();
  }
};

class CliTest : public testing::Test {
 protected:
  Answer Run(std::vector<std::string> arguments, std::stop_token stop = {}) {
    std::ostringstream out;
    std::ostringstream err;
    const client::Environment environment({{"HOME", folder_.path()},
                                           {"HELX_SERVER", server_.address()},
                                           {"PATH", folder_.path()},
                                           {"XDG_RUNTIME_DIR", folder_.path()}});
    Answer answer;
    answer.code = RunCli("helxctl", arguments, environment, out, err, false, std::move(stop));
    answer.out = out.str();
    answer.err = err.str();
    return answer;
  }

  // An experiment with one model beside it.
  std::string Experiment(const std::string& more = "") {
    folder_.Write("kws.tflite", "a model");
    return folder_.Write("experiment.yaml", "name: kws\nmodel: kws.tflite\n" + more);
  }

  // The events of jobs/1: queued, then ended so.
  void EndFirstJob(helx::v1::Job ended) {
    ended.set_name("jobs/1");
    ended.set_experiment("kws");
    ended.set_finished(true);
    helx::v1::JobEvent event;
    event.set_sequence(2);
    *event.mutable_job() = ended;
    server_.state().events["jobs/1"] = {event};
  }

  helx::v1::Job Succeeded(const helx::v1::Result& result, helx::v1::Assessment assessment) {
    helx::v1::Job job;
    job.set_phase(helx::v1::SUCCEEDED);
    job.set_success(true);
    job.set_assessment(assessment);
    *job.mutable_bundle() = result.bundle();
    return job;
  }

  FakeServer server_;
  TemporaryFolder folder_;
};

TEST_F(CliTest, UsageErrorsExitTwo) {
  EXPECT_EQ(Run({}).code, 2);
  EXPECT_EQ(Run({"nonsense"}).code, 2);
  EXPECT_EQ(Run({"status"}).code, 2);
  EXPECT_EQ(Run({"list", "--limit", "0"}).code, 2);
  EXPECT_EQ(Run({"list", "--phase", "SLEEPING"}).code, 2);
  EXPECT_EQ(Run({"status", "not a job"}).code, 2);
  EXPECT_EQ(Run({"build"}).code, 2);
  EXPECT_EQ(Run({"run-build"}).code, 2);
  EXPECT_EQ(Run({"compare", "a"}).code, 2);
  EXPECT_EQ(Run({"compare", "a", "b", "--reference-dir", "c"}).code, 2);
  EXPECT_EQ(Run({"compare", "a", "b", "--absolute", "nan"}).code, 2);
  EXPECT_EQ(Run({"compare", "a", "b", "--tolerance", "0:1"}).code, 2);
  EXPECT_EQ(Run({"compare", "a", "b", "--tolerance", "0:1:0", "--tolerance", "0:2:0"}).code, 2);
  EXPECT_EQ(Run({"results", "bisect", "a"}).code, 2);
  EXPECT_EQ(Run({"results", "export", "a", "--format", "xml"}).code, 2);
  EXPECT_EQ(Run({"status", "--json"}).json()["error"]["exit_code"], 2);
  const Answer help = Run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* verb :
       {"submit", "run", "freeze", "build", "run-build", "replay", "compare", "status", "watch",
        "wait", "list", "show", "cancel", "results", "engines", "targets", "doctor", "version"}) {
    EXPECT_THAT(help.out, HasSubstr(verb));
  }
}

TEST_F(CliTest, VersionNeedsNoServer) {
  server_.Stop();
  EXPECT_THAT(Run({"version"}).out, HasSubstr("helxctl "));
  const Answer json = Run({"version", "--json"});
  EXPECT_EQ(json.code, 0);
  EXPECT_TRUE(json.json()["version"].is_string());
}

TEST_F(CliTest, ServerThatIsNotThereExitsThree) {
  server_.Stop();
  for (const auto& verb : std::vector<std::vector<std::string>>{
           {"list"}, {"status", "jobs/1"}, {"engines"}, {"results", "list"}, {"show", "kws"}}) {
    const Answer answer = Run(verb);
    EXPECT_EQ(answer.code, 3) << verb[0];
    EXPECT_THAT(answer.err, HasSubstr(server_.address()));
  }
  const Answer json = Run({"--json", "list"});
  EXPECT_EQ(json.json()["error"]["exit_code"], 3);
}

TEST_F(CliTest, NoServerAnywhereSaysWhatToInstall) {
  std::ostringstream out;
  std::ostringstream err;
  const client::Environment environment(
      {{"HOME", folder_.path()}, {"PATH", folder_.path()}, {"XDG_RUNTIME_DIR", folder_.path()}});
  EXPECT_EQ(RunCli("helxctl", {"list"}, environment, out, err, false, {}), 3);
  EXPECT_THAT(err.str(), HasSubstr("helxd"));
  EXPECT_THAT(err.str(), HasSubstr("--server"));
}

TEST_F(CliTest, SubmitUploadsTheModelAndPrintsTheJob) {
  const Answer answer = Run({"submit", Experiment(), "--json", "--priority", "3", "--no-cache",
                             "--run-limit-seconds", "20", "--request-id", "r1"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.json()["jobs"][0]["job"], "jobs/1");
  ASSERT_EQ(server_.state().submissions.size(), 1u);
  const auto& request = server_.state().submissions[0];
  EXPECT_EQ(request.name(), "kws");
  EXPECT_EQ(request.model_stem(), "kws");
  EXPECT_EQ(request.priority(), 3);
  EXPECT_TRUE(request.no_cache());
  EXPECT_EQ(request.run_limit_ms(), 20'000);
  EXPECT_EQ(request.request_id(), "r1");
  // printf 'a model' | sha256sum
  const std::string model = "97ff8a35544dcf40ad84047074439dd6aa3a0be469ea578a1b1c017d939ec61c";
  EXPECT_EQ(server_.state().blobs.at(model), "a model");
  const auto document = ParseJson(request.document());
  ASSERT_TRUE(document.ok());
  EXPECT_EQ((*document)["model"]["sha256"], model);
}

TEST_F(CliTest, BlobsThatVanishAreUploadedAgain) {
  server_.state().refuse_submits = 1;
  EXPECT_EQ(Run({"submit", Experiment()}).code, 0);
  EXPECT_EQ(server_.state().submissions.size(), 2u);
}

TEST_F(CliTest, DocumentsThatAreWrongExitTwoBeforeAnyServerIsAsked) {
  server_.Stop();
  const Answer missing = Run({"submit", folder_.path() + "/none.yaml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("none.yaml"));
  const Answer unknown = Run({"run", "-c", Experiment("modle: x\n")});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("modle"));
  const std::string path = Experiment();
  std::filesystem::remove(folder_.path() + "/kws.tflite");
  const Answer model = Run({"run", "-c", path});
  EXPECT_EQ(model.code, 2);
  EXPECT_THAT(model.err, HasSubstr("kws.tflite"));
}

TEST_F(CliTest, RunLeavesTheBundleAndAMismatchExitsOne) {
  WriteTestBundle(folder_.path() + "/made", TestReference::kMismatching);
  const auto result = StoreTestBundle(folder_.path() + "/made", "kws", server_);
  EndFirstJob(Succeeded(result, helx::v1::MISMATCH));
  const std::string out = folder_.path() + "/out";
  const Answer answer = Run({"run", "-c", Experiment(), "-o", out});
  EXPECT_EQ(answer.code, 1) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr(out + "/kws"));
  EXPECT_THAT(answer.out, HasSubstr("1,234,567"));
  EXPECT_EQ(Run({"results", "verify", out + "/kws"}).code, 1);
  const Answer show = Run({"show", out + "/kws"});
  EXPECT_EQ(show.code, 0);
  EXPECT_THAT(show.out, HasSubstr("first at [0, 2]: got 127, reference 126"));
}

TEST_F(CliTest, RunAgainReplacesTheBundle) {
  WriteTestBundle(folder_.path() + "/made");
  const auto result = StoreTestBundle(folder_.path() + "/made", "kws", server_);
  EndFirstJob(Succeeded(result, helx::v1::NOT_COMPARED));
  const std::string out = folder_.path() + "/out";
  folder_.Write("out/kws/manifest.json", "an older bundle");
  const Answer answer = Run({"run", "-c", Experiment(), "-o", out, "--json"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.json()["jobs"][0]["folder"], out + "/kws");
  EXPECT_EQ(Run({"results", "verify", out + "/kws"}).code, 0);
}

TEST_F(CliTest, RunDoesNotTouchAFolderThatIsNoBundle) {
  folder_.Write("out/kws/notes.txt", "precious");
  const Answer answer = Run({"run", "-c", Experiment(), "-o", folder_.path() + "/out"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_TRUE(server_.state().submissions.empty());
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/out/kws/notes.txt"));
}

// A place that cannot take the bundle is refused before the job is even submitted.
TEST_F(CliTest, PlacesThatTakeNoBundleAreRefusedBeforeAnythingRuns) {
  const std::string experiment = Experiment();
  for (const std::string& place :
       {experiment, experiment + "/deeper", std::string("/proc"), std::string("/proc/self/x")}) {
    for (const char* verb : {"run", "build", "freeze"}) {
      const Answer answer = Run({verb, "-c", experiment, "-o", place, "--json"});
      EXPECT_EQ(answer.code, 2) << verb << " " << place << answer.err;
      EXPECT_THAT(answer.err, HasSubstr("choose another place with -o")) << verb;
    }
  }
  WriteTestBundle(folder_.path() + "/made/kws");
  const Answer spoilt = Run({"freeze", "-c", experiment, "-o", folder_.path() + "/made"});
  EXPECT_EQ(spoilt.code, 2);
  EXPECT_THAT(spoilt.err, HasSubstr("lies inside the bundle"));
  const std::lock_guard lock(server_.state().mutex);
  EXPECT_TRUE(server_.state().submissions.empty());
}

// An option that is given means something; an empty text is not the same as leaving it out.
TEST_F(CliTest, EmptyOptionsAreRefused) {
  const std::string experiment = Experiment();
  WriteTestBundle(folder_.path() + "/made");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"results", "export", folder_.path() + "/made", "-o", ""},
        {"run", "-c", experiment, "-o", ""},
        {"run", "-c", ""},
        {"run", "-c", experiment, "--reference-dir", ""},
        {"--server", "", "list"},
        {"replay", folder_.path() + "/made", "--name", ""}}) {
    const Answer answer = Run(arguments);
    EXPECT_EQ(answer.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(answer.out, "") << testing::PrintToString(arguments);
    EXPECT_THAT(answer.err, HasSubstr("give a value, or leave the option out"));
  }
}

TEST_F(CliTest, RefusedJobShowsItsViolationsAndExitsTwo) {
  helx::v1::Job job;
  job.set_phase(helx::v1::FAILED);
  job.mutable_failure()->set_fault(helx::v1::USER);
  job.mutable_failure()->set_message("the model cannot be built");
  auto* violation = job.mutable_failure()->add_violations();
  violation->set_subject("operator 7 (CUSTOM)");
  violation->set_message("is not supported");
  EndFirstJob(job);
  const Answer answer = Run({"submit", Experiment(), "--wait", "--json"});
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("\n  - operator 7 (CUSTOM): is not supported"));
  EXPECT_EQ(answer.json()["exit_code"], 2);
  EXPECT_EQ(answer.json()["jobs"][0]["failure"]["violations"][0]["subject"], "operator 7 (CUSTOM)");
}

TEST_F(CliTest, FirstInterruptDetachesAndSaysHowToComeBack) {
  server_.state().hold_watch = true;
  std::stop_source source;
  std::jthread interrupt([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    source.request_stop();
  });
  const Answer answer = Run({"submit", Experiment(), "--wait"}, source.get_token());
  EXPECT_EQ(answer.code, 130);
  EXPECT_THAT(answer.err, HasSubstr("helxctl wait jobs/1"));
  EXPECT_TRUE(server_.state().cancelled.empty());
}

TEST_F(CliTest, InterruptCancelsWhenAskedTo) {
  server_.state().hold_watch = true;
  std::stop_source source;
  std::jthread interrupt([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    source.request_stop();
  });
  const Answer answer =
      Run({"submit", Experiment(), "--wait", "--cancel-on-interrupt"}, source.get_token());
  EXPECT_EQ(answer.code, 130);
  EXPECT_EQ(server_.state().cancelled, std::vector<std::string>{"jobs/1"});
}

TEST_F(CliTest, ShowPrintsTheWholeBundleOffline) {
  server_.Stop();
  WriteTestBundle(folder_.path() + "/made");
  const Answer answer = Run({"show", folder_.path() + "/made", "--top", "2"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* text :
       {"corstone-300 (cortex-m55)", "builtin 0.1.0", "arm-none-eabi-gcc 12.2.1 (15:12.2.rel1-1)",
        "qemu-system-arm 7.2.22 (mps3-an547 icount shift=5)", "1,234,567", "1,640", "616",
        "scores  int8[1, 4]", "10, -3, 127, 5", "0.5, -1", "top 2: [2] 127  [0] 10",
        "top 2: [0] 0.5  [1] -1", "info: an issue to print [noted]"}) {
    EXPECT_THAT(answer.out, HasSubstr(text));
  }
  const Answer json = Run({"show", folder_.path() + "/made", "--json", "--top", "1"});
  EXPECT_EQ(json.json()["result"]["measurements"]["samples"][0]["instructions"]["value"], 1234567);
  EXPECT_EQ(json.json()["top"][0][0][0]["position"], 2);
  EXPECT_EQ(json.json()["assessment"], "not_compared");
}

// The plan of test_image.cc: 26 of 256 bytes in use, 3.25 of 32 characters.
TEST_F(CliTest, ShowPrintsTheMemoryPlanWhenAskedTo) {
  server_.Stop();
  WriteTestBundle(folder_.path() + "/made");
  const Answer answer = Run({"show", folder_.path() + "/made", "--memory"});
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char* text : {"Arena 256 bytes, at most 26 in use", "1 to 3", "0 ADD", "### peak"}) {
    EXPECT_THAT(answer.out, HasSubstr(text));
  }
  const Answer json = Run({"show", folder_.path() + "/made", "--memory", "--json"});
  EXPECT_EQ(json.json()["memory_plan"]["operators"][0]["live_bytes"], 26);
  EXPECT_FALSE(Run({"show", folder_.path() + "/made", "--json"}).json().contains("memory_plan"));
}

TEST_F(CliTest, DamagedAndMissingBundlesExitSix) {
  WriteTestBundle(folder_.path() + "/made");
  folder_.Write("made/tensors/inputs/0/input-0.bin", "\x01\x01");
  for (const char* verb : {"show", "results verify"}) {
    std::vector<std::string> arguments = {"show"};
    if (std::string(verb) != "show") arguments = {"results", "verify"};
    arguments.push_back(folder_.path() + "/made");
    const Answer answer = Run(arguments);
    EXPECT_EQ(answer.code, 6) << verb;
    EXPECT_THAT(answer.err, HasSubstr("artifact_modified"));
    EXPECT_THAT(answer.err, HasSubstr("tensors/inputs/0/input-0.bin"));
  }
  folder_.Write("made/manifest.json", "{\"schema\": nothing}");
  const Answer garbled = Run({"results", "verify", folder_.path() + "/made", "--json"});
  EXPECT_EQ(garbled.code, 6);
  EXPECT_EQ(garbled.json()["error"]["code"], "manifest_invalid");
  EXPECT_THAT(garbled.err, HasSubstr("at byte 13: invalid literal"));
  EXPECT_THAT(garbled.err, Not(HasSubstr("json.exception")));
  EXPECT_EQ(Run({"results", "verify", folder_.path() + "/none"}).code, 6);
  EXPECT_EQ(Run({"show", "none"}).code, 6);
  EXPECT_EQ(Run({"status", "none"}).code, 6);
}

TEST_F(CliTest, StoredBundleByNameJobAndDigest) {
  WriteTestBundle(folder_.path() + "/made");
  const auto result = StoreTestBundle(folder_.path() + "/made", "kws", server_);
  helx::v1::Job& job = server_.state().jobs["r"];
  job = Succeeded(result, helx::v1::NOT_COMPARED);
  job.set_name("jobs/j1");
  job.set_experiment("kws");
  const std::string hash = result.bundle().hash();
  for (const std::string& target :
       {std::string("kws"), std::string("jobs/j1"), std::string("j1"), hash, hash.substr(0, 10),
        hash + "/" + std::to_string(result.bundle().size_bytes())}) {
    const Answer answer = Run({"results", "verify", target});
    EXPECT_EQ(answer.code, 0) << target << answer.err;
  }
  const std::string out = folder_.path() + "/fetched";
  const Answer fetched = Run({"results", "fetch", "kws", "-o", out});
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_EQ(fetched.out, out + "\n");
  EXPECT_EQ(Run({"results", "verify", out}).code, 0);
}

TEST_F(CliTest, ListsInJson) {
  server_.state().jobs["r"].set_name("jobs/9");
  EXPECT_EQ(Run({"list", "--json"}).json()["jobs"][0]["job"], "jobs/9");
  EXPECT_EQ(Run({"engines", "--json"}).json()["engines"][0]["name"], "builtin");
  EXPECT_EQ(Run({"targets", "--json"}).json()["targets"][0]["platform"], "corstone-300");
  EXPECT_EQ(Run({"results", "list", "--json"}).json()["results"], Json::array());
  EXPECT_EQ(Run({"cancel", "jobs/9", "--json"}).json()["jobs"][0]["phase"], "CANCELLED");
}

TEST_F(CliTest, WatchPrintsOneJsonObjectPerEvent) {
  server_.state().jobs["r"].set_name("jobs/1");
  helx::v1::Job job;
  job.set_phase(helx::v1::CANCELLED);
  EndFirstJob(job);
  const Answer answer = Run({"watch", "jobs/1", "--json"});
  EXPECT_EQ(answer.code, 5);
  EXPECT_EQ(answer.json()["sequence"], 2);
  EXPECT_EQ(answer.json()["job"]["phase"], "CANCELLED");
}

TEST_F(CliTest, DoctorNamesWhatIsMissing) {
  const Answer answer = Run({"doctor", "--json"});  // PATH holds none of the tools
  EXPECT_EQ(answer.code, 7);
  const Json json = answer.json();
  EXPECT_EQ(json["ok"], false);
  bool compiler = false;
  for (const Json& check : json["checks"]) {
    if (check["name"] != "arm-none-eabi-gcc") continue;
    compiler = true;
    EXPECT_EQ(check["ok"], false);
    EXPECT_THAT(check["fix"].get<std::string>(), HasSubstr("gcc-arm-none-eabi"));
  }
  EXPECT_TRUE(compiler);
  EXPECT_THAT(Run({"doctor"}).out, HasSubstr("FAIL"));
}

}  // namespace
}  // namespace helx::cli
