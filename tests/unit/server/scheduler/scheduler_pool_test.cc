// Devices: health, checks, quarantine, drain, people's leases, selectors, shares.
#include "tests/unit/server/scheduler/fixture.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;

const Caller kAnna{"default", "anna", false};
const Caller kBert{"default", "bert", false};

class PoolTest : public SchedulerTest {
 protected:
  // A worker with both lanes idle whose device has these labels.
  void JoinAs(const std::string& worker, const std::map<std::string, std::string>& labels = {},
              const std::string& session = "s1") {
    v1::WorkerCatalogue catalogue = CatalogueOf("board");
    for (const auto& [key, value] : labels) {
      v1::Label* label = catalogue.add_labels();
      label->set_key(key);
      label->set_value(value);
    }
    Synchronize(worker, v1::LANE_FREEZE, std::nullopt, session, catalogue);
    Synchronize(worker, v1::LANE_DEVICE, std::nullopt, session, catalogue);
    Flush();
  }
  v1::Device DeviceOf(const std::string& name) {
    Flush();
    v1::ListDevicesRequest request;
    request.set_with_retired(true);
    const auto devices = scheduler_->ListDevices(Caller(), request);
    EXPECT_TRUE(devices.ok());
    for (const v1::Device& device : devices->devices()) {
      if (device.name() == name) return device;
    }
    return {};
  }
  // Makes one of the scheduler's calls and waits for its answer.
  template <typename Response, typename Call>
  absl::StatusOr<Response> Await(Call call) {
    std::promise<absl::StatusOr<Response>> promise;
    call([&](absl::StatusOr<Response> answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  absl::StatusOr<v1::Device> SetHealth(const std::string& device, v1::DeviceHealth health) {
    v1::SetHealthRequest request;
    request.set_device(device);
    request.set_health(health);
    return Await<v1::Device>(
        [&](auto done) { scheduler_->SetHealth(Caller(), request, std::move(done)); });
  }
  void Drain(const std::string& device, bool undo) {
    v1::DrainRequest request;
    request.set_device(device);
    request.set_undo(undo);
    EXPECT_TRUE(Await<v1::Device>([&](auto done) {
                  scheduler_->Drain(Caller(), request, std::move(done));
                }).ok());
  }
  absl::StatusOr<v1::DeviceLease> Acquire(const Caller& caller, const std::string& device,
                                          int64_t seconds = 60) {
    v1::AcquireLeaseRequest request;
    request.set_device(device);
    request.mutable_ttl()->set_seconds(seconds);
    return Await<v1::DeviceLease>(
        [&](auto done) { scheduler_->AcquireLease(caller, request, std::move(done)); });
  }
  absl::Status Release(const Caller& caller, const std::string& device, const std::string& id) {
    v1::ReleaseLeaseRequest request;
    request.set_device(device);
    request.set_id(id);
    std::promise<absl::Status> promise;
    scheduler_->ReleaseLease(caller, request,
                             [&](absl::Status status) { promise.set_value(std::move(status)); });
    return promise.get_future().get();
  }
  absl::StatusOr<v1::HealthCheck> SetCheck(const std::string& document) {
    v1::SetHealthCheckRequest request;
    request.set_document(document);
    return Await<v1::HealthCheck>(
        [&](auto done) { scheduler_->SetHealthCheck(Caller(), request, std::move(done)); });
  }
  std::string CheckDocument() {
    std::string document = Document("golden model");
    const std::string none = R"("tensor_io":null)";
    return document.replace(document.find(none), none.size(),
                            R"("tensor_io":{"references":[{"origin":"files"}]})");
  }
  // Runs whatever is next on the device to its end; its action.
  v1::ExecuteAction RunNext(const std::string& worker, v1::Assessment assessment = v1::MATCH) {
    const v1::ExecuteAction action = Take(worker, v1::LANE_DEVICE);
    v1::CompleteRequest request = Completion(worker, action);
    *request.mutable_output() = OutputOf(action);
    if (action.kind() == v1::ACTION_KIND_RUN) {
      request.mutable_output()->set_assessment(assessment);
    }
    EXPECT_TRUE(Complete(request).ok());
    return action;
  }
  // Whether the device lane's last call was answered with work.
  bool Offered(const std::string& worker) {
    const auto answer = AnswerOf(worker, v1::LANE_DEVICE);
    return answer.has_value() && answer->ok() && (*answer)->has_execute();
  }
  bool HasWork(const std::string& worker) {
    Synchronize(worker, v1::LANE_DEVICE);
    return Offered(worker);
  }
  void Freeze(const std::string& worker) { CompleteOk(worker, Take(worker, v1::LANE_FREEZE)); }
};

TEST_F(PoolTest, WithoutAHealthCheckANewDeviceTakesWork) {
  JoinAs("w", {{"lab", "berlin"}});
  const v1::Device device = DeviceOf("w");
  EXPECT_EQ(device.health(), v1::HEALTH_UNKNOWN);
  EXPECT_EQ(device.state(), v1::STATE_IDLE);
  EXPECT_TRUE(device.online());
  EXPECT_EQ(device.labels(0).value(), "berlin");
  const v1::Job job = SubmitOk(Request(Document()));
  Freeze("w");
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  EXPECT_EQ(build.lease().device(), "w");
  EXPECT_EQ(DeviceOf("w").state(), v1::STATE_RUNNING);
}

TEST_F(PoolTest, HealthCheckComesFirstAndDecides) {
  JoinAs("w");
  EXPECT_THAT(MessageOf(SetCheck(Document("golden model")).status()), HasSubstr("no references"));
  ASSERT_TRUE(SetCheck(CheckDocument()).ok());
  Pass(100);
  const v1::Job job = SubmitOk(Request(Document()));
  // Two documents are frozen; on the device only the check goes on.
  Freeze("w");
  Freeze("w");
  EXPECT_EQ(RunNext("w").kind(), v1::ACTION_KIND_BUILD);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);
  EXPECT_EQ(Get(job).queue_reason(), "devices_unhealthy");
  EXPECT_EQ(RunNext("w").kind(), v1::ACTION_KIND_RUN);
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_GOOD);
  EXPECT_TRUE(DeviceOf("w").has_check_time());
  // The job's turn.
  RunNext("w");
  RunNext("w");
  EXPECT_EQ(Get(job).phase(), v1::SUCCEEDED);

  // A day later it is checked again, without keeping the device from its work; now it fails.
  Pass(24ll * 3600 * 1000);
  JoinAs("w");
  Pass(100);
  const v1::ExecuteAction again = RunNext("w", v1::MISMATCH);
  EXPECT_EQ(again.kind(), v1::ACTION_KIND_RUN);
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_BAD);
  EXPECT_EQ(DeviceOf("w").health_code(), "health_check_failed");
  const v1::Job waiting = SubmitOk(Request(Document("second")));
  Freeze("w");
  EXPECT_FALSE(HasWork("w"));
  EXPECT_EQ(Get(waiting).queue_reason(), "devices_unhealthy");
  // It stays bad over a restart, until an operator resets it; then the check decides anew.
  Restart();
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_BAD);
  JoinAs("w");
  EXPECT_FALSE(HasWork("w"));
  EXPECT_EQ(SetHealth("w", v1::HEALTH_UNKNOWN)->health(), v1::HEALTH_UNKNOWN);
  Pass(100);
  RunNext("w");
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_GOOD);
  EXPECT_TRUE(HasWork("w"));
}

TEST_F(PoolTest, EachDeviceIsCheckedByItselfAndALoopingOneAgainAndAgain) {
  JoinAs("a");
  ASSERT_TRUE(SetCheck(CheckDocument()).ok());
  Pass(100);
  Freeze("a");
  const v1::ExecuteAction build = Take("a", v1::LANE_DEVICE);
  CompleteOk("a", build);
  const v1::ExecuteAction run_a = Take("a", v1::LANE_DEVICE);
  // The second device finds the check frozen and built, and runs it nevertheless.
  JoinAs("b");
  Pass(100);
  const v1::ExecuteAction run_b = Take("b", v1::LANE_DEVICE);
  EXPECT_NE(run_a.lease().action(), run_b.lease().action());
  CompleteOk("a", run_a);
  EXPECT_EQ(DeviceOf("a").health(), v1::HEALTH_GOOD);
  EXPECT_EQ(DeviceOf("b").health(), v1::HEALTH_UNKNOWN);
  CompleteOk("b", run_b);
  ASSERT_TRUE(SetHealth("a", v1::HEALTH_LOOPING).ok());
  for (int i = 0; i < 3; ++i) {
    Pass(100);
    EXPECT_EQ(RunNext("a").kind(), v1::ACTION_KIND_RUN);
    EXPECT_EQ(DeviceOf("a").health(), v1::HEALTH_LOOPING);
  }
}

TEST_F(PoolTest, KillThatIsNotAcknowledgedQuarantinesTheDevice) {
  JoinAs("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Freeze("w");
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  Synchronize("w", v1::LANE_DEVICE, build.lease());
  EXPECT_EQ(Cancel(job)->phase(), v1::CANCELLING);
  EXPECT_TRUE((*AnswerOf("w", v1::LANE_DEVICE))->cancel());
  Pass(4'999);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLING);
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_UNKNOWN);
  Pass(1);
  EXPECT_EQ(Get(job).phase(), v1::CANCELLED);
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_BAD);
  EXPECT_EQ(DeviceOf("w").health_code(), "kill_unacknowledged");
  // What it says of its old lease is refused, and it is told to stop again; nothing new goes there.
  EXPECT_TRUE(absl::IsFailedPrecondition(CompleteFailed("w", build, v1::INFRA)));
  Synchronize("w", v1::LANE_DEVICE, build.lease());
  EXPECT_TRUE((*AnswerOf("w", v1::LANE_DEVICE))->cancel());
  const v1::Job next = SubmitOk(Request(Document("second")));
  Freeze("w");
  EXPECT_EQ(Get(next).queue_reason(), "devices_unhealthy");
  // The same process lets go after all: nothing of the old work is left.
  EXPECT_TRUE(HasWork("w"));
  EXPECT_EQ(DeviceOf("w").health_code(), "kill_late");
}

TEST_F(PoolTest, AnotherProcessDoesNotLiftTheQuarantine) {
  JoinAs("w");
  const v1::Job job = SubmitOk(Request(Document()));
  Freeze("w");
  Take("w", v1::LANE_DEVICE);
  Cancel(job).IgnoreError();
  Pass(5'000);
  JoinAs("w", {}, "s2");
  EXPECT_EQ(DeviceOf("w").health(), v1::HEALTH_BAD);
  const v1::Job next = SubmitOk(Request(Document("second")));
  const v1::ExecuteAction freeze = Take("w", v1::LANE_FREEZE, "s2");
  v1::CompleteRequest frozen = Completion("w", freeze, "s2");
  *frozen.mutable_output() = OutputOf(freeze);
  ASSERT_TRUE(Complete(frozen).ok());
  EXPECT_EQ(Get(next).queue_reason(), "devices_unhealthy");
}

TEST_F(PoolTest, DrainedAndMaintainedDevicesTakeNothing) {
  JoinAs("w");
  Drain("w", false);
  const v1::Job job = SubmitOk(Request(Document()));
  Freeze("w");
  EXPECT_FALSE(HasWork("w"));
  EXPECT_EQ(Get(job).queue_reason(), "devices_draining");
  Restart();
  JoinAs("w");
  EXPECT_TRUE(DeviceOf("w").draining());
  EXPECT_FALSE(HasWork("w"));
  ASSERT_TRUE(SetHealth("w", v1::HEALTH_MAINTENANCE).ok());
  Drain("w", true);
  EXPECT_FALSE(Offered("w"));
  ASSERT_TRUE(SetHealth("w", v1::HEALTH_GOOD).ok());
  // The held call is answered at once.
  EXPECT_EQ(Taken("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_BUILD);
}

TEST_F(PoolTest, LeasedDeviceRunsItsHoldersJobsOnly) {
  JoinAs("w");
  const auto lease = Acquire(kAnna, "w");
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(lease->ready());
  EXPECT_EQ(lease->fence(), 1);
  EXPECT_EQ(DeviceOf("w").state(), v1::STATE_RESERVED);
  EXPECT_THAT(MessageOf(Acquire(kBert, "w").status()), HasSubstr("reserved by anna for 60 s more"));
  const v1::Job berts = SubmitOk(Request(Document("b")), kBert);
  Freeze("w");
  EXPECT_FALSE(HasWork("w"));
  EXPECT_EQ(Get(berts).queue_reason(), "devices_reserved");
  const v1::Job annas = SubmitOk(Request(Document("a")), kAnna);
  Freeze("w");
  RunNext("w");
  RunNext("w");
  EXPECT_EQ(Get(annas).phase(), v1::SUCCEEDED);
  EXPECT_FALSE(HasWork("w"));

  // Compare-and-release.
  EXPECT_TRUE(absl::IsFailedPrecondition(Release(kAnna, "w", "another")));
  EXPECT_TRUE(absl::IsPermissionDenied(Release(kBert, "w", lease->id())));
  EXPECT_TRUE(Release(kAnna, "w", lease->id()).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Release(kAnna, "w", lease->id())));
  EXPECT_EQ(Taken("w", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_BUILD);  // bert's turn
  EXPECT_EQ(Acquire(kBert, "w")->fence(), 2);
}

TEST_F(PoolTest, LeaseOutlivesARestartAndEndsInTime) {
  JoinAs("w");
  const auto lease = Acquire(kAnna, "w", 60);
  Pass(40'000);
  Restart();
  // Armed in full: a steady clock does not outlive its process.
  Pass(59'999);
  EXPECT_EQ(DeviceOf("w").lease().id(), lease->id());
  Pass(1);
  EXPECT_FALSE(DeviceOf("w").has_lease());
  EXPECT_TRUE(absl::IsFailedPrecondition(Release(kAnna, "w", lease->id())));
  EXPECT_EQ(Acquire(kBert, "w")->fence(), 2);
  EXPECT_TRUE(absl::IsInvalidArgument(Acquire(kBert, "w", 0).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Acquire(kBert, "w", 86'401).status()));
  EXPECT_TRUE(absl::IsNotFound(Acquire(kBert, "nosuch").status()));
}

TEST_F(PoolTest, SelectorChoosesTheDevice) {
  JoinAs("a", {{"lab", "berlin"}});
  JoinAs("b", {{"lab", "paris"}});
  v1::SubmitJobRequest request = Request(Document());
  request.set_selector("lab=paris");
  const v1::Job job = SubmitOk(request);
  Freeze("a");  // whoever freezes
  EXPECT_FALSE(HasWork("a"));
  EXPECT_EQ(Taken("b", v1::LANE_DEVICE).kind(), v1::ACTION_KIND_BUILD);
  // A second job that needs the same build, anywhere, joins it.
  EXPECT_EQ(Get(SubmitOk(Request(Document()))).phase(), v1::BUILDING);
}

TEST_F(PoolTest, SelectorThatNoDeviceCanMatchIsRefusedWithTheNearest) {
  JoinAs("a", {{"lab", "berlin"}});
  v1::SubmitJobRequest request = Request(Document());
  request.set_selector("lab=rome");
  const v1::Job job = SubmitOk(request);
  EXPECT_EQ(Get(job).phase(), v1::QUEUED);  // within the start-up grace a device may still join
  Pass(10'000);
  const v1::Job refused = Get(job);
  EXPECT_EQ(refused.phase(), v1::FAILED);
  EXPECT_EQ(refused.failure().fault(), v1::USER);
  EXPECT_EQ(refused.failure().code(), "no_matching_device");
  EXPECT_THAT(refused.failure().message(), HasSubstr("the nearest are a (not lab=rome)"));
  request.set_selector("lab=,,");
  EXPECT_TRUE(absl::IsInvalidArgument(Submit(request).status()));
}

TEST_F(PoolTest, WhoTookMoreDeviceTimeWaitsLonger) {
  JoinAs("w");
  SubmitOk(Request(Document("first")), kAnna);
  Freeze("w");
  const v1::ExecuteAction build = Take("w", v1::LANE_DEVICE);
  clock_.Advance(30'000);  // anna's build takes 30 s
  CompleteOk("w", build);
  RunNext("w");
  const v1::Job annas = SubmitOk(Request(Document("a2")), kAnna);
  const v1::Job berts = SubmitOk(Request(Document("b1")), kBert);
  // Bert is frozen first as well: his share counts everywhere.
  Freeze("w");
  EXPECT_EQ(Get(annas).queue_position(), 1);
  Freeze("w");
  EXPECT_EQ(Get(berts).queue_position(), 1);
  EXPECT_EQ(Get(annas).queue_position(), 2);
  Restart();  // what was used is remembered
  EXPECT_EQ(Get(berts).queue_position(), 1);
  EXPECT_EQ(Get(annas).queue_position(), 2);
}

TEST_F(PoolTest, UserLimitsHold) {
  Halt();
  options_.user_jobs = 2;
  options_.user_devices = 1;
  Start();
  JoinAs("a");
  JoinAs("b");
  SubmitOk(Request(Document("1")), kAnna);
  const v1::Job second = SubmitOk(Request(Document("2")), kAnna);
  const auto third = Submit(Request(Document("3")), kAnna);
  EXPECT_TRUE(absl::IsResourceExhausted(third.status()));
  EXPECT_THAT(MessageOf(third.status()), HasSubstr("anna has 2 unfinished jobs"));
  const v1::Job berts = SubmitOk(Request(Document("4")), kBert);
  CompleteOk("a", Taken("a", v1::LANE_FREEZE));
  CompleteOk("b", Taken("b", v1::LANE_FREEZE));
  Freeze("a");
  // One of anna's builds runs; the other device is bert's, whoever came first.
  EXPECT_EQ(Get(berts).phase(), v1::BUILDING);
  EXPECT_EQ(Get(second).queue_reason(), "user_limit");
}

}  // namespace
}  // namespace helx::server
