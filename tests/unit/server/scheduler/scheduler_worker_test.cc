// What workers see: held calls, leases, fencing, sessions, loss.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

TEST_F(SchedulerTest, IdleCallIsHeldForTwentySeconds) {
  Synchronize("w", v1::LANE_DEVICE);
  Pass(19'999);
  EXPECT_FALSE(AnswerOf("w", v1::LANE_DEVICE).has_value());
  Pass(1);
  EXPECT_TRUE(AnswerOf("w", v1::LANE_DEVICE)->value().idle());
}

TEST_F(SchedulerTest, BusyCallIsHeldAndKeepsTheLease) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  for (int i = 0; i < 5; ++i) {
    Synchronize("w", v1::LANE_FREEZE, action.lease());
    Synchronize("w", v1::LANE_DEVICE);
    Pass(20'000);
    const auto answer = AnswerOf("w", v1::LANE_FREEZE);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ((*answer)->execute().lease().attempt(), 1);  // go on
    EXPECT_EQ((*answer)->execute().document(), "");        // without sending it all again
  }
  EXPECT_EQ(Get(job).attempts_size(), 1);
}

TEST_F(SchedulerTest, LostAnswerIsGivenAgain) {
  Join("w");
  SubmitOk(Request(Document()));
  const v1::ExecuteAction first = Taken("w", v1::LANE_FREEZE);
  const v1::ExecuteAction second = Take("w", v1::LANE_FREEZE);
  EXPECT_EQ(second.SerializeAsString(), first.SerializeAsString());
  EXPECT_EQ(second.document(), Document());
}

TEST_F(SchedulerTest, SilentWorkerLosesItsLease) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Pass(59'999);
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
  EXPECT_EQ(scheduler_->live_workers(), 1);
  Pass(2);
  EXPECT_EQ(scheduler_->live_workers(), 0);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  EXPECT_TRUE(Get(job).attempts(0).lost());
  EXPECT_EQ(Get(job).attempts(0).failure().code(), "worker_lost");
  // It comes back with its old lease: told to stop, and its result is refused.
  Synchronize("w", v1::LANE_FREEZE, action.lease());
  EXPECT_TRUE(AnswerOf("w", v1::LANE_FREEZE)->value().cancel());
  v1::CompleteRequest late = Completion("w", action);
  *late.mutable_output() = OutputOf(action);
  EXPECT_TRUE(absl::IsFailedPrecondition(Complete(late)));
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  Pass(1000);
  EXPECT_EQ(Take("w", v1::LANE_FREEZE).lease().attempt(), 2);
}

TEST_F(SchedulerTest, NewSessionReplacesTheOld) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Synchronize("w", v1::LANE_FREEZE, std::nullopt, "s2");
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);  // the old process's attempt is lost
  EXPECT_TRUE(Get(job).attempts(0).lost());
  Synchronize("w", v1::LANE_DEVICE, std::nullopt, "s1");
  EXPECT_TRUE(absl::IsFailedPrecondition(AnswerOf("w", v1::LANE_DEVICE)->status()));
  v1::CompleteRequest late = Completion("w", action, "s1");
  *late.mutable_output() = OutputOf(action);
  EXPECT_TRUE(absl::IsFailedPrecondition(Complete(late)));
  v1::ReportRequest report;
  report.set_worker("w");
  report.set_session("s1");
  *report.mutable_lease() = action.lease();
  report.set_log("x");
  EXPECT_TRUE(absl::IsFailedPrecondition(scheduler_->Report(report)));
}

TEST_F(SchedulerTest, RepeatedCompletionIsConfirmed) {
  Join("w");
  SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  v1::CompleteRequest done = Completion("w", action);
  *done.mutable_output() = OutputOf(action);
  EXPECT_TRUE(Complete(done).ok());
  EXPECT_TRUE(Complete(done).ok());
  done.mutable_lease()->set_attempt(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(Complete(done)));
}

TEST_F(SchedulerTest, OutputWhoseBlobsWereNotUploadedIsRefusedAndTheLeaseGoesOn) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  v1::CompleteRequest done = Completion("w", action);
  *done.mutable_output() = OutputOf(action);
  done.mutable_output()->mutable_frozen_request()->set_hash(std::string(64, 'c'));
  const absl::Status status = Complete(done);
  EXPECT_EQ(MissingBlobs::Of(status).size(), 1u) << status;
  done.mutable_output()->set_build_key("short");
  EXPECT_TRUE(absl::IsInvalidArgument(Complete(done)));
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
  CompleteOk("w", action);
  EXPECT_EQ(Get(job).phase(), v1::BUILDING);
}

TEST_F(SchedulerTest, FrozenToolsMustBeAdvertised) {
  Join("w");
  SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  v1::CompleteRequest done = Completion("w", action);
  *done.mutable_output() = OutputOf(action);
  done.mutable_output()->set_platform("another");
  EXPECT_TRUE(absl::IsInvalidArgument(Complete(done)));
}

TEST_F(SchedulerTest, OnlyWorkersWithTheFrozenVersionsMayBuild) {
  Join("w");
  SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  v1::CompleteRequest stopped = Completion("w", Taken("w", v1::LANE_DEVICE));
  stopped.set_cancelled(true);
  ASSERT_TRUE(Complete(stopped).ok());
  Synchronize("x", v1::LANE_DEVICE, std::nullopt, "s1", CatalogueOf("board", "8.0"));
  Pass(1000);
  EXPECT_FALSE(AnswerOf("x", v1::LANE_DEVICE).has_value());
  EXPECT_EQ(Take("w", v1::LANE_DEVICE).lease().attempt(), 2);
}

TEST_F(SchedulerTest, ARequestFrozenForToolsThatWentAwayIsRefusedAfterTheGrace) {
  Join("w");
  v1::SubmitJobRequest request = Request(Document());
  request.set_kind(v1::JOB_KIND_BUILD);
  const v1::Job job = SubmitOk(request);
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  CompleteOk("w", Taken("w", v1::LANE_DEVICE));
  Synchronize("w", v1::LANE_FREEZE, std::nullopt, "s2", CatalogueOf("board", "8.0"));
  Synchronize("w", v1::LANE_DEVICE, std::nullopt, "s2", CatalogueOf("board", "8.0"));
  v1::SubmitJobRequest by_digest;
  by_digest.set_name("again");
  *by_digest.mutable_frozen_request() = Get(job).frozen_request();
  const v1::Job again = SubmitOk(by_digest);
  Pass(5'000);
  EXPECT_EQ(Get(again).phase(), v1::QUEUED);
  Pass(6'000);
  const v1::Job refused = Get(again);
  EXPECT_EQ(refused.phase(), v1::FAILED);
  EXPECT_EQ(refused.failure().fault(), v1::INFRA);
  EXPECT_EQ(refused.failure().code(), "frozen_tools_unavailable");
}

TEST_F(SchedulerTest, StopOfAWorkerDoesNotCountAsAnAttempt) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  for (int i = 0; i < 5; ++i) {
    v1::CompleteRequest stopped = Completion("w", action);
    stopped.set_cancelled(true);
    ASSERT_TRUE(Complete(stopped).ok());
    Synchronize("w", v1::LANE_FREEZE);
    Pass(1000);
    action = Taken("w", v1::LANE_FREEZE);
  }
  EXPECT_EQ(action.lease().attempt(), 6);
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
}

TEST_F(SchedulerTest, ReportedPhasesBecomeEventsAndTheLogIsKeptOnFailure) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  CompleteOk("w", Taken("w", v1::LANE_DEVICE));
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  v1::ReportRequest report;
  report.set_worker("w");
  report.set_session("s1");
  *report.mutable_lease() = run.lease();
  report.set_phase(v1::COLLECTING);
  EXPECT_TRUE(scheduler_->Report(report).ok());
  EXPECT_EQ(Get(job).phase(), v1::COLLECTING);
  report.set_log("qemu said \xff\n");
  EXPECT_TRUE(scheduler_->Report(report).ok());
  report.set_phase(v1::SUCCEEDED);
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->Report(report)));
  report.set_log(std::string(65'537, 'x'));
  EXPECT_TRUE(absl::IsInvalidArgument(scheduler_->Report(report)));
  ASSERT_TRUE(CompleteFailed("w", run, v1::BUG).ok());
  Flush();
  const auto log = blobs_->Read("default", FromProto(Get(job).failure().details()));
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(*log, "qemu said \xff\n");
}

TEST_F(SchedulerTest, TimedOutIsNotAFailure) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  v1::CompleteRequest done = Completion("w", Taken("w", v1::LANE_DEVICE));
  done.mutable_timed_out()->set_code("run_limit");
  ASSERT_TRUE(Complete(done).ok());
  EXPECT_EQ(Get(job).phase(), v1::TIMED_OUT);
  EXPECT_EQ(Get(job).failure().code(), "run_limit");
}

TEST_F(SchedulerTest, BadWorkerNamesAreRefused) {
  Synchronize("a/b", v1::LANE_DEVICE);
  EXPECT_TRUE(absl::IsInvalidArgument(AnswerOf("a/b", v1::LANE_DEVICE)->status()));
  Synchronize("w", v1::LANE_UNSPECIFIED);
  EXPECT_THAT(MessageOf(AnswerOf("w", v1::LANE_UNSPECIFIED)->status()), HasSubstr("LANE_DEVICE"));
}

TEST_F(SchedulerTest, StopAnswersHeldCalls) {
  Synchronize("w", v1::LANE_DEVICE);
  scheduler_->Stop();
  EXPECT_TRUE(absl::IsUnavailable(AnswerOf("w", v1::LANE_DEVICE)->status()));
}

}  // namespace
}  // namespace helx::server
