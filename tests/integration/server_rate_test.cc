// How fast cached submissions are answered, beside an RPC that only syncs a few bytes to the same
// disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>

#include "tests/integration/server_harness.h"

namespace helx::server {
namespace {

constexpr int kInFlight = 64;
constexpr int kSubmits = 5000;

// Issues `count` calls, kInFlight at a time, through `start(i, done)`; calls a second.
double Rate(int count, const std::function<void(int, std::function<void(bool)>)>& start) {
  std::mutex mutex;
  std::condition_variable wake;
  int flying = 0;
  int failed = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    {
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return flying < kInFlight; });
      ++flying;
    }
    start(i, [&](bool ok) {
      std::lock_guard lock(mutex);
      --flying;
      failed += ok ? 0 : 1;
      wake.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return flying == 0; });
  EXPECT_EQ(failed, 0);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return count / took.count();
}

// CPU time of a process so far, user and system, in seconds.
double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  // Fields 14 and 15 of proc(5), counted after the name in parentheses.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

template <typename Response>
struct Call {
  grpc::ClientContext context;
  Response response;
};

// Answers after writing and syncing 256 bytes.
class EchoWithSync : public v1::Capabilities::CallbackService {
 public:
  explicit EchoWithSync(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
  ~EchoWithSync() override { close(fd_); }
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetCapabilitiesRequest*,
                                v1::ServerCapabilities*) override {
    const char row[256] = {};
    const bool written = write(fd_, row, sizeof(row)) == sizeof(row) && fdatasync(fd_) == 0;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(written ? grpc::Status::OK : grpc::Status(grpc::StatusCode::INTERNAL, "disk"));
    return reactor;
  }

 private:
  const int fd_;
};

double EchoRate(const std::string& folder) {
  EchoWithSync echo(folder + "/echo");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const auto server = builder.BuildAndStart();
  Client client("127.0.0.1:" + std::to_string(port));
  const v1::GetCapabilitiesRequest request;
  return Rate(600, [&](int, std::function<void(bool)> done) {
    auto call = std::make_shared<Call<v1::ServerCapabilities>>();
    client.capabilities->async()->Get(&call->context, &request, &call->response,
                                      [call, done](grpc::Status status) { done(status.ok()); });
  });
}

TEST(ServerRateTest, CachedSubmissionsFromOneConnection) {
  Daemon daemon({}, Daemon::Transport::kTcp);
  ASSERT_TRUE(daemon.Start());
  Client client(daemon.address());
  const v1::SubmitJobRequest request = client.Request("model");
  {
    ScriptedWorker worker(daemon.address(), "w");
    v1::Job job;
    ASSERT_TRUE(client.Submit(request, &job).ok());
    ASSERT_EQ(client.Wait(job.name()).phase(), v1::SUCCEEDED);
  }
  const auto submit = [&](int i, std::function<void(bool)> done) {
    auto call = std::make_shared<Call<v1::Job>>();
    auto own = std::make_shared<v1::SubmitJobRequest>(request);
    own->set_request_id("rate-" + std::to_string(i));
    client.jobs->async()->Submit(&call->context, own.get(), &call->response,
                                 [call, own, done](grpc::Status status) {
                                   done(status.ok() && call->response.phase() == v1::SUCCEEDED);
                                 });
  };
  TempFolder folder;
  Rate(500, [&](int i, auto done) { submit(1'000'000 + i, done); });  // warm
  const double cpu_before = CpuSeconds(daemon.pid());
  const double submits = Rate(kSubmits, submit);
  const double cpu_us = (CpuSeconds(daemon.pid()) - cpu_before) / kSubmits * 1e6;
  const double echoes = EchoRate(folder.path());
  std::printf("cached submits: %.0f /s (%.0f us of CPU each), echo with fdatasync: %.0f /s\n",
              submits, cpu_us, echoes);
  EXPECT_GE(submits, std::min(3000.0, 0.3 * echoes));
}

}  // namespace
}  // namespace helx::server
