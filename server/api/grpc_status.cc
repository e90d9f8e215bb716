#include "server/api/grpc_status.h"

#include <string>

#include "core/base/json.h"
#include "helx/v1/rpc_status.pb.h"
#include "server/scheduler/scheduler.h"

namespace helx::server {
namespace {

constexpr size_t kTextBytes = 1024;
constexpr size_t kViolations = 32;

std::string Capped(std::string text) {
  if (text.size() > kTextBytes) {
    text.resize(kTextBytes - 3);
    // Do not end within a character.
    while (!text.empty() && !IsUtf8(text) && (text.back() & 0x80) != 0) text.pop_back();
    text += "...";
  }
  if (IsUtf8(text)) return text;
  for (char& c : text) {
    if ((c & 0x80) != 0 || c == 0) c = '?';
  }
  return text;
}

void AddDetail(const std::string& name, const google::protobuf::Message& message,
               v1::RpcStatus* status) {
  auto* any = status->add_details();
  any->set_type_url("type.googleapis.com/google.rpc." + name);
  any->set_value(message.SerializeAsString());
}

v1::PreconditionFailure Missing(const std::vector<Digest>& blobs) {
  v1::PreconditionFailure failure;
  for (size_t i = 0; i < blobs.size() && i < kViolations; ++i) {
    auto* violation = failure.add_violations();
    violation->set_type("MISSING");
    violation->set_subject("blobs/" + blobs[i].ToString());
  }
  return failure;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string text = Capped(MessageOf(status));
  const auto missing = MissingBlobs::Of(status);
  const std::string reason = ErrorCodeOf(status);
  if (missing.empty() && reason.empty()) return grpc::Status(code, text);
  v1::RpcStatus details;
  details.set_code(code);
  details.set_message(text);
  if (!reason.empty()) {
    v1::ErrorInfo info;
    info.set_reason(reason);
    info.set_domain("helx");
    AddDetail("ErrorInfo", info, &details);
  }
  if (!missing.empty()) AddDetail("PreconditionFailure", Missing(missing), &details);
  return grpc::Status(code, text, details.SerializeAsString());
}
}  // namespace helx::server
