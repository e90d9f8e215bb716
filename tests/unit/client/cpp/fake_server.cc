#include "tests/unit/client/cpp/fake_server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <thread>

#include "core/base/sha256.h"
#include "helx/v1/blobs.grpc.pb.h"
#include "helx/v1/capabilities.grpc.pb.h"
#include "helx/v1/jobs.grpc.pb.h"
#include "helx/v1/results.grpc.pb.h"

namespace helx::client {
namespace {

using grpc::ServerContext;
using grpc::Status;
using grpc::StatusCode;
using State = FakeServer::State;

// The hash in ".../blobs/{hash}/{size}".
std::string HashOf(const std::string& resource_name) {
  const size_t begin = resource_name.find("blobs/") + 6;
  return resource_name.substr(begin, 64);
}

class BlobService final : public helx::v1::Blobs::Service {
 public:
  explicit BlobService(State& state) : state_(state) {}

  Status Read(ServerContext*, const helx::v1::ReadRequest* request,
              grpc::ServerWriter<helx::v1::ReadResponse>* writer) override {
    std::string bytes;
    int64_t break_at = -1;
    {
      const std::lock_guard lock(state_.mutex);
      state_.read_offsets.push_back(request->read_offset());
      const auto it = state_.blobs.find(HashOf(request->resource_name()));
      if (it == state_.blobs.end()) return Status(StatusCode::NOT_FOUND, "no such blob");
      bytes = it->second;
      break_at = std::exchange(state_.break_read_at, -1);
    }
    constexpr size_t kPiece = 1000;
    for (size_t at = static_cast<size_t>(request->read_offset()); at < bytes.size(); at += kPiece) {
      if (break_at >= 0 && static_cast<int64_t>(at) >= break_at) {
        return Status(StatusCode::UNAVAILABLE, "broken on purpose");
      }
      helx::v1::ReadResponse response;
      response.set_data(bytes.substr(at, kPiece));
      writer->Write(response);
    }
    return Status::OK;
  }

  Status Write(ServerContext*, grpc::ServerReader<helx::v1::WriteRequest>* reader,
               helx::v1::WriteResponse* response) override {
    helx::v1::WriteRequest request;
    std::string name;
    bool first = true;
    while (reader->Read(&request)) {
      const std::lock_guard lock(state_.mutex);
      if (first) {
        name = request.resource_name();
        state_.write_offsets.push_back(request.write_offset());
      }
      first = false;
      std::string& upload = state_.uploads[name];
      if (request.write_offset() != static_cast<int64_t>(upload.size())) {
        return Status(StatusCode::INVALID_ARGUMENT, "wrong offset");
      }
      upload += request.data();
      if (state_.break_write_at >= 0 &&
          static_cast<int64_t>(upload.size()) >= state_.break_write_at) {
        state_.break_write_at = -1;
        return Status(StatusCode::UNAVAILABLE, "broken on purpose");
      }
      if (!request.finish_write()) continue;
      if (Sha256Hex(std::string_view(upload)) != HashOf(name)) {
        return Status(StatusCode::INVALID_ARGUMENT, "digest mismatch");
      }
      response->set_committed_size(static_cast<int64_t>(upload.size()));
      state_.blobs[HashOf(name)] = upload;
    }
    return Status::OK;
  }

  Status QueryWriteStatus(ServerContext*, const helx::v1::QueryWriteStatusRequest* request,
                          helx::v1::QueryWriteStatusResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    const auto it = state_.uploads.find(request->resource_name());
    if (it == state_.uploads.end()) return Status(StatusCode::NOT_FOUND, "no such upload");
    response->set_committed_size(static_cast<int64_t>(it->second.size()));
    return Status::OK;
  }

  Status FindMissing(ServerContext*, const helx::v1::FindMissingRequest* request,
                     helx::v1::FindMissingResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    for (const auto& digest : request->digests()) {
      if (!state_.blobs.contains(digest.hash())) *response->add_missing() = digest;
    }
    return Status::OK;
  }

 private:
  State& state_;
};

class JobService final : public helx::v1::Jobs::Service {
 public:
  explicit JobService(State& state) : state_(state) {}

  Status Submit(ServerContext*, const helx::v1::SubmitJobRequest* request,
                helx::v1::Job* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.submissions.push_back(*request);
    if (state_.refuse_submits > 0) {
      --state_.refuse_submits;
      return Status(StatusCode::FAILED_PRECONDITION, "missing blobs");
    }
    helx::v1::Job& job = state_.jobs[request->request_id()];
    if (job.name().empty()) {
      job.set_name("jobs/" + std::to_string(state_.jobs.size()));
      job.set_experiment(request->name());
      job.set_run(request->run());
      job.set_model_stem(request->model_stem());
      job.set_phase(helx::v1::QUEUED);
      job.set_pending(true);
      job.set_last_event(1);
    }
    if (state_.lose_submit_answers > 0) {
      --state_.lose_submit_answers;
      return Status(StatusCode::UNAVAILABLE, "answer lost on purpose");
    }
    *response = job;
    return Status::OK;
  }

  Status Get(ServerContext*, const helx::v1::GetJobRequest* request,
             helx::v1::Job* response) override {
    const std::lock_guard lock(state_.mutex);
    for (const auto& [id, job] : state_.jobs) {
      if (job.name() != request->name()) continue;
      *response = job;
      return Status::OK;
    }
    return Status(StatusCode::NOT_FOUND, "no job of that name");
  }

  Status List(ServerContext*, const helx::v1::ListJobsRequest*,
              helx::v1::ListJobsResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    for (const auto& [id, job] : state_.jobs) *response->add_jobs() = job;
    return Status::OK;
  }

  Status Watch(ServerContext* context, const helx::v1::WatchJobRequest* request,
               grpc::ServerWriter<helx::v1::JobEvent>* writer) override {
    std::vector<helx::v1::JobEvent> events;
    int break_after = -1;
    bool hold = false;
    {
      const std::lock_guard lock(state_.mutex);
      state_.watch_from.push_back(request->from_event());
      events = state_.events[request->name()];
      break_after = std::exchange(state_.break_watch_after, -1);
      hold = state_.hold_watch;
    }
    int sent = 0;
    for (const auto& event : events) {
      if (event.sequence() < request->from_event()) continue;
      if (break_after >= 0 && sent >= break_after) {
        return Status(StatusCode::UNAVAILABLE, "broken on purpose");
      }
      writer->Write(event);
      ++sent;
    }
    while (hold && !context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Status::OK;
  }

  Status Cancel(ServerContext*, const helx::v1::CancelJobRequest* request,
                helx::v1::Job* response) override {
    const std::lock_guard lock(state_.mutex);
    state_.cancelled.push_back(request->name());
    for (auto& [id, job] : state_.jobs) {
      if (job.name() != request->name()) continue;
      job.set_phase(helx::v1::CANCELLED);
      job.set_finished(true);
      *response = job;
      return Status::OK;
    }
    return Status(StatusCode::NOT_FOUND, "no job of that name");
  }

 private:
  State& state_;
};

class ResultService final : public helx::v1::Results::Service {
 public:
  explicit ResultService(State& state) : state_(state) {}

  Status Get(ServerContext*, const helx::v1::GetResultRequest* request,
             helx::v1::Result* response) override {
    const std::lock_guard lock(state_.mutex);
    for (const auto& [name, result] : state_.results) {
      const bool wanted = request->has_bundle() ? result.bundle().hash() == request->bundle().hash()
                                                : name == request->experiment();
      if (!wanted) continue;
      *response = result;
      return Status::OK;
    }
    return Status(StatusCode::NOT_FOUND, "no such result");
  }

  Status List(ServerContext*, const helx::v1::ListResultsRequest*,
              helx::v1::ListResultsResponse* response) override {
    const std::lock_guard lock(state_.mutex);
    for (const auto& entry : state_.entries) *response->add_results() = entry;
    return Status::OK;
  }

 private:
  State& state_;
};

class CapabilityService final : public helx::v1::Capabilities::Service {
 public:
  explicit CapabilityService(State& state) : state_(state) {}

  Status Get(ServerContext*, const helx::v1::GetCapabilitiesRequest*,
             helx::v1::ServerCapabilities* response) override {
    const std::lock_guard lock(state_.mutex);
    response->set_version("9.8.7");
    response->set_live_workers(state_.live_workers);
    auto* engine = response->add_engines();
    engine->set_name("builtin");
    engine->set_version("1");
    engine->set_qualification("qualified");
    engine->add_platforms("corstone-300");
    auto* target = response->add_targets();
    target->set_platform("corstone-300");
    target->set_core("cortex-m55");
    target->set_executor("qemu-system-arm");
    target->set_version("7.2.22");
    target->set_basis("qemu-icount");
    target->set_live_workers(state_.live_workers);
    return Status::OK;
  }

 private:
  State& state_;
};

}  // namespace

struct FakeServer::Services {
  State state;
  BlobService blobs{state};
  JobService jobs{state};
  ResultService results{state};
  CapabilityService capabilities{state};
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

FakeServer::FakeServer() : services_(std::make_unique<Services>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &services_->port);
  builder.RegisterService(&services_->blobs);
  builder.RegisterService(&services_->jobs);
  builder.RegisterService(&services_->results);
  builder.RegisterService(&services_->capabilities);
  services_->server = builder.BuildAndStart();
}

FakeServer::~FakeServer() { Stop(); }

void FakeServer::Stop() {
  if (services_->server) services_->server->Shutdown(std::chrono::system_clock::now());
  services_->server.reset();
}

std::string FakeServer::address() const { return "127.0.0.1:" + std::to_string(services_->port); }

std::shared_ptr<Connection> FakeServer::Connect() {
  ConnectionOptions options;
  options.endpoint = {address(), "the test", false, {}};
  options.retry_window = std::chrono::milliseconds(2000);
  auto connection = Connection::Open(std::move(options));
  return connection.ok() ? *connection : nullptr;
}

FakeServer::State& FakeServer::state() { return services_->state; }

}  // namespace helx::client
