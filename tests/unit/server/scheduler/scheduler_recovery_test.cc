// A new process over the store of one that was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

TEST_F(SchedulerTest, QueuedJobSurvives) {
  const v1::Job job = SubmitOk(Request(Document()));
  Restart();
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  Synchronize("w", v1::LANE_FREEZE);
  EXPECT_EQ(Taken("w", v1::LANE_FREEZE).document(), Document());
}

TEST_F(SchedulerTest, WorkerGoesOnWithItsLeaseAfterARestart) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Restart();
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
  Synchronize("w", v1::LANE_FREEZE, action.lease());
  EXPECT_FALSE(AnswerOf("w", v1::LANE_FREEZE).has_value());  // held: go on
  CompleteOk("w", action);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  Synchronize("w", v1::LANE_DEVICE);
  EXPECT_EQ(Taken("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_BUILD);
}

TEST_F(SchedulerTest, CompletionMayComeBeforeTheFirstSynchronize) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Taken("w", v1::LANE_DEVICE);
  Restart();
  CompleteOk("w", build);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);  // waits to run
  EXPECT_EQ(Take("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_RUN);
}

TEST_F(SchedulerTest, LeaseIsRearmedInFullAndLostWithoutItsWorker) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Taken("w", v1::LANE_FREEZE);
  Pass(50'000);
  Restart();
  Pass(59'999);
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
  Pass(1);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  EXPECT_TRUE(Get(job).attempts(0).lost());
}

TEST_F(SchedulerTest, RestartsOfTheServerDoNotUseUpAttempts) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  for (int i = 0; i < 6; ++i) {
    Restart();
    // Local workers die with the server: each comes back as a new process.
    const std::string session = "r" + std::to_string(i);
    Synchronize("w", v1::LANE_FREEZE, std::nullopt, session);
    Flush();
    Pass(1000);
    Synchronize("w", v1::LANE_FREEZE, std::nullopt, session);
    EXPECT_EQ(Get(job).phase(), v1::FREEZING) << i;
  }
  EXPECT_EQ(Get(job).attempts_size(), 7);
  EXPECT_EQ(Get(job).attempts(0).failure().code(), "server_restarted");
}

TEST_F(SchedulerTest, WorkerThatRunsWhatNobodyWantsIsStopped) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Cancel(job).IgnoreError();
  Pass(10'000);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLED);
  Restart();
  Synchronize("w", v1::LANE_FREEZE, action.lease());
  EXPECT_TRUE(AnswerOf("w", v1::LANE_FREEZE)->value().cancel());
  EXPECT_EQ(scheduler_->live_jobs(), 0);
}

TEST_F(SchedulerTest, CancellingJobEndsAfterARestart) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Taken("w", v1::LANE_FREEZE);
  EXPECT_EQ(Cancel(job)->phase(), v1::CANCELLING);
  Restart();
  Pass(10'000);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLED);
}

TEST_F(SchedulerTest, IdsAscendWhenTheClockStepsBack) {
  const v1::Job before = SubmitOk(Request(Document()));
  clock_.wall_us -= int64_t{3600} * 1'000'000;
  Restart();
  const v1::Job after = SubmitOk(Request(Document("other")));
  EXPECT_GT(after.name(), before.name());
}

TEST_F(SchedulerTest, EventsAreTheSameAfterARestart) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  RunAll("w");
  const auto before = Phases(job);
  EXPECT_EQ(before.size(), 7u);
  Restart();
  EXPECT_EQ(Phases(job), before);
}

TEST_F(SchedulerTest, WhatWasFrozenForOlderToolsIsFrozenAgainByTheNewer) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  Cancel(job).IgnoreError();
  Restart();
  // The freezing is cached, for tools that nobody has offered to this process yet.
  const v1::Job again = SubmitOk(Request(Document()));
  EXPECT_EQ(again.phase(), v1::QUEUED);
  Synchronize("other", v1::LANE_FREEZE, std::nullopt, "s1", CatalogueOf("elsewhere"));
  EXPECT_FALSE(AnswerOf("other", v1::LANE_FREEZE).has_value());  // another board: not its work
  Synchronize("new", v1::LANE_FREEZE, std::nullopt, "s1", CatalogueOf("board", "8.0"));
  EXPECT_EQ(Taken("new", v1::LANE_FREEZE).document(), Document());
}

TEST_F(SchedulerTest, MergedJobsAreMergedAfterARestartToo) {
  const v1::Job a = SubmitOk(Request(Document()));
  const v1::Job b = SubmitOk(Request(Document()));
  Restart();
  Join("w");
  RunAll("w");
  EXPECT_EQ(Get(a).phase(), v1::SUCCEEDED);
  EXPECT_EQ(Get(b).phase(), v1::SUCCEEDED);
}

}  // namespace
}  // namespace helx::server
