#include "server/api/capabilities_service.h"

#include "server/api/caller.h"
#include "server/api/grpc_status.h"
#include "server/store/blob_store.h"
#include "server/version.h"

namespace helx::server {

grpc::ServerUnaryReactor* CapabilitiesService::Get(grpc::CallbackServerContext* context,
                                                   const v1::GetCapabilitiesRequest* request,
                                                   v1::ServerCapabilities* response) {
  auto* reactor = context->DefaultReactor();
  const auto caller = CallerFor(*context, request->instance());
  if (caller.ok()) {
    response->set_version(kVersion);
    response->set_commit(Commit());
    v1::Limits* limits = response->mutable_limits();
    limits->set_model_bytes(64 << 20);
    limits->set_tensor_bytes(16 << 20);
    limits->set_output_bytes(16 << 20);
    limits->set_document_bytes(1 << 20);
    limits->set_samples(1000);
    limits->set_warmups(1000);
    limits->set_run_wall_ms(run_wall_ms_);
    limits->set_log_bytes(kLogLimitBytes);
    limits->set_status_message_bytes(1024);
    limits->set_message_bytes(kMessageLimitBytes);
    limits->set_blob_bytes(kBlobLimitBytes);
    for (const char* schema : {"helx.document/v1", "helx.manifest", "helx.request/v1",
                               "helx.result/4", "helx.tensor-request/v1"}) {
      response->add_schemas(schema);
    }
    scheduler_->FillCapabilities(response);
    const auto identity = IdentityOf(*context);
    response->set_instance(caller->instance);
    response->set_user(caller->user);
    response->set_role(std::string(RoleName(identity->role)));
  }
  reactor->Finish(ToGrpcStatus(caller.status()));
  return reactor;
}

}  // namespace helx::server
