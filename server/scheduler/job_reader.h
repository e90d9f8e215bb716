// Questions about jobs and results, answered from the store alone: what a reader sees is what is on
// disk.
#ifndef HELX_SERVER_SCHEDULER_JOB_READER_H_
#define HELX_SERVER_SCHEDULER_JOB_READER_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "helx/v1/jobs.pb.h"
#include "helx/v1/results.pb.h"
#include "server/scheduler/scheduler.h"
#include "server/store/blob_store.h"
#include "server/store/store.h"

namespace helx::server {

// The id of "jobs/{id}"; INVALID_ARGUMENT for anything else.
absl::StatusOr<std::string> JobIdOf(const std::string& name);

// Thread-safe.
class JobReader {
 public:
  JobReader(const Store* store, BlobStore* blobs) : store_(store), blobs_(blobs) {}

  absl::StatusOr<v1::Job> Get(const Caller& caller, const std::string& id) const;
  // Newest first. Stops early when an answer grows large; the token then leads on.
  absl::StatusOr<v1::ListJobsResponse> List(const Caller& caller,
                                            const v1::ListJobsRequest& request) const;
  // At most `limit` events from sequence `from` (>= 1) on. NOT_FOUND when there is no such job;
  // empty when it has none yet.
  absl::StatusOr<std::vector<v1::JobEvent>> Events(const Caller& caller, const std::string& id,
                                                   int64_t from, int limit) const;

  absl::StatusOr<v1::Result> GetResult(const Caller& caller,
                                       const v1::GetResultRequest& request) const;
  absl::StatusOr<v1::ListResultsResponse> ListResults(const Caller& caller,
                                                      const v1::ListResultsRequest& request) const;

 private:
  absl::StatusOr<v1::ListJobsResponse> ListByName(const Caller& caller,
                                                  const v1::ListJobsRequest& request,
                                                  int page) const;

  const Store* const store_;
  BlobStore* const blobs_;
};

}  // namespace helx::server

#endif  // HELX_SERVER_SCHEDULER_JOB_READER_H_
