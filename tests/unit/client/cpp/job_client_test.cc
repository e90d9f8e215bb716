#include "client/cpp/job_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "client/cpp/errors.h"
#include "tests/unit/client/cpp/fake_server.h"

namespace helx::client {
namespace {

helx::v1::JobEvent Event(int64_t sequence, helx::v1::JobPhase phase, bool finished = false) {
  helx::v1::JobEvent event;
  event.set_sequence(sequence);
  event.mutable_job()->set_name("jobs/1");
  event.mutable_job()->set_phase(phase);
  event.mutable_job()->set_finished(finished);
  event.mutable_job()->set_last_event(sequence);
  return event;
}

class JobClientTest : public testing::Test {
 protected:
  void SetUp() override {
    connection_ = server_.Connect();
    ASSERT_NE(connection_, nullptr);
    server_.state().events["jobs/1"] = {Event(1, helx::v1::QUEUED), Event(2, helx::v1::FREEZING),
                                        Event(3, helx::v1::RUNNING),
                                        Event(4, helx::v1::SUCCEEDED, true)};
  }
  FakeServer server_;
  std::shared_ptr<Connection> connection_;
};

TEST_F(JobClientTest, LostAnswersDoNotSubmitTwice) {
  server_.state().lose_submit_answers = 2;
  helx::v1::SubmitJobRequest request;
  request.set_name("kws");
  const auto job = JobClient(connection_).Submit(request);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "jobs/1");
  EXPECT_EQ(server_.state().jobs.size(), 1u);
  ASSERT_EQ(server_.state().submissions.size(), 3u);
  const std::string id = server_.state().submissions[0].request_id();
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(server_.state().submissions[2].request_id(), id);
}

TEST_F(JobClientTest, GivenRequestIdIsKept) {
  helx::v1::SubmitJobRequest request;
  request.set_request_id("nightly-7");
  ASSERT_TRUE(JobClient(connection_).Submit(request).ok());
  EXPECT_TRUE(server_.state().jobs.contains("nightly-7"));
}

TEST_F(JobClientTest, WatchGoesOnAfterTheLastEventSeen) {
  server_.state().break_watch_after = 2;
  std::vector<int64_t> seen;
  const auto job = JobClient(connection_).Watch("jobs/1", 0, [&](const helx::v1::JobEvent& event) {
    seen.push_back(event.sequence());
    return true;
  });
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->phase(), helx::v1::SUCCEEDED);
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(server_.state().watch_from, (std::vector<int64_t>{0, 3}));
}

TEST_F(JobClientTest, WatchFromAnEvent) {
  std::vector<int64_t> seen;
  const auto job = JobClient(connection_).Watch("jobs/1", 3, [&](const helx::v1::JobEvent& event) {
    seen.push_back(event.sequence());
    return true;
  });
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{3, 4}));
}

TEST_F(JobClientTest, StreamThatEndsEarlyIsNotTheJobsEnd) {
  server_.state().events["jobs/1"].pop_back();
  const auto job = JobClient(connection_).Watch("jobs/1", 0, {});
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInternal) << job.status();
}

TEST_F(JobClientTest, StopTokenEndsAWatchAtOnce) {
  server_.state().events["jobs/1"].pop_back();
  server_.state().hold_watch = true;
  std::stop_source source;
  std::jthread stopper([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    source.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto job = JobClient(connection_).Watch("jobs/1", 0, {}, source.get_token());
  EXPECT_EQ(job.status().code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(IsFromServer(job.status()));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(JobClientTest, ErrorsOfTheServerKeepTheirCode) {
  const auto job = JobClient(connection_).Get("jobs/none");
  EXPECT_TRUE(absl::IsNotFound(job.status()));
  EXPECT_TRUE(IsFromServer(job.status()));
  EXPECT_FALSE(IsUnreachable(job.status()));
}

TEST(JobName, PrefixIsOptional) {
  EXPECT_EQ(*JobName("jobs/a-1"), "jobs/a-1");
  EXPECT_EQ(*JobName("a-1"), "jobs/a-1");
  for (const char* text : {"", "jobs/", "jobs/a/b", "a b", "\xff", "jobs/\xc3\xbc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(JobName(text).status())) << text;
  }
}

TEST(Connect, AddressWithoutServerIsUnreachable) {
  std::string address;
  {
    FakeServer gone;
    address = gone.address();
  }
  ConnectionOptions options;
  options.endpoint = {address, "--server", false, {}};
  const auto begin = std::chrono::steady_clock::now();
  const auto connection = Connection::Open(std::move(options));
  EXPECT_TRUE(IsUnreachable(connection.status()));
  EXPECT_NE(connection.status().message().find("--server"), absl::string_view::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
}

}  // namespace
}  // namespace helx::client
