// How libhelx makes its calls: deadlines, cancellation by stop token, retries while a server
// restarts. Only the .cc files of this folder include it, since gRPC's headers are slow to compile.
#ifndef HELX_CLIENT_CPP_RPC_H_
#define HELX_CLIENT_CPP_RPC_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "client/cpp/connection.h"
#include "client/cpp/errors.h"

namespace helx::client {

struct Connection::Transport {
  std::shared_ptr<grpc::Channel> channel;
};

// The status of a call as one of ours: UNREACHABLE for UNAVAILABLE and DEADLINE_EXCEEDED, a mark
// "from server" else.
absl::Status FromGrpc(const grpc::Status& status, const Connection& connection);

// Deadline (none when `limit` is zero) and metadata.
void Prepare(grpc::ClientContext& context, const Connection& connection,
             std::chrono::milliseconds limit);

// Pauses between attempts: 50 ms doubling to 2 s, until failures have followed one another for
// `window`.
class Backoff {
 public:
  explicit Backoff(std::chrono::milliseconds window) : window_(window) {}
  // Call when the server answered: the next failure is the first of its row.
  void Reset() { failing_ = false; }
  // Call after a failure. Sleeps; false when the window has passed or `stop` was triggered.
  bool Pause(std::stop_token stop) {
    const auto now = std::chrono::steady_clock::now();
    // An attempt that lasted longer than the window (a quiet stream) was an answer too.
    if (!failing_ || now - last_failure_ > window_) {
      pause_ = std::chrono::milliseconds(50);
      deadline_ = now + window_;
    }
    failing_ = true;
    last_failure_ = now;
    if (now + pause_ > deadline_) return false;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, stop, pause_, [] { return false; });
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(500));
    return !stop.stop_requested();
  }

 private:
  std::chrono::milliseconds window_;
  std::chrono::milliseconds pause_{0};
  bool failing_ = false;
  std::chrono::steady_clock::time_point last_failure_;
  std::chrono::steady_clock::time_point deadline_;
};

inline bool IsTransient(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE;
}

// Makes a unary call of at most `limit` (0: none); repeats it while the server is away. REQUIRES:
// the call is idempotent.
template <typename Stub, typename Request, typename Response>
absl::Status Call(Connection& connection, Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response& response, std::stop_token stop,
                  std::chrono::milliseconds limit) {
  Backoff backoff(connection.options().retry_window);
  for (;;) {
    grpc::ClientContext context;
    Prepare(context, connection, limit);
    grpc::Status status;
    {
      const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
      status = (stub.*method)(&context, request, &response);
    }
    if (status.ok()) return absl::OkStatus();
    if (stop.stop_requested()) return Interrupted();
    if (!IsTransient(status) || !backoff.Pause(stop)) {
      return stop.stop_requested() ? Interrupted() : FromGrpc(status, connection);
    }
    HELX_RETURN_IF_ERROR(connection.Revive());
  }
}

// The same with the connection's own limit.
template <typename Stub, typename Request, typename Response>
absl::Status Call(Connection& connection, Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response& response, std::stop_token stop) {
  return Call(connection, stub, method, request, response, std::move(stop),
              connection.options().call_limit);
}

// The same of `Service` by a stub of its own; what the server answered.
template <typename Service, typename Response, typename Request>
absl::StatusOr<Response> CallService(Connection& connection,
                                     grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                           const Request&,
                                                                           Response*),
                                     const Request& request, std::stop_token stop) {
  const auto stub = Service::NewStub(connection.transport().channel);
  Response response;
  HELX_RETURN_IF_ERROR(Call(connection, *stub, method, request, response, std::move(stop)));
  return response;
}

}  // namespace helx::client

#endif  // HELX_CLIENT_CPP_RPC_H_
