#ifndef HELX_SERVER_API_RESULTS_SERVICE_H_
#define HELX_SERVER_API_RESULTS_SERVICE_H_

#include <functional>
#include <string_view>

#include "core/bundle/reader.h"
#include "helx/v1/results.grpc.pb.h"
#include "server/scheduler/job_reader.h"
#include "server/store/blob_store.h"
#include "server/store/executor.h"

namespace helx::server {

// helx.v1.Results. What reads whole bundles runs on `executor`, never in a reactor.
class ResultsService : public v1::Results::CallbackService {
 public:
  // `verified` is told how each verification ended: "match", "mismatch", "not_compared", or
  // "refused" for a bundle that is not what it claims to be.
  ResultsService(const JobReader* reader, BlobStore* blobs, Executor* executor,
                 std::function<void(std::string_view)> verified)
      : reader_(reader), blobs_(blobs), executor_(executor), verified_(std::move(verified)) {}
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetResultRequest* request, v1::Result* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListResultsRequest* request,
                                 v1::ListResultsResponse* response) override;
  grpc::ServerUnaryReactor* Verify(grpc::CallbackServerContext* context,
                                   const v1::VerifyRequest* request,
                                   v1::VerifyResponse* response) override;
  grpc::ServerUnaryReactor* GetInputIdentity(grpc::CallbackServerContext* context,
                                             const v1::GetInputIdentityRequest* request,
                                             v1::InputIdentity* response) override;
  grpc::ServerWriteReactor<v1::TextPiece>* Observe(grpc::CallbackServerContext* context,
                                                   const v1::ObserveRequest* request) override;
  grpc::ServerWriteReactor<v1::TextPiece>* Export(grpc::CallbackServerContext* context,
                                                  const v1::ExportRequest* request) override;

 private:
  absl::StatusOr<LoadedBundle> Load(const grpc::ServerContextBase& context,
                                    const v1::GetResultRequest& request) const;

  const JobReader* const reader_;
  BlobStore* const blobs_;
  Executor* const executor_;
  const std::function<void(std::string_view)> verified_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_RESULTS_SERVICE_H_
