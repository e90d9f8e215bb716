// A scheduler over a real store, with time in the test's hand and workers that are a few calls.
#ifndef HELX_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_
#define HELX_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/sha256.h"
#include "server/scheduler/job_reader.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/timestamps.h"
#include "server/store/keys.h"
#include "tests/unit/server/temp_folder.h"

namespace helx::server {

class FakeClock : public Clock {
 public:
  int64_t WallMicros() const override { return wall_us; }
  int64_t SteadyMillis() const override { return steady_ms; }
  void Advance(int64_t ms) {
    steady_ms += ms;
    wall_us += ms * 1000;
  }
  int64_t wall_us = 1'700'000'000'000'000;
  int64_t steady_ms = 5'000'000;
};

inline v1::WorkerCatalogue CatalogueOf(const std::string& platform,
                                       const std::string& version = "7.2") {
  v1::WorkerCatalogue out;
  out.set_worker_version("0.1.0");
  auto* engine = out.add_engines();
  engine->set_name("builtin");
  engine->set_version("1");
  engine->set_qualification("qualified");
  auto* target = out.add_targets();
  target->set_platform(platform);
  target->set_executor("qemu-system-arm");
  target->set_version(version);
  target->set_toolchain("arm-none-eabi-gcc 12.2.1");
  return out;
}

class SchedulerTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<v1::SynchronizeResponse>;

  SchedulerTest() {
    options_.startup_grace_ms = 10'000;
    Start();
  }
  ~SchedulerTest() override { Halt(); }

  void Start() {
    StoreOptions store_options;
    store_options.path = folder_.path();
    store_options.ballast_bytes = 0;
    store_ = *Store::Open(store_options);
    blobs_ = std::make_unique<BlobStore>(store_.get());
    scheduler_ =
        std::make_unique<Scheduler>(options_, store_.get(), blobs_.get(), &clock_, &observer_);
    reader_ = std::make_unique<JobReader>(store_.get(), blobs_.get());
    EXPECT_TRUE(scheduler_->Recover().ok());
  }
  // As a killed process would leave things: whatever was committed, nothing more.
  void Halt() {
    if (scheduler_ == nullptr) return;
    scheduler_->Stop();
    store_.reset();
    scheduler_.reset();
  }
  void Restart() {
    Halt();
    Start();
  }

  void Flush() { ASSERT_TRUE(store_->CommitAndWait({}).ok()); }
  void Pass(int64_t ms) {
    clock_.Advance(ms);
    scheduler_->Tick();
    Flush();
  }

  Digest PutBlob(const std::string& content) {
    const Digest digest = DigestOf(std::string_view(content));
    Writes writes;
    blobs_->AppendRows("default", digest, content, writes);
    EXPECT_TRUE(store_->CommitAndWait(std::move(writes)).ok());
    return digest;
  }

  // As a disk that lost it, and a reader that found out.
  void LoseBlob(const Digest& digest) {
    EXPECT_TRUE(
        store_->CommitAndWait({{Family::kBlobs, BlobChunkKey("default", digest, 0), std::nullopt}})
            .ok());
    blobs_->Discard("default", digest);
  }

  // A document whose model blob exists.
  std::string Document(const std::string& model = "model", const std::string& platform = "board",
                       const std::string& engine = "builtin") {
    const Digest digest = PutBlob(model);
    return R"({"engine":")" + engine + R"(","model":{"sha256":")" + digest.hash + R"(","size":)" +
           std::to_string(digest.size_bytes) + R"(},"platform":")" + platform +
           R"(","schema":"helx.document/v1","tensor_io":null})";
  }
  v1::SubmitJobRequest Request(const std::string& document) {
    v1::SubmitJobRequest request;
    request.set_name("kws");
    request.set_document(document);
    return request;
  }

  absl::StatusOr<v1::Job> Submit(const v1::SubmitJobRequest& request,
                                 const Caller& caller = Caller()) {
    std::promise<absl::StatusOr<v1::Job>> promise;
    scheduler_->Submit(caller, request,
                       [&](absl::StatusOr<v1::Job> job) { promise.set_value(std::move(job)); });
    return promise.get_future().get();
  }
  v1::Job SubmitOk(const v1::SubmitJobRequest& request, const Caller& caller = Caller()) {
    auto job = Submit(request, caller);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : v1::Job();
  }
  absl::StatusOr<v1::Job> Cancel(const v1::Job& job) {
    std::promise<absl::StatusOr<v1::Job>> promise;
    scheduler_->Cancel(Caller(), job.name().substr(5), [&](absl::StatusOr<v1::Job> answer) {
      promise.set_value(std::move(answer));
    });
    return promise.get_future().get();
  }
  v1::Job Get(const v1::Job& job) {
    Flush();
    auto answer = reader_->Get(Caller(), job.name().substr(5));
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return v1::Job();
    scheduler_->FillQueueState(&*answer);
    return *answer;
  }
  std::vector<v1::JobPhase> Phases(const v1::Job& job) {
    Flush();
    std::vector<v1::JobPhase> out;
    const auto events = reader_->Events(Caller(), job.name().substr(5), 1, 100);
    EXPECT_TRUE(events.ok()) << events.status();
    int64_t sequence = 0;
    for (const auto& event : *events) {
      EXPECT_EQ(event.sequence(), ++sequence);
      EXPECT_EQ(event.job().last_event(), sequence);
      out.push_back(event.job().phase());
    }
    return out;
  }

  // One lane's call. The answer appears in answers_[worker + lane] once the server gives it.
  void Synchronize(const std::string& worker, v1::Lane lane,
                   const std::optional<v1::Lease>& executing = std::nullopt,
                   const std::string& session = "s1",
                   const v1::WorkerCatalogue& catalogue = CatalogueOf("board")) {
    v1::SynchronizeRequest request;
    request.set_worker(worker);
    request.set_session(session);
    request.set_lane(lane);
    *request.mutable_catalogue() = catalogue;
    if (executing.has_value()) *request.mutable_executing() = *executing;
    const std::string key = worker + v1::Lane_Name(lane);
    {
      std::lock_guard lock(mutex_);
      answers_.erase(key);
    }
    scheduler_->Synchronize(request, [this, key](Answer answer) {
      std::lock_guard lock(mutex_);
      answers_.insert_or_assign(key, std::move(answer));
    });
  }
  std::optional<Answer> AnswerOf(const std::string& worker, v1::Lane lane) {
    Flush();
    std::lock_guard lock(mutex_);
    const auto found = answers_.find(worker + v1::Lane_Name(lane));
    if (found == answers_.end()) return std::nullopt;
    return found->second;
  }
  // Synchronizes idle lanes and expects work.
  v1::ExecuteAction Take(const std::string& worker, v1::Lane lane,
                         const std::string& session = "s1") {
    Synchronize(worker, lane, std::nullopt, session);
    return Taken(worker, lane);
  }
  v1::ExecuteAction Taken(const std::string& worker, v1::Lane lane) {
    const auto answer = AnswerOf(worker, lane);
    EXPECT_TRUE(answer.has_value()) << "the call is still held";
    if (!answer.has_value() || !answer->ok()) return {};
    EXPECT_TRUE((*answer)->has_execute()) << (*answer)->DebugString();
    return (*answer)->execute();
  }

  v1::CompleteRequest Completion(const std::string& worker, const v1::ExecuteAction& action,
                                 const std::string& session = "s1") {
    v1::CompleteRequest request;
    request.set_worker(worker);
    request.set_session(session);
    *request.mutable_lease() = action.lease();
    return request;
  }
  absl::Status Complete(const v1::CompleteRequest& request) {
    std::promise<absl::Status> promise;
    scheduler_->Complete(request, [&](absl::Status status) { promise.set_value(status); });
    return promise.get_future().get();
  }
  // What a worker that does its work well leaves behind. `salt` varies the content.
  v1::ActionOutput OutputOf(const v1::ExecuteAction& action, const std::string& salt = "") {
    v1::ActionOutput output;
    if (action.kind() == v1::ACTION_KIND_FREEZE) {
      const std::string frozen = "frozen " + Sha256Hex(std::string_view(action.document()));
      *output.mutable_frozen_request() = ToProto(PutBlob(frozen));
      output.set_build_key(Sha256Hex(std::string_view("build" + frozen)));
      output.set_run_key(Sha256Hex(std::string_view("run" + frozen)));
      output.set_platform("board");
      output.set_engine("builtin");
      return output;
    }
    const Digest manifest = PutBlob("manifest " + action.lease().action() + salt);
    *output.mutable_bundle() = ToProto(manifest);
    *output.add_blobs() = ToProto(manifest);
    output.set_content_digest(Sha256Hex(std::string_view("content" + salt)));
    if (action.kind() == v1::ACTION_KIND_RUN) output.set_assessment(v1::MATCH);
    return output;
  }
  void CompleteOk(const std::string& worker, const v1::ExecuteAction& action,
                  const std::string& salt = "") {
    v1::CompleteRequest request = Completion(worker, action);
    *request.mutable_output() = OutputOf(action, salt);
    const absl::Status status = Complete(request);
    EXPECT_TRUE(status.ok()) << status;
  }
  absl::Status CompleteFailed(const std::string& worker, const v1::ExecuteAction& action,
                              v1::Fault fault, const std::string& code = "broken") {
    v1::CompleteRequest request = Completion(worker, action);
    request.mutable_failure()->set_fault(fault);
    request.mutable_failure()->set_code(code);
    request.mutable_failure()->set_message("what went wrong");
    return Complete(request);
  }
  // Freeze, build and run by one worker.
  void RunAll(const std::string& worker, const std::string& salt = "") {
    CompleteOk(worker, Take(worker, v1::LANE_FREEZE));
    CompleteOk(worker, Take(worker, v1::LANE_DEVICE), salt);
    CompleteOk(worker, Take(worker, v1::LANE_DEVICE), salt);
  }
  // A worker that is live and waits on both lanes.
  void Join(const std::string& worker) {
    Synchronize(worker, v1::LANE_FREEZE);
    Synchronize(worker, v1::LANE_DEVICE);
  }

  TempFolder folder_;
  FakeClock clock_;
  SchedulerOptions options_;
  SchedulerObserver observer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<JobReader> reader_;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
};

}  // namespace helx::server

#endif  // HELX_TESTS_UNIT_SERVER_SCHEDULER_FIXTURE_H_
