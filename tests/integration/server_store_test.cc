// The care of the store: through helxctl, with a real helxd and scripted workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/base/json.h"
#include "core/base/splitmix64.h"
#include "server/scheduler/timestamps.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string Noise(size_t count, uint64_t seed) {
  SplitMix64 random(seed);
  std::string out(count, '\0');
  for (char& c : out) c = static_cast<char>(random.Next());
  return out;
}

// Leaves a whole bundle whose artifact is its action's key.
bool MakeBundles(ScriptedWorker& worker, const v1::ExecuteAction& action,
                 v1::CompleteRequest* done) {
  *done->mutable_output() = worker.BundleOutput(action, action.lease().action());
  return true;
}

class StoreTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> extra) {
    daemon_ = std::make_unique<Daemon>(std::move(extra));
    ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();
    client_ = std::make_unique<Client>(daemon_->address());
  }
  int Ctl(std::vector<std::string> words, std::string* output) {
    words.insert(words.begin(), {kHelxctl, "--server", daemon_->address(), "--quiet"});
    output->clear();
    return RunProgram(words, output);
  }
  Json CtlJson(std::vector<std::string> words, int expected = 0) {
    std::string output;
    words.push_back("--json");
    EXPECT_EQ(Ctl(words, &output), expected) << output;
    const auto json = ParseJson(output);
    EXPECT_TRUE(json.ok()) << output;
    return json.ok() ? *json : Json();
  }
  v1::Job RunJob(const std::string& model, const std::string& name = "kws",
                 const std::string& request_id = "") {
    v1::SubmitJobRequest request = client_->Request(model);
    request.set_name(name);
    request.set_request_id(request_id);
    v1::Job job;
    const grpc::Status status = client_->Submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return client_->Wait(job.name());
  }
  grpc::StatusCode GetResult(const v1::Digest& bundle) {
    grpc::ClientContext context;
    v1::GetResultRequest request;
    *request.mutable_bundle() = bundle;
    v1::Result result;
    return client_->results->Get(&context, request, &result).error_code();
  }
  bool Stored(const Digest& digest) {
    std::string ignored;
    return client_->Read(digest, &ignored).ok();
  }
  void CheckIsClean() {
    const Json check = CtlJson({"store", "check"});
    EXPECT_EQ(check["problem_count"], 0) << check.dump();
  }

  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Client> client_;
};

TEST_F(StoreTest, QuotaRefusesWhatComesAndLetsResultsIn) {
  Start({"--quota", "100000", "--quota", "other=1"});
  ScriptedWorker worker(daemon_->address(), "w",
                        [](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* d) {
                          *d->mutable_output() =
                              w.BundleOutput(a, a.lease().action() + std::string(150'000, 'x'));
                          return true;
                        });
  const std::string big(200'000, 'b');
  const Digest digest = DigestOf(std::string_view(big));
  const grpc::Status refused = client_->Write(Client::UploadName(digest), big);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("of its 100000 bytes, and 200000 more"));
  // What an accepted job leaves is stored, and the next job is refused.
  EXPECT_EQ(RunJob("model").phase(), v1::SUCCEEDED);
  v1::Job job;
  const grpc::Status full = client_->Submit(client_->Request("model"), &job);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << full.error_message();
  EXPECT_THAT(full.error_message(), HasSubstr("store gc"));
  const Json status = CtlJson({"store", "status"});
  EXPECT_EQ(status["quota_bytes"], 100'000);
  EXPECT_GT(status["bytes"], 300'000);
  EXPECT_EQ(status["schema_version"], 2);
  EXPECT_EQ(status["writable"], true);

  std::string output;
  EXPECT_EQ(RunProgram({kHelxd, "--listen", "unix:/tmp/x", "--quota", "a b=1"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("INSTANCE=BYTES"));
}

TEST_F(StoreTest, RetentionForgetsOldJobsAndKeepsPinsAndTheLastOfAName) {
  Start({"--unused-seconds", "1", "--retain-seconds", "1", "--retain-last", "1", "--gc-seconds",
         "0"});
  ScriptedWorker worker(daemon_->address(), "w", MakeBundles);
  const v1::Job pinned = RunJob("one");
  const v1::Job old = RunJob("two", "kws", "request-2");
  const v1::Job other = RunJob("three", "other");
  const v1::Job last = RunJob("four");
  const Digest orphan = client_->Put("nobody refers to this");
  std::string output;
  EXPECT_EQ(Ctl({"store", "pin", pinned.name(), "--note", "release 1.0"}, &output), 0) << output;
  EXPECT_EQ(CtlJson({"store", "pins"})["pins"][0]["note"], "release 1.0");
  EXPECT_EQ(Ctl({"store", "pin", "jobs/00000000000000"}, &output), 6) << output;
  std::this_thread::sleep_for(2500ms);

  const Json before = CtlJson({"store", "status"});
  const Json would = CtlJson({"store", "gc", "--dry-run"});
  EXPECT_EQ(would["removed_jobs"], 1);
  EXPECT_TRUE(client_->Get(old.name()).has_bundle());
  const Json collected = CtlJson({"store", "gc", "--rewrite"});
  EXPECT_EQ(collected["removed_jobs"], 1);
  EXPECT_EQ(collected["removed_blobs"], would["removed_blobs"]);
  EXPECT_EQ(collected["removed_bytes"], would["removed_bytes"]);
  const Json after = CtlJson({"store", "status"});
  EXPECT_EQ(before["bytes"].get<int64_t>() - after["bytes"].get<int64_t>(),
            collected["removed_bytes"].get<int64_t>());

  EXPECT_FALSE(Stored(orphan));
  EXPECT_EQ(client_->Get(old.name()).name(), "");
  EXPECT_EQ(GetResult(old.bundle()), grpc::StatusCode::NOT_FOUND);
  EXPECT_FALSE(Stored(FromProto(old.frozen_request())));
  for (const v1::Job& kept : {pinned, other, last}) {
    EXPECT_EQ(client_->Get(kept.name()).phase(), v1::SUCCEEDED);
    EXPECT_EQ(GetResult(kept.bundle()), grpc::StatusCode::OK);
    EXPECT_TRUE(Stored(FromProto(kept.frozen_request())));
  }
  EXPECT_TRUE(Stored(DigestOf(std::string_view("four"))));  // the model, named by the document only
  CheckIsClean();

  // The forgotten job's request id is free, its work is done anew, and what is pinned can be run
  // again.
  const int executed = worker.executed();
  const v1::Job again = RunJob("two", "kws", "request-2");
  EXPECT_NE(again.name(), old.name());
  EXPECT_EQ(again.phase(), v1::SUCCEEDED);
  EXPECT_EQ(again.content_digest(), old.content_digest());
  EXPECT_EQ(worker.executed(), executed + 3);
  EXPECT_TRUE(RunJob("one").cached());

  EXPECT_EQ(Ctl({"store", "unpin", pinned.name()}, &output), 0) << output;
  EXPECT_EQ(Ctl({"store", "unpin", pinned.name()}, &output), 6) << output;
}

TEST_F(StoreTest, SizeBoundForgetsTheOldestFirst) {
  Start({"--unused-seconds", "1", "--retain-bytes", "500000", "--retain-last", "0", "--gc-seconds",
         "0"});
  ScriptedWorker worker(daemon_->address(), "w",
                        [](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* d) {
                          // Two builds and runs of these fit, three do not.
                          *d->mutable_output() =
                              w.BundleOutput(a, a.lease().action() + std::string(100'000, 'x'));
                          return true;
                        });
  std::vector<v1::Job> jobs;
  for (const char* model : {"one", "two", "three", "four"}) jobs.push_back(RunJob(model));
  std::this_thread::sleep_for(2500ms);
  EXPECT_EQ(CtlJson({"store", "gc"})["removed_jobs"], 2);
  EXPECT_EQ(client_->Get(jobs[0].name()).name(), "");
  EXPECT_EQ(client_->Get(jobs[1].name()).name(), "");
  EXPECT_EQ(GetResult(jobs[2].bundle()), grpc::StatusCode::OK);
  EXPECT_EQ(GetResult(jobs[3].bundle()), grpc::StatusCode::OK);
  EXPECT_LE(CtlJson({"store", "status"})["bytes"], 500'000);
  CheckIsClean();
}

// Jobs and uploads come in while garbage is collected over and over with the shortest times:
// whatever was acknowledged is whole.
TEST_F(StoreTest, CollectingWhileServingLosesNothing) {
  Start({"--unused-seconds", "4", "--retain-seconds", "3600", "--gc-seconds", "0"});
  ScriptedWorker worker(daemon_->address(), "w", MakeBundles);
  std::atomic<bool> stop{false};
  std::thread collector([&] {
    std::string output;
    while (!stop) {
      const int code = Ctl({"store", "gc"}, &output);
      EXPECT_EQ(code, 0) << output;
    }
  });
  std::vector<std::thread> clients;
  std::mutex mutex;
  std::vector<v1::Job> done;
  for (int id = 0; id < 3; ++id) {
    clients.emplace_back([&, id] {
      Client client(daemon_->address());
      const auto end = std::chrono::steady_clock::now() + 9s;
      for (int n = 0; std::chrono::steady_clock::now() < end; ++n) {
        // Some models come again after they were left alone for long enough to be collected.
        const std::string model = "model " + std::to_string(id) + " " + std::to_string(n % 40);
        v1::SubmitJobRequest request = client.Request(model);
        request.set_no_cache(n % 3 == 0);
        v1::Job job;
        const grpc::Status status = client.Submit(request, &job);
        ASSERT_TRUE(status.ok()) << status.error_message();
        std::lock_guard lock(mutex);
        done.push_back(job);
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  stop = true;
  collector.join();
  ASSERT_GT(done.size(), 20u);
  for (const v1::Job& job : done) {
    const v1::Job ended = client_->Wait(job.name());
    ASSERT_EQ(ended.phase(), v1::SUCCEEDED) << ended.DebugString();
    ASSERT_EQ(GetResult(ended.bundle()), grpc::StatusCode::OK);
  }
  CheckIsClean();
  EXPECT_EQ(CtlJson({"store", "scrub"})["damaged_blobs"], 0);
}

// Flips a byte in the middle of the largest blob file.
void DamageBlobFile(const std::string& data_folder) {
  fs::path largest;
  uintmax_t size = 0;
  for (const auto& entry : fs::directory_iterator(data_folder + "/db")) {
    if (entry.path().extension() != ".blob" || entry.file_size() <= size) continue;
    largest = entry.path();
    size = entry.file_size();
  }
  ASSERT_GT(size, 1'000'000u);
  std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size / 2));
  const char byte = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(size / 2));
  file.put(static_cast<char>(~byte));
}

TEST_F(StoreTest, ScrubQuarantinesWhatTheDiskChangedAndAnUploadHealsIt) {
  Start({});
  const std::string content = Noise(5'000'000, 1);
  const Digest digest = client_->Put(content);
  const Digest intact = client_->Put(Noise(300, 2));
  EXPECT_EQ(CtlJson({"store", "scrub"})["damaged_blobs"], 0);
  // A backup leaves nothing in memory tables.
  EXPECT_EQ(CtlJson({"store", "backup"})["backup"], 1);
  daemon_->End(15);
  ASSERT_NO_FATAL_FAILURE(DamageBlobFile(daemon_->data_folder()));
  ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();

  const Json scrub = CtlJson({"store", "scrub"}, 6);
  EXPECT_EQ(scrub["damaged_blobs"], 1);
  EXPECT_EQ(scrub["blobs"], 2);
  EXPECT_THAT(scrub["problems"][0].get<std::string>(), HasSubstr(digest.hash));
  EXPECT_TRUE(
      fs::exists(daemon_->data_folder() + "/quarantine/default." + digest.hash + ".5000000"));
  EXPECT_FALSE(Stored(digest));
  EXPECT_TRUE(Stored(intact));
  EXPECT_EQ(client_->Put(content), digest);
  EXPECT_TRUE(Stored(digest));
  EXPECT_EQ(CtlJson({"store", "scrub"})["damaged_blobs"], 0);
}

// Two bytes at one byte a second: only a cancellation, or the end of helxd, ends it in time.
TEST_F(StoreTest, AnOperationIsEndedByWhoeverMay) {
  Start({});
  client_->Put(Noise(500'000, 1));
  client_->Put(Noise(500'000, 2));
  for (const bool by_signal : {false, true}) {
    std::string output;
    int status = 0;
    std::thread scrub([&] {
      status = RunProgram(
          {kHelxctl, "--server", daemon_->address(), "store", "scrub", "--bytes-per-second", "1"},
          &output);
    });
    const auto under_way = [&] {
      const Json state = CtlJson({"store", "status"});
      for (const Json& operation : state["operations"]) {
        if (operation["operation"] == "scrub" && operation["end_time"].is_null()) return true;
      }
      return false;
    };
    while (!under_way()) std::this_thread::sleep_for(10ms);
    if (by_signal) {
      EXPECT_EQ(daemon_->End(15), 0);
    } else {
      EXPECT_EQ(CtlJson({"store", "cancel"})["operation"], "scrub");
    }
    scrub.join();
    EXPECT_NE(status, 0);
    EXPECT_THAT(output, HasSubstr(by_signal ? "shutting down" : "cancelled by"));
  }
  ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();
  std::string refused;
  EXPECT_NE(RunProgram({kHelxctl, "--server", daemon_->address(), "store", "cancel"}, &refused), 0);
  EXPECT_THAT(refused, HasSubstr("no operation on the store is under way"));
  EXPECT_EQ(CtlJson({"store", "scrub"})["damaged_blobs"], 0);
}

TEST_F(StoreTest, RestoredBackupServesWhatWasThere) {
  Start({});
  auto worker = std::make_unique<ScriptedWorker>(daemon_->address(), "w", MakeBundles);
  const v1::Job job = RunJob("model");
  const Digest blob = client_->Put(Noise(2'000'000, 3));
  const Json backup = CtlJson({"store", "backup"});
  const std::string folder = backup["folder"];
  EXPECT_EQ(backup["backup"], 1);
  const v1::Job later = RunJob("later");
  EXPECT_EQ(CtlJson({"store", "backup"})["backup"], 2);

  Daemon restored;
  std::string output;
  EXPECT_EQ(RunProgram({kHelxd, "--restore", folder, "--restore-id", "1", "--data-dir",
                        restored.data_folder()},
                       &output),
            0)
      << output;
  EXPECT_THAT(output, HasSubstr("restored backup 1"));
  EXPECT_THAT(output, HasSubstr("1 jobs"));
  EXPECT_EQ(
      RunProgram({kHelxd, "--restore", folder, "--data-dir", restored.data_folder()}, &output), 2);
  EXPECT_THAT(output, HasSubstr("another --data-dir"));
  ASSERT_TRUE(restored.Start()) << restored.Errors();
  worker.reset();
  daemon_->End(15);
  client_ = std::make_unique<Client>(restored.address());
  EXPECT_EQ(client_->Get(job.name()).phase(), v1::SUCCEEDED);
  EXPECT_EQ(client_->Get(later.name()).name(), "");
  EXPECT_EQ(GetResult(job.bundle()), grpc::StatusCode::OK);
  EXPECT_TRUE(Stored(blob));

  output.clear();
  EXPECT_EQ(RunProgram(
                {kHelxd, "--restore", folder + "/none", "--data-dir", restored.data_folder() + "2"},
                &output),
            2);
  EXPECT_THAT(output, HasSubstr("there is no backup in"));
}

// tests/cases/store_schema_1.tar.gz is the data folder of a helxd of schema version 1 after it was
// killed with a finished job, a queued one and a blob of several chunks;
// MakesTheStoreOfTheUpgradeTest below made it.
TEST_F(StoreTest, StoreOfTheFirstSchemaIsUpgraded) {
  daemon_ = std::make_unique<Daemon>();
  fs::create_directories(daemon_->data_folder());
  fs::permissions(daemon_->data_folder(), fs::perms::owner_all);
  std::string output;
  ASSERT_EQ(RunProgram({"/bin/tar", "-xzf", HELX_SOURCE_DIR "/tests/cases/store_schema_1.tar.gz",
                        "-C", daemon_->data_folder()},
                       &output),
            0)
      << output;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  client_ = std::make_unique<Client>(daemon_->address());
  EXPECT_EQ(CtlJson({"store", "status"})["schema_version"], 2);
  CheckIsClean();
  EXPECT_EQ(CtlJson({"store", "scrub"})["damaged_blobs"], 0);

  grpc::ClientContext context;
  v1::ListJobsResponse list;
  ASSERT_TRUE(client_->jobs->List(&context, v1::ListJobsRequest(), &list).ok());
  ASSERT_EQ(list.jobs_size(), 2);
  EXPECT_EQ(list.jobs(1).phase(), v1::SUCCEEDED);
  EXPECT_EQ(GetResult(list.jobs(1).bundle()), grpc::StatusCode::OK);
  EXPECT_TRUE(Stored(DigestOf(std::string(9'000'000, 'z'))));
  EXPECT_FALSE(list.jobs(0).finished());  // its worker died with it
  ScriptedWorker worker(daemon_->address(), "w", MakeBundles);
  EXPECT_EQ(client_->Wait(list.jobs(0).name()).phase(), v1::SUCCEEDED);
  EXPECT_TRUE(RunJob("first").cached());
  CheckIsClean();
}

// HELX_OLD_HELXD=program HELX_STORE_OUT=file.tar.gz, with --gtest_also_run_disabled_tests.
TEST_F(StoreTest, DISABLED_MakesTheStoreOfTheUpgradeTest) {
  const char* program = std::getenv("HELX_OLD_HELXD");
  const char* out = std::getenv("HELX_STORE_OUT");
  ASSERT_TRUE(program != nullptr && out != nullptr);
  daemon_ = std::make_unique<Daemon>(std::vector<std::string>{"--ballast-bytes", "0"},
                                     Daemon::Transport::kUnix, program);
  ASSERT_TRUE(daemon_->Start()) << daemon_->Errors();
  client_ = std::make_unique<Client>(daemon_->address());
  {
    ScriptedWorker worker(daemon_->address(), "w", MakeBundles);
    ASSERT_EQ(RunJob("first").phase(), v1::SUCCEEDED);
  }
  client_->Put(std::string(9'000'000, 'z'));
  v1::Job job;
  ASSERT_TRUE(client_->Submit(client_->Request("second"), &job).ok());
  daemon_->Kill();
  std::string output;
  ASSERT_EQ(RunProgram({"/bin/tar", "-czf", out, "-C", daemon_->data_folder(), "."}, &output), 0)
      << output;
}

}  // namespace
}  // namespace helx::server
