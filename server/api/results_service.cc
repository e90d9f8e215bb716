#include "server/api/results_service.h"

#include <utility>

#include "server/api/caller.h"
#include "server/api/grpc_status.h"

namespace helx::server {

grpc::ServerUnaryReactor* ResultsService::Get(grpc::CallbackServerContext* context,
                                              const v1::GetResultRequest* request,
                                              v1::Result* response) {
  auto* reactor = context->DefaultReactor();
  const auto answer = [&]() -> absl::Status {
    HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(request->instance()));
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
    HELX_ASSIGN_OR_RETURN(const Caller caller, CallerFor(request->instance()));
    HELX_ASSIGN_OR_RETURN(*response, reader_->ListResults(caller, *request));
    return absl::OkStatus();
  };
  reactor->Finish(ToGrpcStatus(answer()));
  return reactor;
}

}  // namespace helx::server
