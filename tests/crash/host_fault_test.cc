// Faults of the host under a real helxd: a disk that is full or fails, a torn write-ahead log, no
// file descriptors, a stopped process, a wall clock that steps.
//
// HELX_STOP_SECONDS sets how long the process is stopped (default 2).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/splitmix64.h"
#include "helx/v1/pool.grpc.pb.h"
#include "server/scheduler/timestamps.h"
#include "tests/crash/ledger.h"

namespace helx::server {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

class HostFaultTest : public ::testing::TestWithParam<int> {
 protected:
  // With the shim between helxd and libc.
  void Start() {
    control_path_ = folder_.path() + "/control";
    Set(0, 0);
    setenv("HELX_FAULT_SHIM", control_path_.c_str(), 1);
    setenv("LD_PRELOAD", HELX_FAULT_SHIM, 1);
    const bool started = daemon_.Start();
    unsetenv("LD_PRELOAD");
    ASSERT_TRUE(started) << daemon_.Errors();
    client_ = std::make_unique<Client>(daemon_.address());
  }
  // Within helxd: writes to regular files fail so; the wall clock is off by so much.
  void Set(int32_t write_errno, int64_t clock_offset_seconds) {
    const int fd = open(control_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const int32_t first[2] = {write_errno, 0};
    EXPECT_EQ(pwrite(fd, first, sizeof(first), 0), static_cast<ssize_t>(sizeof(first)));
    EXPECT_EQ(pwrite(fd, &clock_offset_seconds, sizeof(clock_offset_seconds), 8), 8);
    close(fd);
  }
  grpc::Status SubmitAs(const std::string& request_id, const std::string& model) {
    v1::SubmitJobRequest request = client_->Request(model);
    request.set_request_id(request_id);
    v1::Job job;
    const grpc::Status status = client_->Submit(request, &job);
    if (status.ok()) ledger_.Acknowledge(request_id, model, job);
    return status;
  }

  TempFolder folder_;
  std::string control_path_;
  Daemon daemon_{{"--gc-seconds", "0"}};
  std::unique_ptr<Client> client_;
  Ledger ledger_;
};

// 1. New work is refused; 2. what was in hand is recorded once writes work again; 3. all of it
// survives a kill.
TEST_P(HostFaultTest, DiskThatCannotBeWrittenHeals) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::atomic<bool> go{false};
  ScriptedWorker worker(daemon_.address(), "w",
                        [&](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* d) {
                          const bool ok = WorkLikeARealOne(w, a, d);
                          while (a.kind() == v1::ACTION_KIND_RUN && !go && !w.stopping()) {
                            std::this_thread::sleep_for(5ms);
                          }
                          return ok;
                        });
  ASSERT_TRUE(SubmitAs("before", "one").ok());
  ASSERT_TRUE(Eventually([&] {
    return worker.executed() == 3;  // its run has been uploaded, or is about to be
  }));
  std::this_thread::sleep_for(300ms);
  Set(GetParam(), 0);
  v1::SubmitJobRequest request;
  request.set_name("kws");
  request.set_document(
      R"({"engine":"builtin","model":{"sha256":")" + DigestOf(std::string_view("one")).hash +
      R"(","size":3},"platform":"board","schema":"helx.document/v1",)" + R"("tensor_io":null})");
  // The first may find out, the next is refused at once.
  v1::Job job;
  request.set_request_id("during");
  EXPECT_TRUE(Eventually([&] {
    const grpc::Status status = client_->Submit(request, &job);
    return !status.ok() && (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
                            status.error_code() == grpc::StatusCode::UNAVAILABLE);
  }));
  go = true;  // the worker tells of its end while the store cannot write
  std::this_thread::sleep_for(1s);
  ASSERT_FALSE(daemon_.WaitForExit(0ms).has_value()) << daemon_.Errors();
  Set(0, 0);
  ASSERT_TRUE(Eventually([&] { return SubmitAs("during", "one").ok(); })) << daemon_.Errors();
  ASSERT_TRUE(Eventually([&] { return SubmitAs("after", "two").ok(); }));
  daemon_.Kill();
  ASSERT_NO_FATAL_FAILURE(Start());
  ledger_.Verify(daemon_.address());
}
INSTANTIATE_TEST_SUITE_P(Errors, HostFaultTest, ::testing::Values(ENOSPC, EIO));

TEST_F(HostFaultTest, TornLogLosesNothingThatWasAcknowledged) {
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  client_ = std::make_unique<Client>(daemon_.address());
  ScriptedWorker worker(daemon_.address(), "w", WorkLikeARealOne);
  SplitMix64 random(7);
  for (int round = 0; round < 4; ++round) {
    const grpc::Status submitted =
        SubmitAs("r" + std::to_string(round), "m" + std::to_string(round));
    ASSERT_TRUE(submitted.ok()) << submitted.error_message();
    daemon_.Kill();
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(daemon_.data_folder() + "/db")) {
      if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
    }
    ASSERT_FALSE(newest.empty());
    // A write that a power cut left half done: noise, or blocks that were allocated and never
    // written.
    std::string tail(1000 + random.Next() % 60'000, '\0');
    if (round % 2 == 0) {
      for (char& c : tail) c = static_cast<char>(random.Next());
    }
    std::ofstream(newest, std::ios::binary | std::ios::app) << tail;
    ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
    // The old channel's first call may still meet the killed connection.
    client_ = std::make_unique<Client>(daemon_.address());
  }
  ledger_.Verify(daemon_.address());
}

TEST_F(HostFaultTest, WithoutFileDescriptorsItEndsInOrder) {
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  client_ = std::make_unique<Client>(daemon_.address());
  ScriptedWorker worker(daemon_.address(), "w", WorkLikeARealOne);
  ASSERT_TRUE(SubmitAs("before", "one").ok());
  struct rlimit before {};
  ASSERT_EQ(prlimit(daemon_.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  // What is open stays so; nothing more can be opened.
  const struct rlimit none = {3, before.rlim_max};
  ASSERT_EQ(prlimit(daemon_.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  // An upload of several messages is staged in a file.
  const std::string content(3'000'000, 'f');
  const Digest digest = DigestOf(std::string_view(content));
  EXPECT_FALSE(client_->Write(Client::UploadName(digest), content).ok());
  std::vector<std::unique_ptr<Client>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<Client>(daemon_.address()));
    others.back()->channel->GetState(true);
  }
  // gRPC does not listen any more then, for good: helxd ends in order, so that it is started again.
  EXPECT_EQ(daemon_.WaitForExit(15s).value_or(0), 1) << daemon_.Errors();
  EXPECT_THAT(daemon_.Errors(), ::testing::HasSubstr("out of file descriptors"));
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  EXPECT_TRUE(Eventually([&] { return client_->Write(Client::UploadName(digest), content).ok(); }));
  EXPECT_TRUE(Eventually([&] { return SubmitAs("after", "two").ok(); })) << daemon_.Errors();
  ledger_.Verify(daemon_.address());
}

TEST_F(HostFaultTest, StoppedProcessGoesOnWhereItWas) {
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  client_ = std::make_unique<Client>(daemon_.address());
  ScriptedWorker worker(daemon_.address(), "w", WorkLikeARealOne);
  const char* text = std::getenv("HELX_STOP_SECONDS");
  std::thread stopper([&] {
    std::this_thread::sleep_for(50ms);
    kill(daemon_.pid(), SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(text == nullptr ? 2 : std::atoi(text)));
    kill(daemon_.pid(), SIGCONT);
  });
  for (int n = 0; n < 20; ++n) {
    const std::string id = "r" + std::to_string(n);
    ASSERT_TRUE(Eventually([&] { return SubmitAs(id, "m" + std::to_string(n % 5)).ok(); }));
  }
  stopper.join();
  ledger_.Verify(daemon_.address());
}

// Leases, limits and the collector go by the steady clock; names of jobs ascend whatever happens.
TEST_F(HostFaultTest, ClockStepsChangeNothing) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::atomic<bool> go{false};
  auto worker = std::make_unique<ScriptedWorker>(
      daemon_.address(), "w",
      [&](ScriptedWorker& w, const v1::ExecuteAction& a, v1::CompleteRequest* d) {
        while (!go && !w.stopping()) std::this_thread::sleep_for(5ms);
        return WorkLikeARealOne(w, a, d);
      });
  std::string last;
  const std::string orphan = "uploaded before the clock stepped";
  client_->Put(orphan);
  int n = 0;
  for (const int64_t offset : {int64_t{3600}, int64_t{-3600}, int64_t{30 * 3600}, int64_t{0}}) {
    Set(0, offset);
    v1::SubmitJobRequest request = client_->Request("m" + std::to_string(n));
    v1::Job job;
    ASSERT_TRUE(client_->Submit(request, &job).ok());
    EXPECT_GT(job.name(), last);
    last = job.name();
    ledger_.Acknowledge("r" + std::to_string(n), "m" + std::to_string(n), job);
    ++n;
    std::this_thread::sleep_for(300ms);
    EXPECT_FALSE(client_->Get(job.name()).finished()) << client_->Get(job.name()).DebugString();
    v1::StoreOperation ended;
    grpc::ClientContext context;
    ASSERT_TRUE(
        RunToEnd(client_->store->CollectGarbage(&context, v1::CollectGarbageRequest()), &ended)
            .ok());
    EXPECT_EQ(ended.removed_blobs(), 0) << offset;
  }
  go = true;
  ledger_.Verify(daemon_.address());
  // The device is the same, held by nobody, and fit.
  const auto pool = v1::Pool::NewStub(client_->channel);
  grpc::ClientContext context;
  v1::ListDevicesResponse devices;
  ASSERT_TRUE(pool->ListDevices(&context, v1::ListDevicesRequest(), &devices).ok());
  ASSERT_EQ(devices.devices_size(), 1);
  EXPECT_TRUE(devices.devices(0).online());
}

}  // namespace
}  // namespace helx::server
