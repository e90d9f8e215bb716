#include "client/cpp/errors.h"

namespace helx::client {
namespace {

constexpr char kUnreachable[] = "helx/unreachable";
constexpr char kFromServer[] = "helx/from-server";

absl::Status Marked(absl::StatusCode code, std::string_view message, const char* mark) {
  absl::Status status(code, absl::string_view(message.data(), message.size()));
  status.SetPayload(mark, absl::Cord());
  return status;
}

}  // namespace

absl::Status Unreachable(std::string_view message) {
  return Marked(absl::StatusCode::kUnavailable, message, kUnreachable);
}

bool IsUnreachable(const absl::Status& status) {
  return status.GetPayload(kUnreachable).has_value();
}

absl::Status FromServer(absl::StatusCode code, std::string_view message) {
  return Marked(code, message, kFromServer);
}

bool IsFromServer(const absl::Status& status) { return status.GetPayload(kFromServer).has_value(); }

absl::Status Interrupted() { return absl::Status(absl::StatusCode::kCancelled, "interrupted"); }

absl::Status WithContext(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status out = Annotate(status, context);
  status.ForEachPayload(
      [&out](absl::string_view type, const absl::Cord& value) { out.SetPayload(type, value); });
  return out;
}

}  // namespace helx::client
