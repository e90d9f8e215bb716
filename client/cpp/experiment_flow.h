// From experiment.yaml to submitted jobs.
#ifndef HELX_CLIENT_CPP_EXPERIMENT_FLOW_H_
#define HELX_CLIENT_CPP_EXPERIMENT_FLOW_H_

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/cpp/blob_client.h"
#include "client/cpp/connection.h"
#include "core/base/status.h"
#include "core/experiment/document.h"
#include "helx/v1/jobs.pb.h"

namespace helx::client {

struct PreparedJob {
  JobEntry entry;
  std::string document;  // canonical helx.document/v1
};

struct PreparedExperiment {
  std::string name;
  std::vector<PreparedJob> jobs;
  std::vector<BlobContent> blobs;  // every model and tensor that the documents name, each once
};

// Reads and checks a document and the files it names (beside it), without a server.
// INVALID_ARGUMENT for whatever is wrong with them, a missing file included.
//
// With `reference_folder` every job takes its references from files there (reference_files.h): from
// the subfolder named as the job's bundle below the experiment's ("m4", "m4/kws") if there is one,
// else from the folder itself.
absl::StatusOr<PreparedExperiment> PrepareExperiment(const std::string& path,
                                                     const DocumentLimits& limits = {},
                                                     const std::string& reference_folder = "");

struct SubmitOptions {
  helx::v1::JobKind kind = helx::v1::JOB_KIND_RUN;
  std::string
      request_id;  // idempotency key; with several jobs "-1", "-2", ... is added; empty: random
  bool no_cache = false;
  int32_t priority = 0;
  int64_t queue_limit_ms = 0;  // 0: the server's default
  int64_t run_limit_ms = 0;
  std::string selector;  // of devices (jobs.proto); empty: any
};

// The request with the options set: kind, idempotency key, limits.
void ApplyOptions(const SubmitOptions& options, helx::v1::SubmitJobRequest& request);

// Uploads what the server lacks of `blobs`, then submits one job; blobs that vanish between the two
// are uploaded once more.
absl::StatusOr<helx::v1::Job> SubmitJob(const std::shared_ptr<Connection>& connection,
                                        const helx::v1::SubmitJobRequest& request,
                                        const std::vector<BlobContent>& blobs,
                                        const ByteProgress& progress = {},
                                        std::stop_token stop = {});

// Uploads what the server lacks, then submits each job in order, and answers the jobs as accepted.
// On an error `submitted` (if given) still holds the jobs accepted before it.
absl::StatusOr<std::vector<helx::v1::Job>> SubmitExperiment(
    const std::shared_ptr<Connection>& connection, const PreparedExperiment& experiment,
    const SubmitOptions& options, const ByteProgress& progress = {}, std::stop_token stop = {},
    std::vector<helx::v1::Job>* submitted = nullptr);

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_EXPERIMENT_FLOW_H_
