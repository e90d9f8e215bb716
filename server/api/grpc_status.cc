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

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  const std::string text = Capped(MessageOf(status));
  const auto missing = MissingBlobs::Of(status);
  if (missing.empty()) return grpc::Status(code, text);
  v1::PreconditionFailure failure;
  for (size_t i = 0; i < missing.size() && i < kViolations; ++i) {
    auto* violation = failure.add_violations();
    violation->set_type("MISSING");
    violation->set_subject("blobs/" + missing[i].ToString());
  }
  v1::RpcStatus details;
  details.set_code(code);
  details.set_message(text);
  auto* any = details.add_details();
  any->set_type_url("type.googleapis.com/google.rpc.PreconditionFailure");
  any->set_value(failure.SerializeAsString());
  return grpc::Status(code, text, details.SerializeAsString());
}

}  // namespace helx::server
