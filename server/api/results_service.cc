#include "server/api/results_service.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/bundle/export.h"
#include "core/bundle/observations.h"
#include "server/api/caller.h"
#include "server/api/grpc_status.h"
#include "server/api/stored_bundle.h"

namespace helx::server {
namespace {

constexpr size_t kTextPieceBytes = 256 << 10;

// Sends a text in pieces once it is known; deletes itself.
class TextReactor : public grpc::ServerWriteReactor<v1::TextPiece> {
 public:
  // Call once, from any thread.
  void Answer(absl::StatusOr<std::string> text) {
    if (!text.ok()) return Finish(ToGrpcStatus(text.status()));
    text_ = *std::move(text);
    WriteNext();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(ToGrpcStatus(absl::CancelledError("the caller went away")));
    WriteNext();
  }
  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    if (at_ == text_.size()) return Finish(grpc::Status::OK);
    const size_t count = std::min(kTextPieceBytes, text_.size() - at_);
    piece_.set_data(text_.substr(at_, count));
    at_ += count;
    StartWrite(&piece_);
  }

  std::string text_;
  size_t at_ = 0;
  v1::TextPiece piece_;
};

}  // namespace

grpc::ServerUnaryReactor* ResultsService::Get(grpc::CallbackServerContext* context,
                                              const v1::GetResultRequest* request,
                                              v1::Result* response) {
  auto* reactor = context->DefaultReactor();
  const auto answer = [&]() -> absl::Status {
    HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(*context, request->instance()));
    HELX_ASSIGN_OR_RETURN(*response, reader_->GetResult(caller, *request));
    return absl::OkStatus();
  };
  reactor->Finish(ToGrpcStatus(answer()));
  return reactor;
}

grpc::ServerUnaryReactor* ResultsService::List(grpc::CallbackServerContext* context,
                                               const v1::ListResultsRequest* request,
                                               v1::ListResultsResponse* response) {
  auto* reactor = context->DefaultReactor();
  const auto answer = [&]() -> absl::Status {
    HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(*context, request->instance()));
    HELX_ASSIGN_OR_RETURN(*response, reader_->ListResults(caller, *request));
    return absl::OkStatus();
  };
  reactor->Finish(ToGrpcStatus(answer()));
  return reactor;
}

absl::StatusOr<LoadedBundle> ResultsService::Load(const grpc::ServerContextBase& context,
                                                  const v1::GetResultRequest& request) const {
  HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(context, request.instance()));
  HELX_ASSIGN_OR_RETURN(const v1::Result result, reader_->GetResult(caller, request));
  auto bundle = LoadStoredBundle(caller.instance, result, blobs_);
  if (absl::IsDataLoss(bundle.status())) verified_("refused");
  return bundle;
}

grpc::ServerUnaryReactor* ResultsService::Verify(grpc::CallbackServerContext* context,
                                                 const v1::VerifyRequest* request,
                                                 v1::VerifyResponse* response) {
  auto* reactor = context->DefaultReactor();
  executor_->Post([this, context, reactor, request, response] {
    const auto answer = [&]() -> absl::Status {
      HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, Load(*context, request->result()));
      HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(*context, request->result().instance()));
      HELX_ASSIGN_OR_RETURN(*response, VerifyLoaded(caller.instance, bundle, *request, blobs_));
      verified_(response->assessment() == v1::MATCH      ? "match"
                : response->assessment() == v1::MISMATCH ? "mismatch"
                                                         : "not_compared");
      return absl::OkStatus();
    };
    reactor->Finish(ToGrpcStatus(answer()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* ResultsService::GetInputIdentity(
    grpc::CallbackServerContext* context, const v1::GetInputIdentityRequest* request,
    v1::InputIdentity* response) {
  auto* reactor = context->DefaultReactor();
  executor_->Post([this, context, reactor, request, response] {
    const auto answer = [&]() -> absl::Status {
      HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, Load(*context, request->result()));
      HELX_ASSIGN_OR_RETURN(const InputIdentity identity, BundleInputIdentity(bundle));
      response->set_value(identity.value.value_or(""));
      response->set_canonical_json(identity.canonical_json.value_or(""));
      response->set_unavailable_reason(identity.unavailable_reason);
      response->set_sequence_value(identity.sequence_value.value_or(""));
      response->set_sequence_canonical_json(identity.sequence_canonical_json.value_or(""));
      return absl::OkStatus();
    };
    reactor->Finish(ToGrpcStatus(answer()));
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::TextPiece>* ResultsService::Observe(
    grpc::CallbackServerContext* context, const v1::ObserveRequest* request) {
  auto* reactor = new TextReactor;
  executor_->Post([this, context, reactor, wanted = request->result()] {
    const auto answer = [&]() -> absl::StatusOr<std::string> {
      HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, Load(*context, wanted));
      HELX_ASSIGN_OR_RETURN(const Json view, Observations(bundle));
      return CanonicalJson(view);
    };
    reactor->Answer(answer());
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::TextPiece>* ResultsService::Export(grpc::CallbackServerContext* context,
                                                                const v1::ExportRequest* request) {
  auto* reactor = new TextReactor;
  executor_->Post([this, context, reactor, wanted = request->result()] {
    const auto answer = [&]() -> absl::StatusOr<std::string> {
      HELX_ASSIGN_OR_RETURN(const LoadedBundle bundle, Load(*context, wanted));
      return RenderExport(bundle);
    };
    reactor->Answer(answer());
  });
  return reactor;
}

}  // namespace helx::server
