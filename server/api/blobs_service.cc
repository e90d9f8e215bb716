#include "server/api/blobs_service.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/sha256.h"
#include "server/api/caller.h"
#include "server/api/grpc_status.h"
#include "server/api/resource_name.h"
#include "server/scheduler/timestamps.h"

namespace helx::server {
namespace {

constexpr int kDigestsLimit = 10'000;
constexpr size_t kPieceBytes = 1 << 20;  // most data of one WriteRequest

// Sends a blob chunk by chunk. The digest of a blob that is read whole is checked at its end.
class ReadReactor : public grpc::ServerWriteReactor<v1::ReadResponse> {
 public:
  ReadReactor(const grpc::ServerContextBase& context, Scheduler* scheduler, BlobStore* blobs,
              const v1::ReadRequest& request)
      : blobs_(blobs) {
    const absl::Status status = Open(context, scheduler, request);
    if (status.ok()) {
      SendNext();
    } else {
      Finish(ToGrpcStatus(status));
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    SendNext();
  }
  void OnDone() override { delete this; }

 private:
  absl::Status Open(const grpc::ServerContextBase& context, Scheduler* scheduler,
                    const v1::ReadRequest& request) {
    HELX_ASSIGN_OR_RETURN(name_, ParseBlobName(request.resource_name()));
    HELX_ASSIGN_OR_RETURN(const Caller caller, BlobCallerFor(context, name_.instance, scheduler));
    name_.instance = caller.instance;
    if (request.read_limit() < 0) return InvalidArgument("read_limit is negative");
    if (request.read_offset() < 0 || request.read_offset() > name_.digest.size_bytes) {
      return absl::OutOfRangeError("read_offset is " + std::to_string(request.read_offset()) +
                                   "; the blob has " + std::to_string(name_.digest.size_bytes) +
                                   " bytes");
    }
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(name_.instance, name_.digest));
    if (!stored) return NotFound("blob " + name_.digest.ToString() + " is not stored");
    at_ = request.read_offset();
    end_ = name_.digest.size_bytes;
    if (request.read_limit() > 0) end_ = std::min(end_, at_ + request.read_limit());
    whole_ = at_ == 0 && end_ == name_.digest.size_bytes;
    return absl::OkStatus();
  }

  void SendNext() {
    if (at_ >= end_) {
      if (whole_ && hash_.FinishHex() != name_.digest.hash) {
        return Damaged(DataLoss("blob " + name_.digest.ToString() +
                                " is damaged: its bytes have another digest"));
      }
      return Finish(grpc::Status::OK);
    }
    auto chunk = blobs_->ReadChunk(name_.instance, name_.digest,
                                   static_cast<uint32_t>(at_ / kBlobChunkBytes));
    if (!chunk.ok()) return Damaged(chunk.status());
    const int64_t skip = at_ % kBlobChunkBytes;
    const int64_t take = std::min(static_cast<int64_t>(chunk->size()) - skip, end_ - at_);
    if (skip == 0 && take == static_cast<int64_t>(chunk->size())) {
      response_.set_data(*std::move(chunk));
    } else {
      response_.set_data(chunk->substr(static_cast<size_t>(skip), static_cast<size_t>(take)));
    }
    if (whole_) hash_.Update(std::string_view(response_.data()));
    at_ += take;
    StartWrite(&response_);
  }

  void Damaged(const absl::Status& status) {
    if (absl::IsDataLoss(status)) blobs_->Discard(name_.instance, name_.digest);
    Finish(ToGrpcStatus(status));
  }

  BlobStore* const blobs_;
  BlobName name_;
  int64_t at_ = 0;
  int64_t end_ = 0;
  bool whole_ = false;
  Sha256 hash_;
  v1::ReadResponse response_;
};

// Receives an upload. Reads are strictly one after the other, and none is under way while the end
// is being stored.
class WriteReactor : public grpc::ServerReadReactor<v1::WriteRequest> {
 public:
  WriteReactor(const grpc::ServerContextBase& context, Scheduler* scheduler, Store* store,
               BlobStore* blobs, Uploads* uploads, v1::WriteResponse* response)
      : context_(context),
        scheduler_(scheduler),
        store_(store),
        blobs_(blobs),
        uploads_(uploads),
        response_(response) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // The client stopped; what came is kept for QueryWriteStatus.
      if (!opened_) return Finish(ToGrpcStatus(InvalidArgument("an upload without a message")));
      response_->set_committed_size(upload_ != nullptr ? upload_->received() : 0);
      return Finish(grpc::Status::OK);
    }
    const absl::Status status = Take();
    if (!status.ok()) Finish(ToGrpcStatus(status));
  }
  void OnDone() override { delete this; }

 private:
  // Handles one message: goes on reading, or ends the call, or fails.
  absl::Status Take() {
    if (request_.data().size() > kPieceBytes) {
      return InvalidArgument("a message holds " + std::to_string(request_.data().size()) +
                             " bytes of data; at most 1048576 are allowed");
    }
    if (!opened_) {
      HELX_ASSIGN_OR_RETURN(const bool ended, Open());
      if (ended) return absl::OkStatus();
    } else if (!request_.resource_name().empty() && request_.resource_name() != resource_name_) {
      return InvalidArgument("resource_name changed within one upload");
    }
    if (upload_ == nullptr) return absl::OkStatus();
    HELX_RETURN_IF_ERROR(upload_->Append(request_.write_offset(), request_.data()));
    if (!request_.finish_write()) {
      StartRead(&request_);
      return absl::OkStatus();
    }
    if (upload_->received() != name_.digest.size_bytes) {
      return InvalidArgument("finish_write after " + std::to_string(upload_->received()) + " of " +
                             std::to_string(name_.digest.size_bytes) + " bytes");
    }
    uploads_->Finish(upload_, [this](const absl::Status& stored) { End(stored); });
    return absl::OkStatus();
  }

  // True when the first message has decided the call.
  absl::StatusOr<bool> Open() {
    HELX_ASSIGN_OR_RETURN(name_, ParseUploadName(request_.resource_name()));
    HELX_ASSIGN_OR_RETURN(const Caller caller, BlobCallerFor(context_, name_.instance, scheduler_));
    name_.instance = caller.instance;
    opened_ = true;
    resource_name_ = request_.resource_name();
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(name_.instance, name_.digest));
    if (stored) {
      End(absl::OkStatus());
      return true;
    }
    if (name_.digest.size_bytes == 0) {
      return InvalidArgument("the empty blob has the SHA-256 " + DigestOf(std::string_view()).hash);
    }
    HELX_RETURN_IF_ERROR(store_->health());
    if (!IsWorkerCall(context_)) {
      HELX_RETURN_IF_ERROR(scheduler_->CheckQuota(name_.instance, name_.digest.size_bytes));
    }
    const bool whole = request_.finish_write() && request_.write_offset() == 0 &&
                       static_cast<int64_t>(request_.data().size()) == name_.digest.size_bytes;
    if (whole) {
      uploads_->PutWhole(name_, std::move(*request_.mutable_data()),
                         [this](const absl::Status& put) { End(put); });
      return true;
    }
    HELX_ASSIGN_OR_RETURN(upload_, uploads_->Open(name_));
    return false;
  }

  void End(const absl::Status& status) {
    if (status.ok()) response_->set_committed_size(name_.digest.size_bytes);
    Finish(ToGrpcStatus(status));
  }

  const grpc::ServerContextBase& context_;  // outlives the call
  Scheduler* const scheduler_;
  Store* const store_;
  BlobStore* const blobs_;
  Uploads* const uploads_;
  v1::WriteResponse* const response_;
  v1::WriteRequest request_;
  bool opened_ = false;
  std::string resource_name_;
  UploadName name_;
  std::shared_ptr<Upload> upload_;
};

}  // namespace

grpc::ServerWriteReactor<v1::ReadResponse>* BlobsService::Read(grpc::CallbackServerContext* context,
                                                               const v1::ReadRequest* request) {
  return new ReadReactor(*context, scheduler_, blobs_, *request);
}

grpc::ServerReadReactor<v1::WriteRequest>* BlobsService::Write(grpc::CallbackServerContext* context,
                                                               v1::WriteResponse* response) {
  return new WriteReactor(*context, scheduler_, store_, blobs_, uploads_, response);
}

grpc::ServerUnaryReactor* BlobsService::QueryWriteStatus(grpc::CallbackServerContext* context,
                                                         const v1::QueryWriteStatusRequest* request,
                                                         v1::QueryWriteStatusResponse* response) {
  auto* reactor = context->DefaultReactor();
  const auto answer = [&]() -> absl::Status {
    HELX_ASSIGN_OR_RETURN(UploadName name, ParseUploadName(request->resource_name()));
    HELX_ASSIGN_OR_RETURN(const Caller caller, BlobCallerFor(*context, name.instance, scheduler_));
    name.instance = caller.instance;
    HELX_ASSIGN_OR_RETURN(const bool stored, blobs_->Has(name.instance, name.digest));
    response->set_complete(stored);
    if (stored) {
      response->set_committed_size(name.digest.size_bytes);
      return absl::OkStatus();
    }
    HELX_ASSIGN_OR_RETURN(const int64_t received, uploads_->Received(name));
    response->set_committed_size(received);
    return absl::OkStatus();
  };
  reactor->Finish(ToGrpcStatus(answer()));
  return reactor;
}

grpc::ServerUnaryReactor* BlobsService::FindMissing(grpc::CallbackServerContext* context,
                                                    const v1::FindMissingRequest* request,
                                                    v1::FindMissingResponse* response) {
  auto* reactor = context->DefaultReactor();
  const auto caller = BlobCallerFor(*context, request->instance(), scheduler_);
  absl::Status refused = caller.status();
  if (refused.ok() && request->digests_size() > kDigestsLimit) {
    refused = InvalidArgument("the request has " + std::to_string(request->digests_size()) +
                              " digests; at most 10000 are allowed");
  }
  for (const v1::Digest& digest : request->digests()) {
    if (refused.ok()) refused = CheckDigest(FromProto(digest));
  }
  if (!refused.ok()) {
    reactor->Finish(ToGrpcStatus(refused));
    return reactor;
  }
  // Ten thousand look-ups may touch the disk.
  executor_->Post([this, reactor, request, response, instance = caller->instance] {
    absl::Status status;
    for (const v1::Digest& digest : request->digests()) {
      const auto stored = blobs_->Has(instance, FromProto(digest));
      status = stored.status();
      if (!status.ok()) break;
      if (!*stored) *response->add_missing() = digest;
    }
    reactor->Finish(ToGrpcStatus(status));
  });
  return reactor;
}

}  // namespace helx::server
