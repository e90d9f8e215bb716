#include "client/cpp/job_client.h"

#include "client/cpp/random_id.h"
#include "client/cpp/rpc.h"
#include "helx/v1/jobs.grpc.pb.h"

namespace helx::client {

using helx::v1::Job;
using helx::v1::Jobs;

absl::StatusOr<std::string> JobName(std::string_view text) {
  constexpr std::string_view kPrefix = "jobs/";
  std::string_view id = text;
  if (id.substr(0, kPrefix.size()) == kPrefix) id.remove_prefix(kPrefix.size());
  const bool valid = !id.empty() && id.size() <= 128 &&
                     id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789._-") == std::string_view::npos;
  if (!valid) {
    return InvalidArgument("'" + std::string(text) +
                           "' is not the name of a job; allowed are jobs/{id} and {id} as list "
                           "prints them");
  }
  return std::string(kPrefix) + std::string(id);
}

absl::StatusOr<Job> JobClient::Submit(helx::v1::SubmitJobRequest request, std::stop_token stop) {
  if (request.request_id().empty()) request.set_request_id(RandomId());
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  Job job;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Jobs::Stub::Submit, request, job, stop));
  return job;
}

absl::StatusOr<Job> JobClient::Get(const std::string& name, std::stop_token stop) {
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  helx::v1::GetJobRequest request;
  request.set_name(name);
  Job job;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Jobs::Stub::Get, request, job, stop));
  return job;
}

absl::StatusOr<helx::v1::ListJobsResponse> JobClient::List(const helx::v1::ListJobsRequest& request,
                                                           std::stop_token stop) {
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  helx::v1::ListJobsResponse response;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Jobs::Stub::List, request, response, stop));
  return response;
}

absl::StatusOr<Job> JobClient::Cancel(const std::string& name, std::stop_token stop) {
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  helx::v1::CancelJobRequest request;
  request.set_name(name);
  Job job;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Jobs::Stub::Cancel, request, job, stop));
  return job;
}

absl::StatusOr<Job> JobClient::Resubmit(helx::v1::ResubmitJobRequest request,
                                        std::stop_token stop) {
  if (request.request_id().empty()) request.set_request_id(RandomId());
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  Job job;
  HELX_RETURN_IF_ERROR(Call(*connection_, *stub, &Jobs::Stub::Resubmit, request, job, stop));
  return job;
}

absl::Status JobClient::ReadLog(const std::string& name, helx::v1::LogPosition from, bool follow,
                                const OnPiece& on_piece, std::stop_token stop) {
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  Backoff backoff(*connection_);
  helx::v1::ReadLogRequest request;
  request.set_name(name);
  request.set_follow(follow);
  *request.mutable_from() = from;
  for (;;) {
    grpc::ClientContext context;
    Prepare(context, *connection_, std::chrono::milliseconds(0));
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto reader = stub->ReadLog(&context, request);
    helx::v1::LogPiece piece;
    while (reader->Read(&piece)) {
      backoff.Reset();
      on_piece(piece);
      *request.mutable_from() = piece.next();
    }
    const grpc::Status status = reader->Finish();
    if (stop.stop_requested()) return Interrupted();
    if (status.ok()) return absl::OkStatus();
    if (!IsTransient(status) || !backoff.Pause(stop)) {
      return stop.stop_requested() ? Interrupted() : FromGrpc(status, *connection_);
    }
    HELX_RETURN_IF_ERROR(connection_->Revive());
  }
}

absl::StatusOr<Job> JobClient::Watch(const std::string& name, int64_t from_event,
                                     const OnEvent& on_event, std::stop_token stop) {
  const auto stub = Jobs::NewStub(connection_->transport().channel);
  Backoff backoff(*connection_);
  helx::v1::WatchJobRequest request;
  request.set_name(name);
  request.set_from_event(from_event);
  int64_t last = from_event - 1;
  for (;;) {
    grpc::ClientContext context;
    Prepare(context, *connection_, std::chrono::milliseconds(0));
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    const auto reader = stub->Watch(&context, request);
    helx::v1::JobEvent event;
    while (reader->Read(&event)) {
      backoff.Reset();
      if (event.sequence() <= last) continue;
      last = event.sequence();
      const bool go_on = !on_event || on_event(event);
      if (event.job().finished() || !go_on) {
        context.TryCancel();
        reader->Finish();
        return event.job();
      }
    }
    const grpc::Status status = reader->Finish();
    if (stop.stop_requested()) return Interrupted();
    // So ends a stream from after the last event of a job that has ended, or one that was cut by a
    // server that shuts down in order.
    if (status.ok()) {
      const auto job = Get(name, stop);
      if (job.ok() && job->finished() && last >= job->last_event()) return job;
    }
    if ((!status.ok() && !IsTransient(status)) || !backoff.Pause(stop)) {
      if (stop.stop_requested()) return Interrupted();
      if (status.ok()) {
        return FromServer(absl::StatusCode::kInternal,
                          "the server ended the events of " + name + " before the job ended");
      }
      return FromGrpc(status, *connection_);
    }
    HELX_RETURN_IF_ERROR(connection_->Revive());
    request.set_from_event(last + 1);
  }
}

}  // namespace helx::client
