#ifndef HELX_SERVER_API_RESULTS_SERVICE_H_
#define HELX_SERVER_API_RESULTS_SERVICE_H_

#include "helx/v1/results.grpc.pb.h"
#include "server/scheduler/job_reader.h"

namespace helx::server {

// helx.v1.Results.
class ResultsService : public v1::Results::CallbackService {
 public:
  explicit ResultsService(const JobReader* reader) : reader_(reader) {}
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context,
                                const v1::GetResultRequest* request, v1::Result* response) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context,
                                 const v1::ListResultsRequest* request,
                                 v1::ListResultsResponse* response) override;

 private:
  const JobReader* const reader_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_API_RESULTS_SERVICE_H_
