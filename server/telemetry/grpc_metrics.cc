#include "server/telemetry/grpc_metrics.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace helx::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

int64_t SteadyMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* TypeOf(ServerRpcInfo::Type type) {
  switch (type) {
    case ServerRpcInfo::Type::UNARY:
      return "unary";
    case ServerRpcInfo::Type::CLIENT_STREAMING:
      return "client_stream";
    case ServerRpcInfo::Type::SERVER_STREAMING:
      return "server_stream";
    default:
      return "bidi_stream";
  }
}

// Whether "/helx.v1.Service/Method" is a method of the wire contract.
bool IsInContract(const std::string& path) {
  std::string name = path.substr(1);
  std::replace(name.begin(), name.end(), '/', '.');
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name) != nullptr;
}

bool IsOfGrpc(const std::string& path) {
  return path == "/grpc.health.v1.Health/Check" || path == "/grpc.health.v1.Health/Watch" ||
         path == "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
}

// Lives as long as its call.
class CallCounter : public grpc::experimental::Interceptor {
 public:
  CallCounter(Metrics* metrics, Metrics::Method& method, CallActivity* activity, bool ours,
              bool by_client)
      : metrics_(metrics),
        method_(method),
        activity_(activity),
        ours_(ours),
        by_client_(by_client),
        start_(SteadyMicros()) {
    method_.started->Increment();
    ++activity_->open;
    if (by_client_) {
      ++activity_->client_open;
      activity_->client_last_ms = start_ / 1000;
    }
  }
  ~CallCounter() override {
    // A call that never came to send a status was cancelled.
    if (!handled_) metrics_->Handled(method_, 1, Seconds());
    if (by_client_) {
      activity_->client_last_ms = SteadyMicros() / 1000;
      --activity_->client_open;
    }
    --activity_->open;
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_MESSAGE) &&
        methods->GetRecvMessage() != nullptr) {
      method_.received->Increment();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      method_.sent->Increment();
    }
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      handled_ = true;
      // All of our methods are implemented: gRPC answers so, without a word, when it cannot decode
      // a request.
      if (ours_ && methods->GetSendStatus().error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        methods->ModifySendStatus(
            grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                         "the request cannot be decoded: it is not a message of this method, or a "
                         "string in it is not UTF-8"));
      }
      metrics_->Handled(method_, methods->GetSendStatus().error_code(), Seconds());
    }
    methods->Proceed();
  }

 private:
  double Seconds() const { return static_cast<double>(SteadyMicros() - start_) / 1e6; }

  Metrics* const metrics_;
  Metrics::Method& method_;
  CallActivity* const activity_;
  const bool ours_;
  const bool by_client_;
  const int64_t start_;
  bool handled_ = false;
};

}  // namespace

grpc::experimental::Interceptor* GrpcMetrics::CreateServerInterceptor(ServerRpcInfo* info) {
  const std::string path = info->method();  // "/helx.v1.Jobs/Get"
  const size_t slash = path.rfind('/');
  const bool ours = slash != std::string::npos && slash > 0 && IsInContract(path);
  // Unknown methods share one series: a caller must not be able to make new ones.
  const bool known = ours || IsOfGrpc(path);
  const std::string service = known ? path.substr(1, slash - 1) : "unknown";
  const std::string method = known ? path.substr(slash + 1) : "unknown";
  return new CallCounter(metrics_, metrics_->MethodOf(TypeOf(info->type()), service, method),
                         activity_, ours, ours && service != "helx.v1.Worker");
}

}  // namespace helx::server
