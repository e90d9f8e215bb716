// Jobs over the wire: a real helxd, scripted workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <random>
#include <set>

#include "server/scheduler/timestamps.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

// Keeps a lane busy until it is cancelled or the worker stops.
bool Hang(ScriptedWorker& worker, const v1::ExecuteAction& action, v1::CompleteRequest* done) {
  const v1::Lane lane = action.kind() == v1::ACTION_KIND_FREEZE ? v1::LANE_FREEZE : v1::LANE_DEVICE;
  while (!worker.cancelled(lane) && !worker.stopping()) std::this_thread::sleep_for(5ms);
  done->set_cancelled(true);
  return !worker.stopping();
}

bool WaitForPhase(Client& client, const std::string& name, v1::JobPhase phase) {
  for (int i = 0; i < 2000; ++i) {
    if (client.Get(name).phase() == phase) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

class ServerJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
    client_ = std::make_unique<Client>(daemon_.address());
  }
  v1::Job Submit(const v1::SubmitJobRequest& request) {
    v1::Job job;
    const grpc::Status status = client_->Submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  Daemon daemon_;
  std::unique_ptr<Client> client_;
};

TEST_F(ServerJobsTest, FromSubmissionToResult) {
  ScriptedWorker worker(daemon_.address(), "w");
  const v1::Job job = Submit(client_->Request("model"));
  EXPECT_THAT(job.name(), ::testing::StartsWith("jobs/"));
  grpc::Status status;
  const auto events = client_->Watch(job.name(), 0, &status);
  EXPECT_TRUE(status.ok()) << status.error_message();
  std::vector<v1::JobPhase> phases;
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].sequence(), static_cast<int64_t>(i) + 1);
    if (events[i].job().phase() != v1::QUEUED) phases.push_back(events[i].job().phase());
  }
  EXPECT_THAT(phases, ElementsAre(v1::FREEZING, v1::BUILDING, v1::RUNNING, v1::SUCCEEDED));
  const v1::Job done = events.back().job();
  EXPECT_EQ(done.assessment(), v1::MATCH);

  grpc::ClientContext context;
  v1::GetResultRequest request;
  request.set_experiment("kws");
  v1::Result result;
  status = client_->results->Get(&context, request, &result);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(result.bundle().hash(), done.bundle().hash());
  std::string manifest;
  ASSERT_TRUE(client_->Read(FromProto(result.bundle()), &manifest).ok());
  EXPECT_EQ(manifest, result.manifest());

  // Events are resumable, also from beyond the end.
  EXPECT_EQ(client_->Watch(job.name(), 3).size(), events.size() - 2);
  EXPECT_EQ(client_->Watch(job.name(), 1000, &status).size(), 0u);
  EXPECT_TRUE(status.ok());
  client_->Watch("jobs/nosuch", 0, &status);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);

  // The same again: from the cache, in one event.
  const v1::Job cached = Submit(client_->Request("model"));
  EXPECT_EQ(cached.phase(), v1::SUCCEEDED);
  EXPECT_TRUE(cached.cached());
  EXPECT_EQ(worker.executed(), 3);
}

TEST_F(ServerJobsTest, IdenticalJobsShareTheirActions) {
  const auto request = client_->Request("model");
  std::vector<v1::Job> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(Submit(request));
  ScriptedWorker a(daemon_.address(), "a");
  ScriptedWorker b(daemon_.address(), "b");
  std::set<std::string> bundles;
  for (const v1::Job& job : jobs) {
    const v1::Job done = client_->Wait(job.name());
    EXPECT_EQ(done.phase(), v1::SUCCEEDED);
    bundles.insert(done.bundle().hash());
  }
  EXPECT_EQ(bundles.size(), 1u);
  EXPECT_EQ(a.executed() + b.executed(), 3);
}

TEST_F(ServerJobsTest, CancelReachesTheWorkerWithinASecond) {
  std::atomic<bool> hung = false;
  ScriptedWorker worker(daemon_.address(), "w",
                        [&](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* d) {
                          hung = true;
                          return Hang(w, a, d);
                        });
  const v1::Job job = Submit(client_->Request("model"));
  ASSERT_TRUE(WaitForPhase(*client_, job.name(), v1::FREEZING));
  while (!hung) std::this_thread::sleep_for(5ms);
  const auto start = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  v1::CancelJobRequest request;
  request.set_name(job.name());
  v1::Job answer;
  ASSERT_TRUE(client_->jobs->Cancel(&context, request, &answer).ok());
  EXPECT_TRUE(answer.cancel_requested());
  EXPECT_EQ(client_->Wait(job.name()).phase(), v1::CANCELLED);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST_F(ServerJobsTest, AnotherProcessOfTheSameWorkerTakesOver) {
  auto first = std::make_unique<ScriptedWorker>(
      daemon_.address(), "w", [](ScriptedWorker&, const v1::ExecuteAction&, v1::CompleteRequest*) {
        return false;  // dies with its lease
      });
  const v1::Job job = Submit(client_->Request("model"));
  ASSERT_TRUE(WaitForPhase(*client_, job.name(), v1::FREEZING));
  first->Stop();
  ScriptedWorker second(daemon_.address(), "w", nullptr, "s2");
  const v1::Job done = client_->Wait(job.name());
  EXPECT_EQ(done.phase(), v1::SUCCEEDED);
  ASSERT_EQ(done.attempts_size(), 4);
  EXPECT_TRUE(done.attempts(0).lost());
  EXPECT_EQ(done.attempts(1).number(), 2);
}

TEST_F(ServerJobsTest, StaleCompletionIsFenced) {
  std::promise<v1::ExecuteAction> leased;
  auto first = std::make_unique<ScriptedWorker>(
      daemon_.address(), "w",
      [&](ScriptedWorker&, const v1::ExecuteAction& action, v1::CompleteRequest*) {
        leased.set_value(action);
        return false;
      });
  const v1::Job job = Submit(client_->Request("model"));
  const v1::ExecuteAction action = leased.get_future().get();
  first->Stop();
  ScriptedWorker second(daemon_.address(), "w", nullptr, "s2");
  EXPECT_EQ(client_->Wait(job.name()).phase(), v1::SUCCEEDED);
  grpc::ClientContext context;
  v1::CompleteRequest late;
  late.set_worker("w");
  late.set_session("s1");
  *late.mutable_lease() = action.lease();
  late.mutable_failure()->set_fault(v1::BUG);
  v1::CompleteResponse response;
  EXPECT_EQ(client_->worker->Complete(&context, late, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  grpc::ClientContext report_context;
  v1::ReportResponse report_response;
  auto reports = client_->worker->Report(&report_context, &report_response);
  v1::ReportRequest report;
  report.set_worker("w");
  report.set_session("s1");
  *report.mutable_lease() = action.lease();
  report.set_phase(v1::RUNNING);
  reports->Write(report);
  EXPECT_EQ(reports->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ServerJobsTest, FreezeAnswersTheFrozenRequest) {
  ScriptedWorker worker(daemon_.address(), "w");
  grpc::ClientContext context;
  v1::FreezeRequest request;
  request.set_document(client_->Document("model"));
  v1::FreezeResponse response;
  const grpc::Status status = client_->experiments->Freeze(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(FromProto(response.digest()), DigestOf(std::string_view(response.frozen_request())));
}

TEST_F(ServerJobsTest, FreezeCallerThatGoesAwayStopsTheWork) {
  std::atomic<int> stopped = 0;
  ScriptedWorker worker(
      daemon_.address(), "w",
      [&](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* done) {
        const bool lives = Hang(w, a, done);
        ++stopped;
        return lives;
      });
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 500ms);
  v1::FreezeRequest request;
  request.set_document(client_->Document("model"));
  v1::FreezeResponse response;
  EXPECT_EQ(client_->experiments->Freeze(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  for (int i = 0; i < 1000 && stopped == 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(stopped, 1);
}

TEST_F(ServerJobsTest, IdempotentSubmission) {
  auto request = client_->Request("model");
  request.set_request_id("r-1");
  const v1::Job first = Submit(request);
  EXPECT_EQ(Submit(request).name(), first.name());
  request.set_run("other");
  v1::Job job;
  EXPECT_EQ(client_->Submit(request, &job).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ServerJobsTest, WatchGoesOnAfterARestart) {
  const v1::Job job = Submit(client_->Request("model"));
  std::promise<std::pair<std::vector<v1::JobEvent>, grpc::Status>> before;
  std::thread watcher([&] {
    Client own(daemon_.address());
    grpc::Status status;
    auto events = own.Watch(job.name(), 0, &status);
    before.set_value({std::move(events), status});
  });
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(daemon_.End(SIGTERM), 0);
  const auto [events, status] = before.get_future().get();
  watcher.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_TRUE(daemon_.Start());
  ScriptedWorker worker(daemon_.address(), "w");
  Client again(daemon_.address());
  const auto rest = again.Watch(job.name(), 2);
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.front().sequence(), 2);
  EXPECT_EQ(rest.back().job().phase(), v1::SUCCEEDED);
}

// Kills the daemon again and again while jobs go through it: whatever was acknowledged is there
// afterwards and ends.
TEST_F(ServerJobsTest, NoAcknowledgedJobIsLostByKills) {
  constexpr int kKills = 10;
  ScriptedWorker worker(daemon_.address(), "w");
  std::atomic<bool> submitting = true;
  std::vector<std::string> acknowledged;
  std::thread submitter([&] {
    Client own(daemon_.address());
    for (int i = 0; submitting; ++i) {
      auto request = own.Request("model " + std::to_string(i));
      request.set_request_id("r-" + std::to_string(i));
      v1::Job job;
      grpc::Status status;
      // The same id until it is answered: at most one job each, whatever is lost on the way.
      for (int tries = 0; tries < 500; ++tries) {
        status = own.Submit(request, &job);
        if (status.ok()) break;
        if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
          own.Put("model " + std::to_string(i));
        }
        std::this_thread::sleep_for(20ms);
      }
      if (status.ok()) acknowledged.push_back(job.name());
    }
  });
  std::mt19937 random(1);
  for (int i = 0; i < kKills; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random() % 450));
    daemon_.Kill();
    if (!daemon_.Start()) {
      ADD_FAILURE() << daemon_.Errors();
      break;
    }
  }
  submitting = false;
  submitter.join();
  ASSERT_GT(acknowledged.size(), 5u);
  Client after(daemon_.address());
  std::set<std::string> names;
  for (const std::string& name : acknowledged) {
    EXPECT_EQ(after.Wait(name).phase(), v1::SUCCEEDED) << name << after.Wait(name).DebugString();
    EXPECT_TRUE(names.insert(name).second) << "two ids, one job";
  }
  // One job per request id, and nothing besides.
  std::string token;
  size_t listed = 0;
  do {
    grpc::ClientContext context;
    v1::ListJobsRequest request;
    request.set_page_size(100);
    request.set_page_token(token);
    v1::ListJobsResponse page;
    ASSERT_TRUE(after.jobs->List(&context, request, &page).ok());
    listed += static_cast<size_t>(page.jobs_size());
    token = page.next_page_token();
  } while (!token.empty());
  EXPECT_EQ(listed, acknowledged.size());
}

}  // namespace
}  // namespace helx::server
