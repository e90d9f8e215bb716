#include "server/api/jobs_service.h"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"

namespace helx::server {
namespace {

constexpr int kEventsAhead = 16;  // read from the store at a time

// Two things drive it, a finished write and a change of the job; whichever finds no write in flight
// sends the next event. gRPC's functions are called without the mutex, since they may call back at
// once.
class WatchReactor : public grpc::ServerWriteReactor<v1::JobEvent>,
                     public std::enable_shared_from_this<WatchReactor> {
 public:
  WatchReactor(Scheduler* scheduler, const JobReader* reader, Caller caller, std::string id,
               int64_t from)
      : scheduler_(scheduler),
        reader_(reader),
        caller_(std::move(caller)),
        id_(std::move(id)),
        next_(std::max<int64_t>(from, 1)) {}

  void Start() {
    self_ = shared_from_this();
    watch_ = scheduler_->Watch(caller_, id_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Pump();
    });
    Pump();
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      busy_ = false;
      cancelled_ = cancelled_ || !ok;
    }
    Pump();
  }
  void OnCancel() override {
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    Pump();
  }
  void OnDone() override {
    scheduler_->Unwatch(watch_);
    self_.reset();
  }

 private:
  void Pump() {
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
      if (busy_) {
        changed_ = true;
        return;
      }
      busy_ = true;  // ours until it is given back or the write is done
    }
    while (true) {
      absl::Status end;
      switch (Next(&end)) {
        case Step::kWrite:
          return StartWrite(&event_);
        case Step::kFinish:
          return Finish(ToGrpcStatus(end));
        case Step::kWait:
          break;
      }
      std::lock_guard lock(mutex_);
      // A change between the look at the store and here would otherwise be missed.
      const bool changed = std::exchange(changed_, false) || cancelled_;
      if (!changed) {
        busy_ = false;
        return;
      }
    }
  }

  enum class Step { kWrite, kFinish, kWait };

  Step Next(absl::Status* end) {
    {
      std::lock_guard lock(mutex_);
      changed_ = false;
      if (cancelled_) *end = absl::CancelledError("the caller went away");
    }
    if (end->ok() && ended_) return End();
    if (end->ok() && ahead_.empty()) {
      auto events = reader_->Events(caller_, id_, next_, kEventsAhead);
      if (events.ok()) {
        ahead_.assign(std::make_move_iterator(events->begin()),
                      std::make_move_iterator(events->end()));
        next_ += static_cast<int64_t>(ahead_.size());
        if (ahead_.empty()) *end = WhyNothing();
      } else {
        *end = events.status();
      }
      if (end->ok() && ahead_.empty()) return ended_ ? End() : Step::kWait;
    }
    if (!end->ok()) {
      End();
      return Step::kFinish;
    }
    event_ = std::move(ahead_.front());
    ahead_.pop_front();
    ended_ = event_.job().finished();
    return Step::kWrite;
  }

  // With no event to send: a job that has ended before `from_event` ends the stream; a server that
  // stops says so.
  absl::Status WhyNothing() {
    const auto job = reader_->Get(caller_, id_);
    if (!job.ok()) return job.status();
    ended_ = job->finished() && next_ > job->last_event();
    if (!ended_ && scheduler_->stopped()) {
      return absl::UnavailableError("the server is shutting down; watch again from event " +
                                    std::to_string(next_));
    }
    return absl::OkStatus();
  }

  Step End() {
    std::lock_guard lock(mutex_);
    finished_ = true;
    return Step::kFinish;
  }

  Scheduler* const scheduler_;
  const JobReader* const reader_;
  const Caller caller_;
  const std::string id_;
  uint64_t watch_ = 0;
  std::shared_ptr<WatchReactor> self_;  // until OnDone

  // Touched only by whoever set busy_.
  int64_t next_;
  std::deque<v1::JobEvent> ahead_;
  v1::JobEvent event_;
  bool ended_ = false;

  std::mutex mutex_;
  bool busy_ = false;
  bool changed_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
};

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

// A stream that is refused at once.
class RefusedWatch : public grpc::ServerWriteReactor<v1::JobEvent> {
 public:
  explicit RefusedWatch(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerUnaryReactor* JobsService::Submit(grpc::CallbackServerContext* context,
                                              const v1::SubmitJobRequest* request,
                                              v1::Job* response) {
  const auto caller = CallerFor(request->instance());
  if (!caller.ok()) return Refuse(context, caller.status());
  auto* reactor = context->DefaultReactor();
  scheduler_->Submit(*caller, *request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::Get(grpc::CallbackServerContext* context,
                                           const v1::GetJobRequest* request, v1::Job* response) {
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return Refuse(context, id.status());
  const auto job = reader_->Get(*CallerFor(""), *id);
  if (job.ok()) {
    *response = *job;
    scheduler_->FillQueueState(response);
  }
  return Refuse(context, job.status());
}

grpc::ServerUnaryReactor* JobsService::List(grpc::CallbackServerContext* context,
                                            const v1::ListJobsRequest* request,
                                            v1::ListJobsResponse* response) {
  const auto caller = CallerFor(request->instance());
  if (!caller.ok()) return Refuse(context, caller.status());
  auto jobs = reader_->List(*caller, *request);
  if (jobs.ok()) {
    *response = *std::move(jobs);
    for (v1::Job& job : *response->mutable_jobs()) scheduler_->FillQueueState(&job);
  }
  return Refuse(context, jobs.status());
}

grpc::ServerWriteReactor<v1::JobEvent>* JobsService::Watch(grpc::CallbackServerContext*,
                                                           const v1::WatchJobRequest* request) {
  const Caller caller = *CallerFor("");
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return new RefusedWatch(id.status());
  if (request->from_event() < 0) {
    return new RefusedWatch(InvalidArgument("from_event is negative; events are counted from 1"));
  }
  auto reactor =
      std::make_shared<WatchReactor>(scheduler_, reader_, caller, *id, request->from_event());
  reactor->Start();
  return reactor.get();
}

grpc::ServerUnaryReactor* JobsService::Cancel(grpc::CallbackServerContext* context,
                                              const v1::CancelJobRequest* request,
                                              v1::Job* response) {
  const auto id = JobIdOf(request->name());
  if (!id.ok()) return Refuse(context, id.status());
  auto* reactor = context->DefaultReactor();
  scheduler_->Cancel(*CallerFor(""), *id, Answer(reactor, response));
  return reactor;
}

}  // namespace helx::server
