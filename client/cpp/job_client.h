// Jobs: submission, watching, cancelling.
#ifndef HELX_CLIENT_CPP_JOB_CLIENT_H_
#define HELX_CLIENT_CPP_JOB_CLIENT_H_

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "client/cpp/connection.h"
#include "core/base/status.h"
#include "helx/v1/jobs.pb.h"

namespace helx::client {

// "jobs/{id}" from "jobs/{id}" or "{id}". INVALID_ARGUMENT when it cannot be a job's name.
absl::StatusOr<std::string> JobName(std::string_view text);

class JobClient {
 public:
  explicit JobClient(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}

  // Submits once, however often the connection breaks on the way: a request without request_id gets a random one, and
  // the server answers the same job to each repetition. FAILED_PRECONDITION when blobs of the document are missing.
  absl::StatusOr<helx::v1::Job> Submit(helx::v1::SubmitJobRequest request,
                                       std::stop_token stop = {});

  absl::StatusOr<helx::v1::Job> Get(const std::string& name, std::stop_token stop = {});
  // One page.
  absl::StatusOr<helx::v1::ListJobsResponse> List(const helx::v1::ListJobsRequest& request,
                                                  std::stop_token stop = {});
  absl::StatusOr<helx::v1::Job> Cancel(const std::string& name, std::stop_token stop = {});

  // Submits an earlier job's subject once more; as Submit, but nothing is uploaded.
  absl::StatusOr<helx::v1::Job> Resubmit(helx::v1::ResubmitJobRequest request,
                                         std::stop_token stop = {});

  // Calls `on_piece` for each piece of the job's log from `from` on; with `follow` until the job ends. Goes on after the last
  // byte seen when the connection breaks. CANCELLED when `stop` was triggered.
  using OnPiece = std::function<void(const helx::v1::LogPiece&)>;
  absl::Status ReadLog(const std::string& name, helx::v1::LogPosition from, bool follow,
                       const OnPiece& on_piece, std::stop_token stop = {});

  // Calls `on_event` for each event from `from_event` on (0: the first), each once and in order, until the terminal one;
  // returns the job as it was then. Goes on after the last event seen when the connection breaks. `on_event` may return
  // false to stop early. CANCELLED when `stop` was triggered: the job itself goes on.
  using OnEvent = std::function<bool(const helx::v1::JobEvent&)>;
  absl::StatusOr<helx::v1::Job> Watch(const std::string& name, int64_t from_event,
                                      const OnEvent& on_event, std::stop_token stop = {});

 private:
  std::shared_ptr<Connection> connection_;
};

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_JOB_CLIENT_H_
