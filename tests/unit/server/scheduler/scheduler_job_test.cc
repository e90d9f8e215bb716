// What submitters see: phases, cache, sharing, cancellation, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(SchedulerTest, JobGoesThroughItsPhases) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  EXPECT_EQ(job.phase(), v1::FREEZING);
  EXPECT_TRUE(job.running());
  const v1::ExecuteAction freeze = Taken("w", v1::LANE_FREEZE);
  EXPECT_EQ(freeze.kind(), v1::ACTION_KIND_FREEZE);
  EXPECT_EQ(freeze.document(), Document());
  EXPECT_EQ(freeze.lease().attempt(), 1);
  CompleteOk("w", freeze);
  const v1::ExecuteAction build = Taken("w", v1::LANE_DEVICE);
  EXPECT_EQ(build.kind(), v1::ACTION_KIND_BUILD);
  EXPECT_THAT(build.frozen_request(), HasSubstr("frozen "));
  EXPECT_EQ(build.lease().device(), "w");
  CompleteOk("w", build);
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(run.kind(), v1::ACTION_KIND_RUN);
  EXPECT_EQ(run.build_bundle().hash(), DigestOf("manifest " + build.lease().action()).hash);
  EXPECT_EQ(run.run_limit().seconds(), 600);
  CompleteOk("w", run);

  const v1::Job done = Get(job);
  EXPECT_EQ(done.phase(), v1::SUCCEEDED);
  EXPECT_TRUE(done.success());
  EXPECT_FALSE(done.cached());
  EXPECT_EQ(done.assessment(), v1::MATCH);
  EXPECT_EQ(done.attempts_size(), 3);
  EXPECT_TRUE(done.attempts(2).has_end_time());
  EXPECT_THAT(Phases(job), ElementsAre(v1::QUEUED, v1::FREEZING, v1::QUEUED, v1::BUILDING,
                                       v1::QUEUED, v1::RUNNING, v1::SUCCEEDED));
  EXPECT_EQ(scheduler_->live_jobs(), 0);
}

TEST_F(SchedulerTest, IdenticalRequestIsAnsweredFromTheCacheWithoutWorkers) {
  Join("w");
  SubmitOk(Request(Document()));
  RunAll("w");
  Restart();  // no worker has spoken to this process
  const v1::Job job = SubmitOk(Request(Document()));
  EXPECT_EQ(job.phase(), v1::SUCCEEDED);
  EXPECT_TRUE(job.cached());
  EXPECT_THAT(Phases(job), ElementsAre(v1::SUCCEEDED));
  v1::GetResultRequest by_name;
  by_name.set_experiment("kws");
  const auto result = reader_->GetResult(Caller(), by_name);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->bundle().hash(), job.bundle().hash());
  EXPECT_THAT(result->manifest(), HasSubstr("manifest run:"));
}

TEST_F(SchedulerTest, CacheHitWhoseBlobIsGoneExecutesAgain) {
  Join("w");
  const v1::Job first = SubmitOk(Request(Document()));
  RunAll("w");
  const Digest bundle = FromProto(Get(first).bundle());
  LoseBlob(bundle);
  Flush();
  v1::GetResultRequest by_digest;
  *by_digest.mutable_bundle() = ToProto(bundle);
  EXPECT_TRUE(absl::IsDataLoss(reader_->GetResult(Caller(), by_digest).status()));
  const v1::Job second = SubmitOk(Request(Document()));
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(run.kind(), v1::ACTION_KIND_RUN);  // freeze and build are still there
  CompleteOk("w", run);
  EXPECT_EQ(Get(second).phase(), v1::SUCCEEDED);
  EXPECT_TRUE(reader_->GetResult(Caller(), by_digest).ok());
}

// A disk that changed bytes of several blobs, which nobody has read since: all of them are made
// again by the first request that would have been answered with one of them.
TEST_F(SchedulerTest, DamagedResultsAreMadeAgainAtOnce) {
  Join("w");
  const v1::Job first = SubmitOk(Request(Document()));
  CompleteOk("w", Take("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  const Digest built = FromProto(OutputOf(build).bundle());
  CompleteOk("w", build);
  CompleteOk("w", Take("w", v1::LANE_DEVICE));
  const std::vector<Digest> made = {FromProto(Get(first).frozen_request()), built,
                                    FromProto(Get(first).bundle())};
  for (const Digest& digest : made) {
    std::string content = *blobs_->Read("default", digest);
    content[content.size() / 2] ^= 1;
    ASSERT_TRUE(
        store_->CommitAndWait({{Family::kBlobs, BlobChunkKey("default", digest, 0), content}})
            .ok());
  }
  Restart();
  Join("w");
  const v1::Job second = SubmitOk(Request(Document()));
  EXPECT_FALSE(second.cached());
  RunAll("w");
  EXPECT_EQ(Get(second).phase(), v1::SUCCEEDED);
  for (const Digest& digest : made) EXPECT_TRUE(blobs_->Verify("default", digest).ok());
  const v1::Job third = SubmitOk(Request(Document()));
  EXPECT_TRUE(third.cached());
}

TEST_F(SchedulerTest, IdenticalActionsInFlightRunOnce) {
  Join("w");
  Join("x");
  const v1::Job a = SubmitOk(Request(Document()));
  const v1::Job b = SubmitOk(Request(Document()));
  EXPECT_FALSE(AnswerOf("x", v1::LANE_FREEZE).has_value());  // still waits: there is one action
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  CompleteOk("w", Taken("w", v1::LANE_DEVICE));
  EXPECT_FALSE(AnswerOf("x", v1::LANE_DEVICE).has_value() &&
               AnswerOf("w", v1::LANE_DEVICE)->value().execute().kind() == v1::ACTION_KIND_RUN);
  const auto by_x = AnswerOf("x", v1::LANE_DEVICE);
  ASSERT_TRUE(by_x.has_value());  // the run went to the worker that waited
  CompleteOk("x", (*by_x)->execute());
  EXPECT_EQ(Get(a).phase(), v1::SUCCEEDED);
  EXPECT_EQ(Get(b).phase(), v1::SUCCEEDED);
  EXPECT_EQ(Get(a).bundle().hash(), Get(b).bundle().hash());
  EXPECT_EQ(Get(b).attempts_size(), 3);
}

TEST_F(SchedulerTest, NoCacheRunsAgainAndNotesOtherContentOnBoth) {
  Join("w");
  const v1::Job first = SubmitOk(Request(Document()));
  RunAll("w");
  v1::SubmitJobRequest again = Request(Document());
  again.set_no_cache(true);
  const v1::Job same = SubmitOk(again);
  CompleteOk("w", Take("w", v1::LANE_DEVICE));  // the freeze is cached
  CompleteOk("w", Take("w", v1::LANE_DEVICE));
  EXPECT_EQ(Get(same).phase(), v1::SUCCEEDED);
  EXPECT_FALSE(Get(same).cached());
  EXPECT_EQ(Get(same).issues_size(), 0);         // the same content
  EXPECT_EQ(Get(same).attempts(1).number(), 2);  // the fencing token goes on

  const v1::Job other = SubmitOk(again);
  CompleteOk("w", Take("w", v1::LANE_DEVICE), "other");
  CompleteOk("w", Take("w", v1::LANE_DEVICE), "other");
  const v1::Job done = Get(other);
  EXPECT_THAT(done.issues(), ElementsAre("nondeterministic_result"));
  for (const v1::Job& job : {Get(first), done}) {
    v1::GetResultRequest request;
    *request.mutable_bundle() = job.bundle();
    const auto result = reader_->GetResult(Caller(), request);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->issues(), ElementsAre("nondeterministic_result"));
  }
  // The newer result is what the cache answers with.
  const v1::Job cached = SubmitOk(Request(Document()));
  EXPECT_EQ(cached.bundle().hash(), done.bundle().hash());
  EXPECT_THAT(cached.issues(), ElementsAre("nondeterministic_result"));
}

TEST_F(SchedulerTest, BuildJobEndsWithTheBuild) {
  Join("w");
  v1::SubmitJobRequest request = Request(Document());
  request.set_kind(v1::JOB_KIND_BUILD);
  const v1::Job job = SubmitOk(request);
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  CompleteOk("w", Taken("w", v1::LANE_DEVICE));
  EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);
  EXPECT_EQ(Get(job).assessment(), v1::NOT_COMPARED);
  // Running it now needs no second build.
  SubmitOk(Request(Document()));
  EXPECT_EQ(Take("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_RUN);
}

TEST_F(SchedulerTest, FrozenRequestIsSubmittedByDigest) {
  Join("w");
  v1::SubmitJobRequest request = Request(Document());
  request.set_kind(v1::JOB_KIND_BUILD);
  const v1::Job job = SubmitOk(request);
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  CompleteOk("w", Taken("w", v1::LANE_DEVICE));
  v1::SubmitJobRequest by_digest;
  by_digest.set_name("again");
  *by_digest.mutable_frozen_request() = Get(job).frozen_request();
  SubmitOk(by_digest);
  EXPECT_EQ(Take("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_RUN);

  *by_digest.mutable_frozen_request() = ToProto(PutBlob("not frozen here"));
  EXPECT_TRUE(absl::IsInvalidArgument(Submit(by_digest).status()));
  by_digest.mutable_frozen_request()->set_hash(std::string(64, 'b'));
  EXPECT_EQ(MissingBlobs::Of(Submit(by_digest).status()).size(), 1u);
}

TEST_F(SchedulerTest, MissingBlobsAreNamed) {
  const Digest gone = DigestOf(std::string_view("never uploaded"));
  const auto status = Submit(Request(R"({"engine":"builtin","model":{"sha256":")" + gone.hash +
                                     R"(","size":)" + std::to_string(gone.size_bytes) +
                                     R"(},"platform":"board","schema":"helx.document/v1"})"))
                          .status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(MissingBlobs::Of(status), ElementsAre(gone));
}

TEST_F(SchedulerTest, BadRequestsAreRefusedAtTheEdge) {
  const std::string document = Document();
  const auto refused = [&](auto change) {
    v1::SubmitJobRequest request = Request(document);
    change(request);
    const absl::Status status = Submit(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return MessageOf(status);
  };
  EXPECT_THAT(refused([](auto& r) { r.set_name("a/b"); }), HasSubstr("name is \"a/b\""));
  EXPECT_THAT(refused([](auto& r) { r.set_kind(v1::JOB_KIND_REPLAY); }),
              HasSubstr("needs a bundle"));
  EXPECT_THAT(refused([](auto& r) { r.set_kind(static_cast<v1::JobKind>(9)); }),
              HasSubstr("REPLAY (4)"));
  EXPECT_THAT(refused([](auto& r) { r.set_run_limit_ms(600'001); }), HasSubstr("600000"));
  EXPECT_THAT(refused([](auto& r) { r.set_queue_limit_ms(-1); }), HasSubstr("queue_limit_ms"));
  EXPECT_THAT(refused([](auto& r) { r.clear_subject(); }), HasSubstr("document"));
  EXPECT_THAT(refused([](auto& r) { r.set_document(std::string((1 << 20) + 1, ' ')); }),
              HasSubstr("1048577"));
  EXPECT_EQ(scheduler_->live_jobs(), 0);
}

TEST_F(SchedulerTest, RequestIdGivesTheSameJobForSevenDays) {
  v1::SubmitJobRequest request = Request(Document());
  request.set_request_id("id-1");
  const v1::Job first = SubmitOk(request);
  EXPECT_EQ(SubmitOk(request).name(), first.name());
  Restart();
  EXPECT_EQ(SubmitOk(request).name(), first.name());
  v1::SubmitJobRequest other = request;
  other.set_priority(3);
  const absl::Status status = Submit(other).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr(first.name()));
  clock_.wall_us += int64_t{7} * 24 * 3600 * 1'000'000 + 1;
  EXPECT_NE(SubmitOk(request).name(), first.name());
}

TEST_F(SchedulerTest, UserFaultIsNotRetriedAndNotCached) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  ASSERT_TRUE(
      CompleteFailed("w", Taken("w", v1::LANE_FREEZE), v1::USER, "unsupported_operator").ok());
  EXPECT_EQ(Get(job).phase(), v1::FAILED);
  EXPECT_EQ(Get(job).failure().code(), "unsupported_operator");
  EXPECT_EQ(Get(job).attempts_size(), 1);
  SubmitOk(Request(Document()));
  EXPECT_EQ(Take("w", v1::LANE_FREEZE).kind(), v1::ACTION_KIND_FREEZE);
}

TEST_F(SchedulerTest, InfraFaultIsTriedThreeTimesWithBackoff) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  ASSERT_TRUE(CompleteFailed("w", Taken("w", v1::LANE_FREEZE), v1::INFRA).ok());
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  EXPECT_EQ(Get(job).queue_reason(), "retry_backoff");
  Synchronize("w", v1::LANE_FREEZE);
  Pass(999);
  EXPECT_FALSE(AnswerOf("w", v1::LANE_FREEZE).has_value());
  Pass(1);
  v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  EXPECT_EQ(action.lease().attempt(), 2);
  ASSERT_TRUE(CompleteFailed("w", action, v1::DEVICE).ok());
  Synchronize("w", v1::LANE_FREEZE);
  Pass(2000);
  action = Taken("w", v1::LANE_FREEZE);
  EXPECT_EQ(action.lease().attempt(), 3);
  ASSERT_TRUE(CompleteFailed("w", action, v1::INFRA, "disk").ok());
  EXPECT_EQ(Get(job).phase(), v1::FAILED);
  EXPECT_EQ(Get(job).failure().fault(), v1::INFRA);
  EXPECT_EQ(Get(job).attempts_size(), 3);
}

TEST_F(SchedulerTest, RetryPrefersAnotherWorker) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Join("x");
  ASSERT_TRUE(CompleteFailed("w", Taken("w", v1::LANE_FREEZE), v1::INFRA).ok());
  Synchronize("w", v1::LANE_FREEZE);
  Pass(1000);
  EXPECT_FALSE(AnswerOf("w", v1::LANE_FREEZE).has_value());
  EXPECT_EQ(Taken("x", v1::LANE_FREEZE).lease().attempt(), 2);
}

TEST_F(SchedulerTest, CancelOfAQueuedJobIsImmediate) {
  const v1::Job job = SubmitOk(Request(Document()));
  EXPECT_EQ(job.phase(), v1::QUEUED);
  EXPECT_EQ(job.queue_reason(), "no_worker");
  EXPECT_EQ(Cancel(job)->phase(), v1::CANCELLED);
  EXPECT_EQ(Cancel(job)->phase(), v1::CANCELLED);  // idempotent
  v1::Job unknown;
  unknown.set_name("jobs/nosuch");
  EXPECT_TRUE(absl::IsNotFound(Cancel(unknown).status()));
}

TEST_F(SchedulerTest, CancelReachesTheWorkerAtOnceAndWaitsForIt) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Synchronize("w", v1::LANE_FREEZE, action.lease());
  EXPECT_FALSE(AnswerOf("w", v1::LANE_FREEZE).has_value());
  EXPECT_EQ(Cancel(job)->phase(), v1::CANCELLING);
  const auto answer = AnswerOf("w", v1::LANE_FREEZE);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE((*answer)->cancel());
  v1::CompleteRequest done = Completion("w", action);
  done.set_cancelled(true);
  EXPECT_TRUE(Complete(done).ok());
  EXPECT_EQ(Get(job).phase(), v1::CANCELLED);
  EXPECT_EQ(Phases(job).back(), v1::CANCELLED);
}

TEST_F(SchedulerTest, CancelEndsInTimeEvenIfTheWorkerDoesNot) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Cancel(job).IgnoreError();
  Pass(4'999);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLING);
  Pass(1);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLED);
}

TEST_F(SchedulerTest, CancelOfOneSharerLeavesTheOther) {
  Join("w");
  const v1::Job a = SubmitOk(Request(Document()));
  const v1::Job b = SubmitOk(Request(Document()));
  EXPECT_EQ(Cancel(a)->phase(), v1::CANCELLED);
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  EXPECT_EQ(Get(b).phase(), v1::BUILDING);
}

TEST_F(SchedulerTest, JobThatJoinsADyingActionGetsAFreshOne) {
  Join("w");
  const v1::Job a = SubmitOk(Request(Document()));
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Cancel(a).IgnoreError();
  const v1::Job b = SubmitOk(Request(Document()));
  EXPECT_EQ(b.phase(), v1::QUEUED);
  v1::CompleteRequest done = Completion("w", action);
  done.set_cancelled(true);
  EXPECT_TRUE(Complete(done).ok());
  EXPECT_EQ(Get(a).phase(), v1::CANCELLED);
  EXPECT_EQ(Take("w", v1::LANE_FREEZE).lease().attempt(), 2);
  EXPECT_EQ(Get(b).phase(), v1::FREEZING);
}

TEST_F(SchedulerTest, QueueLimitAbandonsAndRunLimitTimesOut) {
  v1::SubmitJobRequest request = Request(Document());
  request.set_queue_limit_ms(5'000);
  request.set_run_limit_ms(2'000);
  const v1::Job waits = SubmitOk(request);
  Pass(4'999);
  EXPECT_EQ(Get(waits).phase(), v1::QUEUED);
  Pass(1);
  EXPECT_EQ(Get(waits).phase(), v1::ABANDONED);
  EXPECT_EQ(Get(waits).failure().code(), "queue_limit");

  Join("w");
  const v1::Job runs = SubmitOk(request);
  CompleteOk("w", Take("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Taken("w", v1::LANE_DEVICE);
  EXPECT_EQ(build.run_limit().seconds(), 2);
  Synchronize("w", v1::LANE_DEVICE, build.lease());
  Pass(6'999);  // the worker has 5 s to report it by itself
  EXPECT_EQ(Get(runs).phase(), v1::BUILDING);
  Pass(1);
  EXPECT_EQ(Get(runs).phase(), v1::TIMED_OUT);
  EXPECT_EQ(Get(runs).failure().code(), "run_limit");
  EXPECT_TRUE(AnswerOf("w", v1::LANE_DEVICE)->value().cancel());
}

TEST_F(SchedulerTest, PriorityGoesBeforeArrival) {
  Join("w");
  SubmitOk(Request(Document("busy")));
  const v1::Job low = SubmitOk(Request(Document("a")));
  v1::SubmitJobRequest urgent = Request(Document("b"));
  urgent.set_priority(5);
  const v1::Job high = SubmitOk(urgent);
  EXPECT_EQ(Get(low).queue_position(), 2);
  EXPECT_EQ(Get(high).queue_position(), 1);
  EXPECT_EQ(Get(low).queue_reason(), "workers_busy");
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  EXPECT_EQ(Take("w", v1::LANE_FREEZE).document(), Document("b"));
}

TEST_F(SchedulerTest, UnknownPlatformIsRefusedAfterTheGraceOnly) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document("model", "bord")));
  EXPECT_EQ(job.phase(), v1::QUEUED);
  EXPECT_EQ(job.queue_reason(), "platform_unavailable");
  Pass(9'999);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  Pass(1);
  EXPECT_EQ(Get(job).phase(), v1::FAILED);
  EXPECT_EQ(Get(job).failure().fault(), v1::USER);
  EXPECT_THAT(Get(job).failure().message(), HasSubstr("did you mean \"board\"?"));
  EXPECT_EQ(SubmitOk(Request(Document("model", "bord"))).phase(), v1::FAILED);  // and at once now
}

TEST_F(SchedulerTest, JobWaitsForAWorkerThatOffersItsPlatform) {
  Synchronize("w", v1::LANE_FREEZE);
  const v1::Job job = SubmitOk(Request(Document("model", "late")));
  Synchronize("x", v1::LANE_FREEZE, std::nullopt, "s1", CatalogueOf("late"));
  EXPECT_EQ(Taken("x", v1::LANE_FREEZE).document(), Document("model", "late"));
  EXPECT_EQ(Get(job).phase(), v1::FREEZING);
}

TEST_F(SchedulerTest, FreezeCallSharesTheActionAndAnswersRefusals) {
  Join("w");
  std::promise<absl::StatusOr<v1::FreezeResponse>> frozen;
  scheduler_->Freeze(Caller(), Document(), [&](auto answer) { frozen.set_value(answer); });
  SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  const auto answer = frozen.get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(FromProto(answer->digest()), DigestOf(std::string_view(answer->frozen_request())));

  std::promise<absl::StatusOr<v1::FreezeResponse>> refused;
  scheduler_->Freeze(Caller(), Document("bad"), [&](auto a) { refused.set_value(a); });
  ASSERT_TRUE(CompleteFailed("w", Take("w", v1::LANE_FREEZE), v1::USER, "not_a_model").ok());
  EXPECT_EQ(refused.get_future().get()->refusal().code(), "not_a_model");
}

TEST_F(SchedulerTest, AbandonedFreezeCallStopsItsAction) {
  Join("w");
  bool answered = false;
  const auto waiter = scheduler_->Freeze(Caller(), Document(), [&](auto) { answered = true; });
  const v1::ExecuteAction action = Taken("w", v1::LANE_FREEZE);
  Synchronize("w", v1::LANE_FREEZE, action.lease());
  scheduler_->AbandonFreeze(waiter);
  EXPECT_TRUE(AnswerOf("w", v1::LANE_FREEZE)->value().cancel());
  EXPECT_FALSE(answered);
}

TEST_F(SchedulerTest, ListsNewestFirstInPages) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) {
    v1::SubmitJobRequest request = Request(Document("m" + std::to_string(i)));
    request.set_name(i % 2 == 0 ? "even" : "odd");
    names.insert(names.begin(), SubmitOk(request).name());
  }
  v1::ListJobsRequest request;
  request.set_page_size(2);
  std::vector<std::string> listed;
  do {
    const auto page = reader_->List(Caller(), request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const auto& job : page->jobs()) listed.push_back(job.name());
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, names);
  v1::ListJobsRequest odd;
  odd.set_experiment("odd");
  EXPECT_EQ(reader_->List(Caller(), odd)->jobs_size(), 2);
  odd.add_phases(v1::SUCCEEDED);
  EXPECT_EQ(reader_->List(Caller(), odd)->jobs_size(), 0);
  odd.set_page_size(1001);
  EXPECT_TRUE(absl::IsInvalidArgument(reader_->List(Caller(), odd).status()));
}

}  // namespace
}  // namespace helx::server
