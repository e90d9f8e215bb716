#include "worker/agent/lane.h"

#include <chrono>

#include <spdlog/spdlog.h>

namespace helx::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

// The server holds a call for at most 20 s.
constexpr seconds kPollDeadline(30);
constexpr milliseconds kRetryDelay(250);
constexpr seconds kReopenDelay(1);
constexpr milliseconds kKillDelay(100);
constexpr size_t kLogPiece = 64 << 10;

// A lease's progress stream. Losing it costs progress reports, never the action.
class Reporter {
 public:
  Reporter(v1::Worker::Stub* stub, const WorkerIdentity& identity, const v1::Lease& lease)
      : stub_(stub) {
    request_.set_worker(identity.worker);
    request_.set_session(identity.session);
    *request_.mutable_lease() = lease;
    Open();
  }
  ~Reporter() {
    if (writer_ == nullptr) return;
    context_->TryCancel();
    writer_->Finish();
  }
  void Phase(v1::JobPhase phase) {
    request_.set_phase(phase);
    Send();
  }
  void Log(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::string_view piece = bytes.substr(0, kLogPiece);
      request_.set_log(piece.data(), piece.size());
      request_.set_log_offset(log_bytes_);
      Send();
      log_bytes_ += static_cast<int64_t>(piece.size());
      bytes.remove_prefix(piece.size());
    }
  }
  // Waits until the server has read everything, so that the log is whole before the action's end is known.
  void Finish() {
    if (writer_ == nullptr) return;
    writer_->WritesDone();
    writer_->Finish();
    writer_.reset();
  }

 private:
  void Open() {
    context_ = std::make_unique<grpc::ClientContext>();
    writer_ = stub_->Report(context_.get(), &response_);
  }
  // A stream that broke is opened again, at most once a second: the server restarts, or renews the connection. What it lost
  // is counted there by its offset.
  void Send() {
    if (writer_ == nullptr && (refused_ || steady_clock::now() < open_again_)) return;
    if (writer_ == nullptr) Open();
    if (writer_->Write(request_)) return;
    refused_ = writer_->Finish().error_code() != grpc::StatusCode::UNAVAILABLE;
    writer_.reset();
    open_again_ = steady_clock::now() + kReopenDelay;
  }

  v1::Worker::Stub* const stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::ReportResponse response_;
  v1::ReportRequest request_;
  std::unique_ptr<grpc::ClientWriter<v1::ReportRequest>> writer_;  // null: broken or ended
  bool refused_ = false;                                           // the lease is another's now
  steady_clock::time_point open_again_;
  int64_t log_bytes_ = 0;
};

bool SameLease(const v1::Lease& a, const v1::Lease& b) {
  return a.action() == b.action() && a.attempt() == b.attempt();
}

}  // namespace

LaneSession::LaneSession(std::shared_ptr<grpc::Channel> channel, WorkerIdentity identity,
                         v1::Lane lane, Executor* executor)
    : stub_(v1::Worker::NewStub(channel)),
      identity_(std::move(identity)),
      lane_(lane),
      executor_(executor) {}

LaneSession::~LaneSession() {
  Stop();
  if (work_.joinable()) work_.join();
}

void LaneSession::Stop() {
  stopping_ = true;
  cancel_ = true;
  Wake();
}

void LaneSession::Wake() {
  std::lock_guard lock(mutex_);
  if (polling_) polling_->TryCancel();
}

bool LaneSession::Run() {
  while (!stopping_) {
    if (!SynchronizeOnce()) {
      cancel_ = true;
      if (work_.joinable()) work_.join();
      return false;
    }
  }
  if (work_.joinable()) work_.join();
  return true;
}

bool LaneSession::SynchronizeOnce() {
  v1::SynchronizeRequest request;
  request.set_worker(identity_.worker);
  request.set_session(identity_.session);
  request.set_lane(lane_);
  *request.mutable_catalogue() = identity_.catalogue;
  auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(system_clock::now() + kPollDeadline);
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return true;  // Stop() found no call to wake
    if (busy_) *request.mutable_executing() = lease_;
    polling_ = context;
  }
  v1::SynchronizeResponse response;
  const grpc::Status status = stub_->Synchronize(context.get(), request, &response);
  {
    std::lock_guard lock(mutex_);
    polling_.reset();
  }
  if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
    spdlog::warn("session ended by the server: {}", status.error_message());
    return false;
  }
  if (!status.ok()) {
    // CANCELLED is our own wake-up; anything else is a server that is away for now.
    if (status.error_code() != grpc::StatusCode::CANCELLED && !stopping_) {
      std::this_thread::sleep_for(kRetryDelay);
    }
    return true;
  }
  switch (response.desired_case()) {
    case v1::SynchronizeResponse::kExecute:
      Start(response.execute());
      break;
    case v1::SynchronizeResponse::kCancel:
      // Said again at once until the work has ended.
      if (cancel_.exchange(true)) std::this_thread::sleep_for(kKillDelay);
      break;
    default:
      break;
  }
  return true;
}

void LaneSession::Start(const v1::ExecuteAction& action) {
  {
    std::lock_guard lock(mutex_);
    if (busy_) {
      // The server wants another lease than the one at work: ours was given up, so it ends first.
      if (!SameLease(lease_, action.lease())) cancel_ = true;
      return;
    }
    busy_ = true;
    lease_ = action.lease();
  }
  if (work_.joinable()) work_.join();
  cancel_ = stopping_.load();
  work_ = std::thread([this, action] { Work(action); });
}

void LaneSession::Work(v1::ExecuteAction action) {
  v1::CompleteRequest completion;
  {
    Reporter reporter(stub_.get(), identity_, action.lease());
    ExecutorCallbacks callbacks;
    callbacks.cancelled = [this] { return cancel_.load(); };
    callbacks.on_phase = [&](v1::JobPhase phase) { reporter.Phase(phase); };
    callbacks.on_log = [&](std::string_view bytes) { reporter.Log(bytes); };
    completion = executor_->Execute(action, callbacks);
    if (!cancel_) reporter.Finish();
  }
  completion.set_worker(identity_.worker);
  completion.set_session(identity_.session);
  *completion.mutable_lease() = action.lease();
  Complete(std::move(completion));
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }
  Wake();
}

void LaneSession::Complete(v1::CompleteRequest request) {
  // Retried until the server answers: a result is only lost when the server gave the lease away.
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(system_clock::now() + kPollDeadline);
    v1::CompleteResponse response;
    const grpc::Status status = stub_->Complete(&context, request, &response);
    if (status.ok()) return;
    const bool transient = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                           status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
                           status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (!transient || stopping_) {
      spdlog::warn("the server did not take the end of {} attempt {}: {}",
                   request.lease().action(), request.lease().attempt(), status.error_message());
      return;
    }
    std::this_thread::sleep_for(kRetryDelay);
  }
}

}  // namespace helx::agent
