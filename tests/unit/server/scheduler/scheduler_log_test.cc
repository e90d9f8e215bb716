// Live logs, and resubmission.
#include <algorithm>

#include "server/scheduler/log_reader.h"
#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

constexpr size_t kMiB = 1 << 20;

// Bytes whose value tells their place.
std::string PatternAt(int64_t offset, size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    const auto at = static_cast<uint64_t>(offset) + i;
    out[i] = static_cast<char>(at * 31 + at / 251);
  }
  return out;
}

class LogTest : public SchedulerTest {
 protected:
  absl::Status Print(const v1::ExecuteAction& action, int64_t offset, const std::string& bytes) {
    v1::ReportRequest request;
    request.set_worker("w");
    request.set_session("s1");
    *request.mutable_lease() = action.lease();
    request.set_log_offset(offset);
    request.set_log(bytes);
    return scheduler_->Report(request);
  }
  void PrintPattern(const v1::ExecuteAction& action, int64_t from, int64_t to) {
    for (int64_t at = from; at < to; at += 64 << 10) {
      const auto size = static_cast<size_t>(std::min<int64_t>(64 << 10, to - at));
      ASSERT_TRUE(Print(action, at, PatternAt(at, size)).ok());
    }
  }
  // What a reader gets from a place until there is nothing more now.
  struct Got {
    int64_t bytes = 0;
    int64_t dropped = 0;
    bool intact = true;  // every byte stood at its place
    bool ended = false;
    v1::LogPosition next;
  };
  Got ReadFrom(const v1::Job& job, v1::LogPosition from) {
    Flush();
    LogReader reader(scheduler_.get(), reader_.get(), blobs_.get());
    Got got;
    got.next = from;
    while (true) {
      const auto piece = reader.Next(Caller(), job.name().substr(5), got.next, &got.ended);
      EXPECT_TRUE(piece.ok()) << piece.status();
      if (!piece.ok() || !piece->has_value()) return got;
      const v1::LogPiece& found = **piece;
      got.bytes += static_cast<int64_t>(found.data().size());
      got.dropped += found.dropped();
      got.intact = got.intact && found.data() == PatternAt(found.at().offset(), found.data().size());
      got.next = found.next();
    }
  }
};

TEST_F(LogTest, IsReadWhileItGrowsAndGoesOnAfterTheEnd) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(ReadFrom(job, {}).bytes, 0);
  int woken = 0;
  const uint64_t watch =
      scheduler_->Watch(Caller(), job.name().substr(5), [&] { ++woken; }, true);
  PrintPattern(build, 0, 1000);
  EXPECT_EQ(woken, 1);
  scheduler_->Unwatch(watch);
  Got got = ReadFrom(job, {});
  EXPECT_EQ(got.bytes, 1000);
  EXPECT_TRUE(got.intact);
  EXPECT_FALSE(got.ended);
  EXPECT_EQ(got.next.attempt(), 1);  // the freeze was attempt 0
  PrintPattern(build, 1000, 1500);
  CompleteOk("w", build);
  got = ReadFrom(job, got.next);
  EXPECT_EQ(got.bytes, 500);
  EXPECT_EQ(got.dropped, 0);
  EXPECT_TRUE(got.intact);
  // The run follows; once it ended, so has the log, for late readers too.
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  PrintPattern(run, 0, 10);
  CompleteOk("w", run);
  got = ReadFrom(job, got.next);
  EXPECT_EQ(got.bytes, 10);
  EXPECT_TRUE(got.ended);
  got = ReadFrom(job, {});
  EXPECT_EQ(got.bytes, 1510);
  EXPECT_TRUE(got.intact);
  EXPECT_TRUE(got.ended);
  Restart();
  EXPECT_EQ(ReadFrom(job, {}).bytes, 1510);
}

TEST_F(LogTest, SlowReaderIsToldWhatItMissed) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  PrintPattern(build, 0, 9 * kMiB);
  Got live = ReadFrom(job, {});
  EXPECT_TRUE(live.intact);
  EXPECT_EQ(live.bytes + live.dropped, 9 * static_cast<int64_t>(kMiB));
  EXPECT_GE(live.bytes, 4 * static_cast<int64_t>(kMiB));
  EXPECT_LE(live.bytes, 6 * static_cast<int64_t>(kMiB));
  CompleteOk("w", build);
  // 2 MiB are kept at each end.
  const Got stored = ReadFrom(job, {});
  EXPECT_TRUE(stored.intact);
  EXPECT_EQ(stored.bytes, 4 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(stored.dropped, 5 * static_cast<int64_t>(kMiB));
  // From within what is gone.
  v1::LogPosition from;
  from.set_attempt(1);
  from.set_offset(3 * kMiB);
  const Got middle = ReadFrom(job, from);
  EXPECT_TRUE(middle.intact);
  EXPECT_EQ(middle.bytes, 2 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(middle.dropped, 4 * static_cast<int64_t>(kMiB));
  EXPECT_EQ(Get(job).attempts(1).log().bytes(), 9 * static_cast<int64_t>(kMiB));
}

TEST_F(LogTest, WhatARestartOfTheServerLosesIsCounted) {
  Join("w");
  const v1::Job job = SubmitOk(Request(Document()));
  CompleteOk("w", Taken("w", v1::LANE_FREEZE));
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  PrintPattern(build, 0, 700);
  Flush();
  Restart();
  Synchronize("w", v1::LANE_DEVICE, build.lease());
  PrintPattern(build, 700, 1000);
  // A repetition changes nothing.
  ASSERT_TRUE(Print(build, 900, PatternAt(900, 100)).ok());
  const Got got = ReadFrom(job, {});
  EXPECT_EQ(got.bytes, 300);
  EXPECT_EQ(got.dropped, 700);
  EXPECT_TRUE(got.intact);
  EXPECT_TRUE(absl::IsInvalidArgument(Print(build, -1, "x")));
  EXPECT_TRUE(absl::IsInvalidArgument(Print(build, INT64_MAX, "x")));
}

class ResubmitTest : public SchedulerTest {
 protected:
  absl::StatusOr<v1::Job> Resubmit(const v1::ResubmitJobRequest& request,
                                   const Caller& caller = Caller()) {
    std::promise<absl::StatusOr<v1::Job>> promise;
    scheduler_->Resubmit(caller, request,
                         [&](absl::StatusOr<v1::Job> job) { promise.set_value(std::move(job)); });
    return promise.get_future().get();
  }
};

TEST_F(ResubmitTest, NeedsNoUploadAndIsTheCallersOwn) {
  Join("w");
  v1::SubmitJobRequest first = Request(Document());
  first.set_run("m4");
  first.set_priority(3);
  const v1::Job job = SubmitOk(first);
  RunAll("w");
  v1::ResubmitJobRequest request;
  request.set_name(job.name());
  request.set_request_id("again");
  const auto again = Resubmit(request, {"default", "anna", false});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NE(again->name(), job.name());
  EXPECT_EQ(again->user(), "anna");
  EXPECT_EQ(again->experiment(), "kws");
  EXPECT_EQ(again->run(), "m4");
  EXPECT_EQ(again->phase(), v1::SUCCEEDED);
  EXPECT_TRUE(again->cached());
  // The same request id names the same job.
  EXPECT_EQ(Resubmit(request, {"default", "anna", false})->name(), again->name());
  request.set_request_id("");
  request.set_no_cache(true);
  EXPECT_FALSE(Resubmit(request)->finished());
}

TEST_F(ResubmitTest, SaysWhatIsGone) {
  Join("w");
  const std::string document = Document();
  const v1::Job job = SubmitOk(Request(document));
  RunAll("w");
  LoseBlob(DigestOf(std::string_view(document)));
  Flush();
  v1::ResubmitJobRequest request;
  request.set_name(job.name());
  EXPECT_EQ(MissingBlobs::Of(Resubmit(request).status()).size(), 1u);
  request.set_name("jobs/nosuch");
  EXPECT_TRUE(absl::IsNotFound(Resubmit(request).status()));
  request.set_name("nosuch");
  EXPECT_TRUE(absl::IsInvalidArgument(Resubmit(request).status()));
  // Another instance's job does not exist.
  request.set_name(job.name());
  EXPECT_TRUE(absl::IsNotFound(Resubmit(request, {"other", "otto", true}).status()));
}

}  // namespace
}  // namespace helx::server
