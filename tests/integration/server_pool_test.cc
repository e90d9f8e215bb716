// The pool through helxctl and a real helxd that is killed in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <thread>

#include "core/base/json.h"
#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(50ms);
  }
  return true;
}

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(daemon_.Start()) << daemon_.Errors(); }

  int Ctl(std::vector<std::string> words, std::string* output) {
    words.insert(words.begin(), {kHelxctl, "--server", daemon_.address(), "--quiet"});
    output->clear();
    return RunProgram(words, output);
  }
  Json CtlJson(std::vector<std::string> words) {
    std::string output;
    words.push_back("--json");
    EXPECT_EQ(Ctl(words, &output), 0) << output;
    const auto json = ParseJson(output);
    EXPECT_TRUE(json.ok()) << output;
    return json.ok() ? *json : Json();
  }
  Json DeviceOf(const std::string& name) {
    const Json devices = CtlJson({"devices"});
    for (const Json& device : devices["devices"]) {
      if (device["device"] == name) return device;
    }
    return {};
  }
  bool Joined(const std::string& name) {
    return Eventually([&] { return DeviceOf(name).is_object(); });
  }

  Daemon daemon_;
  TempFolder folder_;
};

TEST_F(PoolTest, LeaseOutlivesAKilledServerAndIsReleasedOnce) {
  ScriptedWorker worker(daemon_.address(), "w1");
  ASSERT_TRUE(Joined("w1"));
  EXPECT_EQ(DeviceOf("w1")["state"], "idle");
  const Json lease = CtlJson({"lease", "acquire", "w1", "--purpose", "bring-up"})["leases"][0];
  EXPECT_EQ(lease["fence"], 1);
  EXPECT_EQ(lease["ready"], true);
  const std::string id = lease["id"];
  std::string output;
  EXPECT_EQ(Ctl({"lease", "acquire", "w1"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("reserved by local for"));

  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  EXPECT_EQ(CtlJson({"lease", "list"})["leases"][0]["id"], id);
  EXPECT_EQ(DeviceOf("w1")["lease"]["purpose"], "bring-up");
  CtlJson({"lease", "extend", "w1", id, "--seconds", "5"});
  EXPECT_EQ(Ctl({"lease", "release", "w1", "another"}, &output), 2);
  EXPECT_EQ(Ctl({"lease", "release", "w1", id}, &output), 0) << output;
  EXPECT_EQ(Ctl({"lease", "release", "w1", id}, &output), 2);
  EXPECT_THAT(output, HasSubstr("is not the current one of device w1"));
  EXPECT_EQ(Ctl({"lease", "acquire", "nosuch"}, &output), 6);
}

TEST_F(PoolTest, HealthCheckTakesABadDeviceOutUntilItIsReset) {
  std::atomic<bool> healthy = false;
  ScriptedWorker worker(
      daemon_.address(), "w1",
      [&](ScriptedWorker& self, const v1::ExecuteAction& action, v1::CompleteRequest* request) {
        *request->mutable_output() = self.GoodOutput(action);
        if (action.kind() == v1::ACTION_KIND_RUN && !healthy) {
          request->mutable_output()->set_assessment(v1::MISMATCH);
        }
        return true;
      });
  ASSERT_TRUE(Joined("w1"));
  std::ofstream(folder_.path() + "/golden.tflite") << "golden model";
  std::ofstream(folder_.path() + "/check.yaml")
      << "name: golden\nmodel: golden.tflite\ndefaults:\n  platform: board\n  fvp:\n    "
         "tensor_io:\n"
         "      references:\n        - origin: files\n          description: golden\n          "
         "tensors:\n            - {index: 0, "
         "name: out, dtype: int8, shape: [1, 2], hex: \"0001\"}\n";
  std::string output;
  ASSERT_EQ(Ctl({"device", "check", "-c", folder_.path() + "/check.yaml"}, &output), 0) << output;
  ASSERT_TRUE(Eventually([&] { return DeviceOf("w1")["health"] == "bad"; })) << DeviceOf("w1");
  EXPECT_EQ(DeviceOf("w1")["health_code"], "health_check_failed");

  Client client(daemon_.address());
  v1::Job job;
  ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());
  EXPECT_TRUE(
      Eventually([&] { return client.Get(job.name()).queue_reason() == "devices_unhealthy"; }));
  healthy = true;
  ASSERT_EQ(Ctl({"device", "reset", "w1", "--reason", "board swapped"}, &output), 0) << output;
  EXPECT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);
  EXPECT_EQ(DeviceOf("w1")["health"], "good");
  EXPECT_FALSE(DeviceOf("w1")["check_time"].is_null());

  ASSERT_EQ(Ctl({"device", "drain", "w1"}, &output), 0) << output;
  ASSERT_TRUE(client.Submit(client.Request("another"), &job).ok());
  EXPECT_TRUE(
      Eventually([&] { return client.Get(job.name()).queue_reason() == "devices_draining"; }));
  ASSERT_EQ(Ctl({"device", "drain", "w1", "--undo"}, &output), 0) << output;
  EXPECT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);
}

TEST_F(PoolTest, DeviceThatDoesNotLetGoIsQuarantinedWithinFiveSeconds) {
  std::atomic<bool> hold = true;
  ScriptedWorker worker(
      daemon_.address(), "w1",
      [&](ScriptedWorker& self, const v1::ExecuteAction& action, v1::CompleteRequest* request) {
        if (action.kind() == v1::ACTION_KIND_BUILD) {
          while (hold && !self.stopping()) std::this_thread::sleep_for(20ms);
        }
        *request->mutable_output() = self.GoodOutput(action);
        return true;
      });
  Client client(daemon_.address());
  v1::Job job;
  ASSERT_TRUE(client.Submit(client.Request("model"), &job).ok());
  ASSERT_TRUE(Eventually([&] { return client.Get(job.name()).phase() == v1::BUILDING; }));
  const auto begin = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  v1::CancelJobRequest cancel;
  cancel.set_name(job.name());
  ASSERT_TRUE(client.jobs->Cancel(&context, cancel, &job).ok());
  EXPECT_EQ(client.Wait(job.name()).phase(), v1::CANCELLED);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 7s);
  EXPECT_TRUE(Eventually([&] { return DeviceOf("w1")["health"] == "bad"; })) << DeviceOf("w1");
  EXPECT_EQ(DeviceOf("w1")["health_code"], "kill_unacknowledged");
  hold = false;
}

}  // namespace
}  // namespace helx::server
