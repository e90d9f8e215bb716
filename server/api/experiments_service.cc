#include "server/api/experiments_service.h"

#include <memory>
#include <mutex>
#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"

namespace helx::server {
namespace {

// Holds itself until the call is done; the scheduler's callback holds it too.
class FreezeReactor : public grpc::ServerUnaryReactor,
                      public std::enable_shared_from_this<FreezeReactor> {
 public:
  FreezeReactor(Scheduler* scheduler, v1::FreezeResponse* response)
      : scheduler_(scheduler), response_(response) {}

  void Start(const Caller& caller, const std::string& document) {
    self_ = shared_from_this();
    auto waiter = scheduler_->Freeze(caller, document,
                                     [self = self_](absl::StatusOr<v1::FreezeResponse> answer) {
                                       self->End(std::move(answer));
                                     });
    std::unique_lock lock(mutex_);
    if (!ended_) {
      waiter_ = std::move(waiter);
    } else if (cancelled_) {
      lock.unlock();
      scheduler_->AbandonFreeze(waiter);
    }
  }

  void OnCancel() override {
    std::shared_ptr<FreezeWaiter> waiter;
    {
      std::lock_guard lock(mutex_);
      cancelled_ = true;
      waiter = std::exchange(waiter_, nullptr);
    }
    if (waiter != nullptr) scheduler_->AbandonFreeze(waiter);
    End(absl::CancelledError("the caller went away"));
  }
  void OnDone() override { self_.reset(); }

 private:
  void End(absl::StatusOr<v1::FreezeResponse> answer) {
    {
      std::lock_guard lock(mutex_);
      if (std::exchange(ended_, true)) return;
      waiter_.reset();
    }
    if (answer.ok()) *response_ = *std::move(answer);
    Finish(ToGrpcStatus(answer.status()));
  }

  Scheduler* const scheduler_;
  v1::FreezeResponse* const response_;  // valid until Finish
  std::shared_ptr<FreezeReactor> self_;
  std::mutex mutex_;
  bool ended_ = false;
  bool cancelled_ = false;
  std::shared_ptr<FreezeWaiter> waiter_;
};

}  // namespace

grpc::ServerUnaryReactor* ExperimentsService::Freeze(grpc::CallbackServerContext* context,
                                                     const v1::FreezeRequest* request,
                                                     v1::FreezeResponse* response) {
  const auto caller = CallerFor(*context, request->instance());
  if (!caller.ok()) {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(caller.status()));
    return reactor;
  }
  auto reactor = std::make_shared<FreezeReactor>(scheduler_, response);
  reactor->Start(*caller, request->document());
  return reactor.get();
}

}  // namespace helx::server
