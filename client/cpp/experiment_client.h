// Freezing: from a job document to a frozen request.
#ifndef HELX_CLIENT_CPP_EXPERIMENT_CLIENT_H_
#define HELX_CLIENT_CPP_EXPERIMENT_CLIENT_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "core/base/status.h"
#include "helx/v1/experiments.pb.h"

namespace helx::client {

class ExperimentClient {
 public:
  explicit ExperimentClient(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)) {}

  // Uploads what the server lacks of `blobs`, then freezes the document (canonical
  // helx.document/v1). Waits for a worker as long as it takes. A refusal is in the answer, not an
  // error.
  absl::StatusOr<helx::v1::FreezeResponse> Freeze(const std::string& document,
                                                  const std::vector<BlobContent>& blobs,
                                                  const ByteProgress& progress = {},
                                                  std::stop_token stop = {});

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_EXPERIMENT_CLIENT_H_
