#include "core/base/status.h"

#include "absl/strings/cord.h"

namespace helx {
namespace {

constexpr char kErrorCodeUrl[] = "helx/error-code";

absl::Status Make(absl::StatusCode code, std::string_view message) {
  return absl::Status(code, absl::string_view(message.data(), message.size()));
}

}  // namespace

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated = Make(status.code(), std::string(context) + ": " + MessageOf(status));
  status.ForEachPayload([&annotated](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

absl::Status WithErrorCode(absl::Status status, std::string_view error_code) {
  status.SetPayload(kErrorCodeUrl,
                    absl::Cord(absl::string_view(error_code.data(), error_code.size())));
  return status;
}

std::string ErrorCodeOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kErrorCodeUrl);
  return payload ? std::string(*payload) : std::string();
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
