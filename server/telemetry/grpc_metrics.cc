#include "server/telemetry/grpc_metrics.h"

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

// Lives as long as its call.
class CallCounter : public grpc::experimental::Interceptor {
 public:
  CallCounter(Metrics* metrics, Metrics::Method& method, ClientActivity* activity)
      : metrics_(metrics), method_(method), activity_(activity), start_(SteadyMicros()) {
    method_.started->Increment();
    if (activity_ != nullptr) {
      ++activity_->open;
      activity_->last_ms = start_ / 1000;
    }
  }
  ~CallCounter() override {
    // A call that never came to send a status was cancelled.
    if (!handled_) metrics_->Handled(method_, 1, Seconds());
    if (activity_ != nullptr) {
      activity_->last_ms = SteadyMicros() / 1000;
      --activity_->open;
    }
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
      metrics_->Handled(method_, methods->GetSendStatus().error_code(), Seconds());
    }
    methods->Proceed();
  }

 private:
  double Seconds() const { return static_cast<double>(SteadyMicros() - start_) / 1e6; }

  Metrics* const metrics_;
  Metrics::Method& method_;
  ClientActivity* const activity_;
  const int64_t start_;
  bool handled_ = false;
};

}  // namespace

grpc::experimental::Interceptor* GrpcMetrics::CreateServerInterceptor(ServerRpcInfo* info) {
  const std::string path = info->method();  // "/helx.v1.Jobs/Get"
  const size_t slash = path.rfind('/');
  // Unknown methods share one series: a caller must not be able to make new ones.
  const bool known = slash != std::string::npos && slash > 0 &&
                     (path.rfind("/helx.v1.", 0) == 0 || path.rfind("/grpc.", 0) == 0);
  const std::string service = known ? path.substr(1, slash - 1) : "unknown";
  const std::string method = known ? path.substr(slash + 1) : "unknown";
  const bool by_client = service.rfind("helx.v1.", 0) == 0 && service != "helx.v1.Worker";
  return new CallCounter(metrics_, metrics_->MethodOf(TypeOf(info->type()), service, method),
                         by_client ? activity_ : nullptr);
}

}  // namespace helx::server
