// Workers that lie, that come back with an old lease, that do not let go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

#include "core/base/sha256.h"
#include "helx/v1/pool.grpc.pb.h"
#include "server/scheduler/timestamps.h"
#include "tests/crash/ledger.h"

namespace helx::server {
namespace {

using namespace std::chrono_literals;

grpc::Status Complete(Client& client, const v1::CompleteRequest& request) {
  grpc::ClientContext context;
  v1::CompleteResponse response;
  return client.worker->Complete(&context, request, &response);
}

class WorkerFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
    client_ = std::make_unique<Client>(daemon_.address());
  }
  v1::Job Submit(const std::string& model) {
    v1::SubmitJobRequest request = client_->Request(model);
    request.set_request_id("r" + std::to_string(++requests_));
    v1::Job job;
    const grpc::Status status = client_->Submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    ledger_.Acknowledge(request.request_id(), model, job);
    return job;
  }

  Daemon daemon_;
  std::unique_ptr<Client> client_;
  Ledger ledger_;
  int requests_ = 0;
};

TEST_F(WorkerFaultTest, LiesAboutDigestsAreRefusedAndLeaveNothing) {
  std::atomic<int> refused{0};
  ScriptedWorker worker(
      daemon_.address(), "w",
      [&](ScriptedWorker& w, const v1::ExecuteAction& action, v1::CompleteRequest* done) {
        const v1::ActionOutput honest = w.BundleOutput(action, action.lease().action());
        if (action.kind() == v1::ACTION_KIND_RUN) {
          const auto lie = [&](const v1::ActionOutput& output, grpc::StatusCode expected) {
            v1::CompleteRequest request = *done;
            *request.mutable_output() = output;
            const grpc::Status status = Complete(w.client(), request);
            EXPECT_EQ(status.error_code(), expected) << status.error_message();
            ++refused;
          };
          v1::ActionOutput output = honest;
          // A bundle that was never uploaded.
          output.mutable_bundle()->set_hash(Sha256Hex(std::string_view("nothing")));
          lie(output, grpc::StatusCode::FAILED_PRECONDITION);
          // The right hash with another size.
          output = honest;
          output.mutable_blobs(1)->set_size_bytes(honest.blobs(1).size_bytes() + 1);
          lie(output, grpc::StatusCode::FAILED_PRECONDITION);
          output = honest;
          output.mutable_blobs(1)->set_size_bytes(-1);
          lie(output, grpc::StatusCode::INVALID_ARGUMENT);
          output = honest;
          output.set_content_digest("not a digest");
          lie(output, grpc::StatusCode::INVALID_ARGUMENT);
          // Bytes under another digest's name.
          const Digest other = DigestOf(std::string_view("what it says it is"));
          const grpc::Status upload = w.client().Write(
              Client::UploadName(other), std::string(static_cast<size_t>(other.size_bytes), '?'));
          EXPECT_EQ(upload.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
          std::string stored;
          EXPECT_EQ(w.client().Read(other, &stored).error_code(), grpc::StatusCode::NOT_FOUND);
        }
        *done->mutable_output() = honest;
        return true;
      });
  Submit("model");
  ledger_.Verify(daemon_.address());
  EXPECT_EQ(refused, 4);
}

// The worker of the first attempt is taken for lost, comes back and tells another result than the
// second attempt's: before and after a restart of the server.
TEST_F(WorkerFaultTest, AnOldLeaseRecordsNothing) {
  std::mutex mutex;
  std::optional<v1::CompleteRequest> old;
  {
    ScriptedWorker first(
        daemon_.address(), "w",
        [&](ScriptedWorker& w, const v1::ExecuteAction& action, v1::CompleteRequest* done) {
          if (action.kind() != v1::ACTION_KIND_RUN) return WorkLikeARealOne(w, action, done);
          std::lock_guard lock(mutex);
          old = *done;
          *old->mutable_output() = w.BundleOutput(action, "another result");
          return false;  // not a word more
        });
    Submit("model");
    for (int i = 0; i < 2000; ++i) {
      {
        std::lock_guard lock(mutex);
        if (old.has_value()) break;
      }
      std::this_thread::sleep_for(5ms);
    }
  }
  ASSERT_TRUE(old.has_value());
  // A new session of the same worker: the older one's leases are lost.
  ScriptedWorker second(daemon_.address(), "w", WorkLikeARealOne, "s2");
  ledger_.Verify(daemon_.address());
  grpc::Status status = Complete(*client_, *old);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  client_ = std::make_unique<Client>(daemon_.address());
  status = Complete(*client_, *old);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  // As the new session, with the old attempt's number.
  old->set_session("s2");
  status = Complete(*client_, *old);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  Submit("model");
  ledger_.Verify(daemon_.address());
}

TEST_F(WorkerFaultTest, AKillThatIsNeverAcknowledgedFreesTheJobAndTakesTheDevice) {
  std::atomic<bool> running{false};
  auto stubborn = std::make_unique<ScriptedWorker>(
      daemon_.address(), "stubborn",
      [&](ScriptedWorker& w, const v1::ExecuteAction& action, v1::CompleteRequest* done) {
        if (action.kind() != v1::ACTION_KIND_RUN) return WorkLikeARealOne(w, action, done);
        running = true;
        while (!w.stopping()) std::this_thread::sleep_for(5ms);
        return false;
      });
  const v1::Job job = Submit("model");
  for (int i = 0; i < 2000 && !running; ++i) std::this_thread::sleep_for(5ms);
  ASSERT_TRUE(running);
  const auto start = std::chrono::steady_clock::now();
  grpc::ClientContext context;
  v1::CancelJobRequest cancel;
  cancel.set_name(job.name());
  v1::Job answer;
  ASSERT_TRUE(client_->jobs->Cancel(&context, cancel, &answer).ok());
  EXPECT_EQ(client_->Wait(job.name()).phase(), v1::CANCELLED);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took, 7s);

  const auto health = [&] {
    const auto pool = v1::Pool::NewStub(client_->channel);
    grpc::ClientContext list_context;
    v1::ListDevicesResponse devices;
    EXPECT_TRUE(pool->ListDevices(&list_context, v1::ListDevicesRequest(), &devices).ok());
    for (const v1::Device& device : devices.devices()) {
      if (device.name() == "stubborn") return device.health();
    }
    return v1::DEVICE_HEALTH_UNSPECIFIED;
  };
  EXPECT_EQ(health(), v1::HEALTH_BAD);
  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start()) << daemon_.Errors();
  client_ = std::make_unique<Client>(daemon_.address());
  EXPECT_EQ(health(), v1::HEALTH_BAD);
  ScriptedWorker other(daemon_.address(), "other", WorkLikeARealOne);
  Submit("another model");
  ledger_.Verify(daemon_.address());
  stubborn.reset();
}

}  // namespace
}  // namespace helx::server
