// A server stream whose messages come from a look at the state of things, repeated whenever it changed.
#ifndef HELX_SERVER_API_PUMPED_STREAM_H_
#define HELX_SERVER_API_PUMPED_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/status.h"
#include "server/api/grpc_status.h"

namespace helx::server {

// Two things drive it, a finished write and a change; whichever finds no write in flight sends the next
// message. One message is in flight at most, so a slow reader costs neither memory nor anyone else's
// time. gRPC's functions are called without the mutex, since they may call back at once.
template <typename Message>
class PumpedStream : public grpc::ServerWriteReactor<Message>,
                     public std::enable_shared_from_this<PumpedStream<Message>> {
 public:
  // `subscribe` is given what to call after each change, and answers how to end that.
  using Subscribe = std::function<std::function<void()>(std::function<void()> changed)>;
  void Start(const Subscribe& subscribe) {
    self_ = this->shared_from_this();
    unsubscribe_ = subscribe([weak = this->weak_from_this()] {
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
    unsubscribe_();
    self_.reset();
  }

 protected:
  enum class Step { kWrite, kFinish, kWait };
  // Fills `message` (kWrite), ends the stream (kFinish, or an error), or finds nothing to send. Never
  // called while a message is in flight, nor twice at a time.
  virtual absl::StatusOr<Step> Next(Message* message) = 0;

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
      absl::StatusOr<Step> step = Step::kFinish;
      {
        std::lock_guard lock(mutex_);
        changed_ = false;
        if (cancelled_) step = absl::CancelledError("the caller went away");
      }
      if (step.ok()) step = Next(&message_);
      if (step.ok() && *step == Step::kWrite) return this->StartWrite(&message_);
      if (!step.ok() || *step == Step::kFinish) {
        {
          std::lock_guard lock(mutex_);
          finished_ = true;
        }
        return this->Finish(ToGrpcStatus(step.status()));
      }
      std::lock_guard lock(mutex_);
      // A change between the look and here would otherwise be missed.
      if (!changed_ && !cancelled_) {
        busy_ = false;
        return;
      }
    }
  }

  std::function<void()> unsubscribe_;
  std::shared_ptr<PumpedStream> self_;  // until OnDone
  Message message_;                     // touched only by whoever set busy_

  std::mutex mutex_;
  bool busy_ = false;
  bool changed_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
};

// A stream that is refused at once.
template <typename Message>
class RefusedStream : public grpc::ServerWriteReactor<Message> {
 public:
  explicit RefusedStream(const absl::Status& why) { this->Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_PUMPED_STREAM_H_
