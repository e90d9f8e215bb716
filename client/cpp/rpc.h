// How libhelx makes its calls: deadlines, cancellation by stop token, retries while a server
// restarts. Only the .cc files of this folder include it, since gRPC's headers are slow to compile.
#ifndef HELX_CLIENT_CPP_RPC_H_
#define HELX_CLIENT_CPP_RPC_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <thread>

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

// Pauses between attempts: 50 ms doubling to 500 ms, until failures have followed one another for
// the connection's retry window.
class Backoff {
 public:
  explicit Backoff(Connection& connection)
      : window_(connection.options().retry_window), channel_(connection.transport().channel) {}
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
    Wait(stop);
    pause_ = std::min(pause_ * 2, std::chrono::milliseconds(500));
    return !stop.stop_requested();
  }

 private:
  // Until the pause is over, `stop` is triggered, or a channel without a connection has one.
  // Between calls nobody else looks whether an attempt to connect has succeeded or failed (gRPC
  // itself does every 5 s), so that without this the next attempt begins as much later.
  void Wait(const std::stop_token& stop) {
    constexpr std::chrono::milliseconds kSlice(50);
    const auto end = std::chrono::steady_clock::now() + pause_;
    const bool had_connection = channel_->GetState(false) == GRPC_CHANNEL_READY;
    while (!stop.stop_requested()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return;
      const auto slice = std::min(left, kSlice);
      if (had_connection) {
        std::this_thread::sleep_for(slice);
      } else if (channel_->WaitForConnected(std::chrono::system_clock::now() + slice)) {
        return;
      }
    }
  }

  std::chrono::milliseconds window_;
  std::shared_ptr<grpc::Channel> channel_;
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
  Backoff backoff(connection);
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
