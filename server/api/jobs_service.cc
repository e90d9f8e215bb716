#include "server/api/jobs_service.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"
#include "server/api/pumped_stream.h"
#include "server/scheduler/log_reader.h"

namespace helx::server {
namespace {

constexpr int kEventsAhead = 16;  // read from the store at a time

// The events of a job, from the store.
class WatchStream : public PumpedStream<v1::JobEvent> {
 public:
  WatchStream(Scheduler* scheduler, const JobReader* reader, Caller caller, std::string id,
              int64_t from)
      : scheduler_(scheduler),
        reader_(reader),
        caller_(std::move(caller)),
        id_(std::move(id)),
        next_(std::max<int64_t>(from, 1)) {}

 private:
  absl::StatusOr<Step> Next(v1::JobEvent* event) override {
    if (ended_) return Step::kFinish;
    if (ahead_.empty()) {
      HELX_ASSIGN_OR_RETURN(auto events, reader_->Events(caller_, id_, next_, kEventsAhead));
      ahead_.assign(std::make_move_iterator(events.begin()),
                    std::make_move_iterator(events.end()));
      next_ += static_cast<int64_t>(ahead_.size());
    }
    if (ahead_.empty()) return NextOfNone();
    *event = std::move(ahead_.front());
    ahead_.pop_front();
    ended_ = event->job().finished();
    return Step::kWrite;
  }

  // With no event to send: a job that has ended before `from_event` ends the stream; a server that
  // stops says so.
  absl::StatusOr<Step> NextOfNone() {
    HELX_ASSIGN_OR_RETURN(const v1::Job job, reader_->Get(caller_, id_));
    if (job.finished() && next_ > job.last_event()) return Step::kFinish;
    if (scheduler_->stopped()) {
      return absl::UnavailableError("the server is shutting down; watch again from event " +
                                    std::to_string(next_));
    }
    return Step::kWait;
  }

  Scheduler* const scheduler_;
  const JobReader* const reader_;
  const Caller caller_;
  const std::string id_;
  int64_t next_;
  std::deque<v1::JobEvent> ahead_;
  bool ended_ = false;
};

// What a job prints, as it does.
class LogStream : public PumpedStream<v1::LogPiece> {
 public:
  LogStream(Scheduler* scheduler, const JobReader* reader, BlobStore* blobs, Caller caller,
            std::string id, const v1::ReadLogRequest& request)
      : scheduler_(scheduler),
        log_(scheduler, reader, blobs),
        caller_(std::move(caller)),
        id_(std::move(id)),
        next_(request.from()),
        follow_(request.follow()) {}

 private:
  absl::StatusOr<Step> Next(v1::LogPiece* piece) override {
    bool ended = false;
    HELX_ASSIGN_OR_RETURN(auto found, log_.Next(caller_, id_, next_, &ended));
    if (found.has_value()) {
      *piece = *std::move(found);
      next_ = piece->next();
      return Step::kWrite;
    }
    if (ended || !follow_) return Step::kFinish;
    if (scheduler_->stopped()) {
      return absl::UnavailableError("the server is shutting down; read again from attempt " +
                                    std::to_string(next_.attempt()) + ", offset " +
                                    std::to_string(next_.offset()));
    }
    return Step::kWait;
  }

  Scheduler* const scheduler_;
  LogReader log_;
  const Caller caller_;
  const std::string id_;
  v1::LogPosition next_;
  const bool follow_;
};

// How a stream hears of a job's changes.
template <typename Stream>
typename Stream::Subscribe ChangesOf(Scheduler* scheduler, Caller caller, std::string id,
                                     bool logs) {
  return [=](std::function<void()> changed) {
    const uint64_t watch = scheduler->Watch(caller, id, std::move(changed), logs);
    return [=] { scheduler->Unwatch(watch); };
  };
}

grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const absl::Status& why) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(why));
  return reactor;
}

Scheduler::JobDone Answer(grpc::ServerUnaryReactor* reactor, v1::Job* response) {
  return [reactor, response](absl::StatusOr<v1::Job> job) {
    if (job.ok()) *response = *std::move(job);
    reactor->Finish(ToGrpcStatus(job.status()));
  };
}

}  // namespace

grpc::ServerUnaryReactor* JobsService::Submit(grpc::CallbackServerContext* context,
                                              const v1::SubmitJobRequest* request,
                                              v1::Job* response) {
  const auto caller = CallerFor(*context, request->instance());
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* reactor = context->DefaultReactor();
  scheduler_->Submit(*caller, *request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::Get(grpc::CallbackServerContext* context,
                                           const v1::GetJobRequest* request, v1::Job* response) {
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return Refuse(context, id.status());
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) return Refuse(context, caller.status());
  const auto job = reader_->Get(*caller, *id);
  if (job.ok()) {
    *response = *job;
    scheduler_->FillQueueState(response);
  }
  return Refuse(context, job.status());
}

grpc::ServerUnaryReactor* JobsService::List(grpc::CallbackServerContext* context,
                                            const v1::ListJobsRequest* request,
                                            v1::ListJobsResponse* response) {
  const auto caller = CallerFor(*context, request->instance());
  if (!caller.ok()) return Refuse(context, caller.status());
  auto jobs = reader_->List(*caller, *request);
  if (jobs.ok()) {
    *response = *std::move(jobs);
    for (v1::Job& job : *response->mutable_jobs()) scheduler_->FillQueueState(&job);
  }
  return Refuse(context, jobs.status());
}

grpc::ServerWriteReactor<v1::JobEvent>* JobsService::Watch(grpc::CallbackServerContext* context,
                                                           const v1::WatchJobRequest* request) {
  using Refused = RefusedStream<v1::JobEvent>;
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) return new Refused(caller.status());
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return new Refused(id.status());
  if (request->from_event() < 0) {
    return new Refused(InvalidArgument("from_event is negative; events are counted from 1"));
  }
  auto stream =
      std::make_shared<WatchStream>(scheduler_, reader_, *caller, *id, request->from_event());
  stream->Start(ChangesOf<WatchStream>(scheduler_, *caller, *id, false));
  return stream.get();
}

grpc::ServerWriteReactor<v1::LogPiece>* JobsService::ReadLog(grpc::CallbackServerContext* context,
                                                             const v1::ReadLogRequest* request) {
  using Refused = RefusedStream<v1::LogPiece>;
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) return new Refused(caller.status());
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return new Refused(id.status());
  auto stream =
      std::make_shared<LogStream>(scheduler_, reader_, blobs_, *caller, *id, *request);
  stream->Start(ChangesOf<LogStream>(scheduler_, *caller, *id, true));
  return stream.get();
}

grpc::ServerUnaryReactor* JobsService::Resubmit(grpc::CallbackServerContext* context,
                                                const v1::ResubmitJobRequest* request,
                                                v1::Job* response) {
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* reactor = context->DefaultReactor();
  scheduler_->Resubmit(*caller, *request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::Cancel(grpc::CallbackServerContext* context,
                                              const v1::CancelJobRequest* request,
                                              v1::Job* response) {
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return Refuse(context, id.status());
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* reactor = context->DefaultReactor();
  scheduler_->Cancel(*caller, *id, Answer(reactor, response));
  return reactor;
}

}  // namespace helx::server
