#include "core/base/status.h"

namespace helx {
namespace {

absl::Status Make(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, absl::string_view(message.data(), message.size()));
}

}  // namespace

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return Make(status.code(), std::string(context) + ": " + MessageOf(status));
}

absl::Status InvalidArgument(std::string_view message) {
  return Make(absl::StatusCode::kInvalidArgument, message);
}
absl::Status NotFound(std::string_view message) {
  return Make(absl::StatusCode::kNotFound, message);
}
absl::Status DataLoss(std::string_view message) {
  return Make(absl::StatusCode::kDataLoss, message);
}
absl::Status FailedPrecondition(std::string_view message) {
  return Make(absl::StatusCode::kFailedPrecondition, message);
}
absl::Status Internal(std::string_view message) {
  return Make(absl::StatusCode::kInternal, message);
}

}  // namespace helx
