// Jobs whose subject is a bundle: RUN_BUILD and REPLAY. Nothing is built for them, and a bundle's
// word decides nothing for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/bundle/manifest.h"
#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SchedulerBundleTest : public SchedulerTest {
 protected:
  // A bundle of one file, which holds `image`; its blobs are stored.
  Digest PutBundle(const std::string& image, bool with_file = true) {
    Manifest manifest;
    Artifact artifact;
    artifact.path = "build/model.elf";
    artifact.media_type = "application/x-elf";
    artifact.digest = with_file ? PutBlob(image) : DigestOf(std::string_view(image));
    manifest.artifacts.push_back(artifact);
    return PutBlob(*manifest.Canonical());
  }
  static v1::SubmitJobRequest Of(v1::JobKind kind, const Digest& bundle) {
    v1::SubmitJobRequest request;
    request.set_name("kws");
    request.set_kind(kind);
    *request.mutable_bundle() = ToProto(bundle);
    return request;
  }
  // What a worker finds in a bundle that claims to come from the document's request.
  v1::ActionOutput Verified(bool executed, const std::string& keys = "k") {
    v1::ActionOutput output;
    *output.mutable_frozen_request() = ToProto(PutBlob("request " + keys));
    output.set_build_key(Sha256Hex(std::string_view("build" + keys)));
    output.set_run_key(Sha256Hex(std::string_view("run" + keys)));
    output.set_platform("board");
    output.set_engine("builtin");
    output.set_executor("qemu-system-arm");
    output.set_executor_version("7.2");
    output.set_executed(executed);
    return output;
  }
  void FreezeAs(const v1::ExecuteAction& action, const v1::ActionOutput& found) {
    v1::CompleteRequest request = Completion("w", action);
    *request.mutable_output() = found;
    const absl::Status status = Complete(request);
    EXPECT_TRUE(status.ok()) << status;
  }
  // A job of a document, run by this server's worker: its build bundle's and result bundle's
  // manifests are real ones.
  struct Made {
    Digest build, result;
    v1::ActionOutput frozen;
    std::string run_action;
  };
  Made MakeOwn() {
    Made made;
    SubmitOk(Request(Document()));
    const v1::ExecuteAction freeze = Take("w", v1::LANE_FREEZE);
    made.frozen = OutputOf(freeze);
    FreezeAs(freeze, made.frozen);
    const auto finish = [&](const std::string& image) {
      const v1::ExecuteAction action = Take("w", v1::LANE_DEVICE);
      v1::CompleteRequest request = Completion("w", action);
      *request.mutable_output() = OutputOf(action);
      const Digest bundle = PutBundle(image);
      *request.mutable_output()->mutable_bundle() = ToProto(bundle);
      EXPECT_TRUE(Complete(request).ok());
      made.run_action = action.lease().action();
      return bundle;
    };
    made.build = finish("image");
    made.result = finish("image and outputs");
    return made;
  }
  v1::ActionOutput FoundIn(const Made& made, bool executed) {
    v1::ActionOutput output = made.frozen;
    output.set_executor("qemu-system-arm");
    output.set_executor_version("7.2");
    output.set_executed(executed);
    return output;
  }
};

TEST_F(SchedulerBundleTest, ABuildRunsWithoutBeingBuilt) {
  Join("w");
  const Digest bundle = PutBundle("image");
  const v1::Job job = SubmitOk(Of(v1::JOB_KIND_RUN_BUILD, bundle));
  const v1::ExecuteAction freeze = Taken("w", v1::LANE_FREEZE);
  EXPECT_EQ(freeze.kind(), v1::ACTION_KIND_FREEZE);
  EXPECT_EQ(freeze.document(), "");
  EXPECT_EQ(freeze.build_bundle().hash(), bundle.hash);
  FreezeAs(freeze, Verified(false));
  const v1::ExecuteAction run = Taken("w", v1::LANE_DEVICE);
  EXPECT_EQ(run.kind(), v1::ACTION_KIND_RUN);
  EXPECT_EQ(run.build_bundle().hash(), bundle.hash);
  EXPECT_EQ(run.frozen_request(), "request k");
  CompleteOk("w", run);
  const v1::Job done = Get(job);
  EXPECT_EQ(done.phase(), v1::SUCCEEDED);
  EXPECT_EQ(done.kind(), v1::JOB_KIND_RUN_BUILD);
  EXPECT_FALSE(done.cached());
  EXPECT_EQ(done.attempts_size(), 2);
  EXPECT_THAT(Phases(job),
              ElementsAre(v1::QUEUED, v1::FREEZING, v1::QUEUED, v1::RUNNING, v1::SUCCEEDED));
  // The same bundle again: the same result, from the store.
  const v1::Job again = SubmitOk(Of(v1::JOB_KIND_RUN_BUILD, bundle));
  EXPECT_EQ(again.phase(), v1::SUCCEEDED);
  EXPECT_TRUE(again.cached());
  EXPECT_EQ(again.bundle().hash(), done.bundle().hash());
}

TEST_F(SchedulerBundleTest, AnOwnBuildSharesTheResultOfItsRequest) {
  Join("w");
  const Made made = MakeOwn();
  const v1::Job job = SubmitOk(Of(v1::JOB_KIND_RUN_BUILD, made.build));
  FreezeAs(Take("w", v1::LANE_FREEZE), FoundIn(made, false));
  EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);
  EXPECT_TRUE(Get(job).cached());
  EXPECT_EQ(Get(job).bundle().hash(), made.result.hash);
}

// Whoever uploads a bundle can write anything into its image; that must never answer another's
// request.
TEST_F(SchedulerBundleTest, AForeignImageNeverAnswersForTheRequestItNames) {
  Join("w");
  const Made made = MakeOwn();
  for (const v1::JobKind kind : {v1::JOB_KIND_RUN_BUILD, v1::JOB_KIND_REPLAY}) {
    const Digest forged = PutBundle("another image " + std::to_string(kind));
    const v1::Job job = SubmitOk(Of(kind, forged));
    FreezeAs(Take("w", v1::LANE_FREEZE), FoundIn(made, kind == v1::JOB_KIND_REPLAY));
    const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
    EXPECT_NE(run.lease().action(), made.run_action);
    CompleteOk("w", run, "forged");
    EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);
  }
  const v1::Job own = SubmitOk(Request(Document()));
  EXPECT_TRUE(own.cached());
  EXPECT_EQ(own.bundle().hash(), made.result.hash);
  EXPECT_EQ(own.issues_size(), 0);
}

TEST_F(SchedulerBundleTest, AReplayAlwaysRunsAndNotesOtherContent) {
  Join("w");
  const Made made = MakeOwn();
  const v1::Job job = SubmitOk(Of(v1::JOB_KIND_REPLAY, made.result));
  FreezeAs(Take("w", v1::LANE_FREEZE), FoundIn(made, true));
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(run.lease().action(), made.run_action);
  EXPECT_EQ(run.build_bundle().hash(), made.result.hash);
  CompleteOk("w", run, "other");
  EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);
  EXPECT_FALSE(Get(job).cached());
  EXPECT_THAT(Get(job).issues(), ElementsAre("nondeterministic_result"));
}

TEST_F(SchedulerBundleTest, ABundleOfTheWrongKindIsRefused) {
  Join("w");
  const Digest bundle = PutBundle("image");
  v1::ActionOutput build_only = Verified(false);
  build_only.clear_run_key();
  struct Case {
    v1::JobKind kind;
    v1::ActionOutput found;
    std::string code;
  };
  for (const Case& wrong : {Case{v1::JOB_KIND_RUN_BUILD, Verified(true), "not_a_build"},
                            Case{v1::JOB_KIND_REPLAY, Verified(false), "not_a_result"},
                            Case{v1::JOB_KIND_RUN_BUILD, build_only, "build_only"}}) {
    v1::SubmitJobRequest request = Of(wrong.kind, PutBundle("image of " + wrong.code));
    const v1::Job job = SubmitOk(request);
    FreezeAs(Take("w", v1::LANE_FREEZE), wrong.found);
    const v1::Job done = Get(job);
    EXPECT_EQ(done.phase(), v1::FAILED);
    EXPECT_EQ(done.failure().fault(), v1::USER);
    EXPECT_EQ(done.failure().code(), wrong.code);
    EXPECT_FALSE(done.has_frozen_request());
  }
}

TEST_F(SchedulerBundleTest, WhatIsNoBundleIsRefusedAtOnce) {
  const Digest bundle = PutBundle("image");
  v1::SubmitJobRequest no_bundle = Request(Document());
  no_bundle.set_kind(v1::JOB_KIND_RUN_BUILD);
  EXPECT_THAT(std::string(Submit(no_bundle).status().message()), HasSubstr("needs a bundle"));
  EXPECT_THAT(std::string(Submit(Of(v1::JOB_KIND_BUILD, bundle)).status().message()),
              HasSubstr("needs a document"));
  EXPECT_THAT(std::string(Submit(Of(v1::JOB_KIND_REPLAY, PutBlob("text"))).status().message()),
              HasSubstr("not the manifest of a bundle"));
  const absl::Status absent =
      Submit(Of(v1::JOB_KIND_REPLAY, DigestOf(std::string_view("absent")))).status();
  EXPECT_THAT(MissingBlobs::Of(absent), ElementsAre(DigestOf(std::string_view("absent"))));
  const absl::Status part =
      Submit(Of(v1::JOB_KIND_RUN_BUILD, PutBundle("not uploaded", false))).status();
  EXPECT_THAT(MissingBlobs::Of(part), ElementsAre(DigestOf(std::string_view("not uploaded"))));
}

TEST_F(SchedulerBundleTest, AnExecutorThatNobodyHasIsNamed) {
  Join("w");
  Pass(options_.startup_grace_ms + 1);
  const v1::Job job = SubmitOk(Of(v1::JOB_KIND_RUN_BUILD, PutBundle("image")));
  v1::ActionOutput found = Verified(false);
  found.set_executor_version("6.0");
  FreezeAs(Take("w", v1::LANE_FREEZE), found);
  const v1::Job done = Get(job);
  EXPECT_EQ(done.phase(), v1::FAILED);
  EXPECT_EQ(done.failure().fault(), v1::INFRA);
  EXPECT_EQ(done.failure().code(), "executor_unavailable");
  EXPECT_THAT(done.failure().message(), HasSubstr("qemu-system-arm 6.0"));
}

TEST_F(SchedulerBundleTest, ARestartGoesOnWithTheBundle) {
  Join("w");
  const Digest bundle = PutBundle("image");
  const v1::Job job = SubmitOk(Of(v1::JOB_KIND_RUN_BUILD, bundle));
  FreezeAs(Taken("w", v1::LANE_FREEZE), Verified(false));
  Restart();
  Join("w");
  Pass(0);
  const v1::ExecuteAction run = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(run.build_bundle().hash(), bundle.hash);
  CompleteOk("w", run);
  EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);
}

}  // namespace
}  // namespace helx::server
