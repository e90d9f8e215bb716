#include "server/api/store_service.h"

#include <memory>
#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"
#include "server/api/pumped_stream.h"
#include "server/store/store.h"

namespace helx::server {
namespace {

constexpr int64_t kScrubRateMost = int64_t{1} << 40;

// How far an operation is, as fast as the reader takes it; then how it ended.
class OperationStream : public PumpedStream<v1::StoreOperation> {
 public:
  explicit OperationStream(std::shared_ptr<Operation> operation)
      : operation_(std::move(operation)) {}

 private:
  absl::StatusOr<Step> Next(v1::StoreOperation* message) override {
    if (sent_last_) return Step::kFinish;
    const Operation::View view = operation_->Look();
    if (view.ended && !view.status.ok()) return view.status;
    if (!view.ended && view.changes == sent_changes_) return Step::kWait;
    sent_changes_ = view.changes;
    sent_last_ = view.ended;
    *message = view.state;
    return Step::kWrite;
  }

  const std::shared_ptr<Operation> operation_;
  uint64_t sent_changes_ = UINT64_MAX;
  bool sent_last_ = false;
};

grpc::ServerWriteReactor<v1::StoreOperation>* Follow(
    absl::StatusOr<std::shared_ptr<Operation>> started) {
  if (!started.ok()) return new RefusedStream<v1::StoreOperation>(started.status());
  auto stream = std::make_shared<OperationStream>(*started);
  stream->Start([operation = *started](std::function<void()> changed) -> std::function<void()> {
    const uint64_t watch = operation->Watch(std::move(changed));
    return [operation, watch] { operation->Unwatch(watch); };
  });
  return stream.get();
}

// Finds the caller, then lets `work` answer on the executor.
template <typename Response, typename Work>
grpc::ServerUnaryReactor* AnsweredLater(grpc::CallbackServerContext* context, Executor* executor,
                                        Response* response, Work work) {
  auto* reactor = context->DefaultReactor();
  const auto caller = CallerFor(*context, "");
  if (!caller.ok()) {
    reactor->Finish(ToGrpcStatus(caller.status()));
    return reactor;
  }
  executor->Post([reactor, response, caller = *caller, work = std::move(work)] {
    absl::StatusOr<Response> answer = work(caller);
    if (answer.ok()) *response = *std::move(answer);
    reactor->Finish(ToGrpcStatus(answer.status()));
  });
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* StoreService::GetStatus(grpc::CallbackServerContext* context,
                                                  const v1::GetStoreStatusRequest*,
                                                  v1::StoreStatus* response) {
  return AnsweredLater(
      context, executor_, response,
      [this](const Caller& caller) -> absl::StatusOr<v1::StoreStatus> {
        v1::StoreStatus status;
        const BlobUsage usage = store_->UsageOf(caller.instance);
        status.set_blobs(usage.blobs);
        status.set_bytes(usage.bytes);
        status.set_quota_bytes(scheduler_->QuotaOf(caller.instance));
        const RetentionPolicy& retention = maintenance_->retention();
        status.mutable_policy()->set_max_age_seconds(retention.max_age_seconds);
        status.mutable_policy()->set_max_bytes(retention.max_bytes);
        status.mutable_policy()->set_keep_last(retention.keep_last);
        status.mutable_policy()->set_unused_keep_seconds(maintenance_->unused_keep_seconds());
        status.set_schema_version(kSchemaVersion);
        const absl::Status health = store_->health();
        status.set_writable(health.ok());
        if (!health.ok()) status.set_unwritable_reason(MessageOf(health));
        for (v1::StoreOperation& operation : maintenance_->Last()) {
          // What it found may be of other instances.
          if (!caller.is_operator) operation.clear_problems();
          *status.add_operations() = std::move(operation);
        }
        return status;
      });
}

grpc::ServerWriteReactor<v1::StoreOperation>* StoreService::Check(grpc::CallbackServerContext*,
                                                                  const v1::CheckStoreRequest*) {
  return Follow(maintenance_->Check());
}

grpc::ServerWriteReactor<v1::StoreOperation>* StoreService::Scrub(
    grpc::CallbackServerContext*, const v1::ScrubStoreRequest* request) {
  const int64_t rate = request->bytes_per_second();
  if (rate < 0 || rate > kScrubRateMost) {
    return new RefusedStream<v1::StoreOperation>(
        InvalidArgument("bytes_per_second is " + std::to_string(rate) +
                        "; allowed are 0 (as fast as it goes) to 2^40"));
  }
  return Follow(maintenance_->Scrub(rate));
}

grpc::ServerWriteReactor<v1::StoreOperation>* StoreService::CollectGarbage(
    grpc::CallbackServerContext*, const v1::CollectGarbageRequest* request) {
  return Follow(maintenance_->Collect({request->dry_run(), request->rewrite()}));
}

grpc::ServerWriteReactor<v1::StoreOperation>* StoreService::Backup(grpc::CallbackServerContext*,
                                                                   const v1::BackupStoreRequest*) {
  return Follow(maintenance_->Backup());
}

grpc::ServerUnaryReactor* StoreService::CancelOperation(grpc::CallbackServerContext* context,
                                                        const v1::CancelStoreOperationRequest*,
                                                        v1::StoreOperation* response) {
  return AnsweredLater(context, executor_, response,
                       [this](const Caller& caller) { return maintenance_->Cancel(caller.user); });
}

grpc::ServerUnaryReactor* StoreService::Pin(grpc::CallbackServerContext* context,
                                            const v1::PinRequest* request,
                                            v1::PinnedResult* response) {
  return AnsweredLater(context, executor_, response, [this, request](const Caller& caller) {
    return maintenance_->pins().Pin(caller, *request);
  });
}

grpc::ServerUnaryReactor* StoreService::Unpin(grpc::CallbackServerContext* context,
                                              const v1::UnpinRequest* request,
                                              v1::UnpinResponse* response) {
  return AnsweredLater(context, executor_, response,
                       [this, request](const Caller& caller) -> absl::StatusOr<v1::UnpinResponse> {
                         HELX_RETURN_IF_ERROR(maintenance_->pins().Unpin(caller, *request));
                         return v1::UnpinResponse();
                       });
}

grpc::ServerUnaryReactor* StoreService::ListPins(grpc::CallbackServerContext* context,
                                                 const v1::ListPinsRequest*,
                                                 v1::ListPinsResponse* response) {
  return AnsweredLater(context, executor_, response,
                       [this](const Caller& caller) -> absl::StatusOr<v1::ListPinsResponse> {
                         HELX_ASSIGN_OR_RETURN(const auto pins,
                                               maintenance_->pins().List(caller.instance));
                         v1::ListPinsResponse answer;
                         for (const v1::PinnedResult& pin : pins) *answer.add_pins() = pin;
                         return answer;
                       });
}

}  // namespace helx::server
